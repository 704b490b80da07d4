#pragma once
// The user of a request: the token is verified here, and goes no further.

#include "http/auth.hpp"
#include "http/routes/route.hpp"

namespace ratchet {

/// Errors: invalid_user_token; not_supported, where this server has no way to verify tokens.
Result<User> verify_user(const Api& api, std::string_view token);

}  // namespace ratchet
