#include "http/routes/user.hpp"

#include <thread>

#include "http/identity/users.hpp"
#include "http/server/workers.hpp"

namespace ratchet {

void with_user(Api& api, const std::string& token, Done done, std::function<void(User)> then) {
  api.users.verify(token,
                   [&api, done = std::move(done), then = std::move(then), here = std::this_thread::get_id()](
                       Result<User> user) {
                     if (!user) return done(tl::unexpected(user.error()));
                     if (std::this_thread::get_id() == here) return then(std::move(*user));
                     // The keys had to be fetched first, and this is the thread that fetches.
                     const bool posted = api.workers.post([then, user = std::move(*user)] { then(user); });
                     if (!posted)
                       done(fail(ErrorCode::too_many_requests, "too many requests wait for an answer"));
                   });
}

}  // namespace ratchet
