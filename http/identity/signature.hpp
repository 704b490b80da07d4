#pragma once
// The signature of a token in the compact form (RFC 7515). The only place that knows cjose.

#include <string>
#include <string_view>

#include "http/identity/key_set.hpp"
#include "runtime/result.hpp"

namespace ratchet {

/// The payload, if the token was signed with this key by this algorithm, which its header has to name too.
/// Shares nothing between calls. Called from any thread. Errors: invalid_user_token.
Result<std::string> verify_signature(std::string_view token,
                                     const VerifyingKey& key,
                                     TokenAlgorithm algorithm);

}  // namespace ratchet
