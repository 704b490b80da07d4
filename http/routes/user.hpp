#pragma once
// The user of a request: the token is verified here. What was verified goes to the node, which has it sealed.

#include <functional>

#include "http/auth.hpp"
#include "http/routes/route.hpp"

namespace ratchet {

/// Calls `then` on a worker with the user of `token`, or answers with what is wrong: invalid_user_token,
/// identity_unavailable.
void with_user(Api& api, const std::string& token, Done done, std::function<void(User)> then);

}  // namespace ratchet
