#pragma once
// Errors on the wire: `application/problem+json` (RFC 9457) with a stable code.

#include <string_view>

#include "http/server/message.hpp"
#include "runtime/result.hpp"

namespace ratchet {

/// The answer that says `error`, with the headers its status calls for.
Response problem(const Error& error, std::string_view request_id);

}  // namespace ratchet
