#include "actors/rate_limiter.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/limits.hpp"

namespace ratchet {

std::optional<std::int64_t> RateLimiter::take(const std::string& key, const RateLimit& limit, Timestamp now) {
  const std::int64_t window_us = limit.window_ms * 1'000;
  const std::int64_t interval_us = std::max<std::int64_t>(window_us / limit.calls, 1);
  const std::lock_guard lock(mutex_);
  if (whole_at_.size() >= limits::rate_keys_max) forget(now);
  const auto found = whole_at_.find(key);
  if (found == whole_at_.end() && whole_at_.size() >= limits::rate_keys_max) return 1'000;
  const std::int64_t whole_us = found == whole_at_.end() ? now.us : std::max(found->second.us, now.us);
  // What is used of the window, with this call; one that would overflow it waits until it does not.
  const std::int64_t over_us = whole_us + interval_us - now.us - window_us;
  if (over_us > 0) return (over_us + 999) / 1'000;
  whole_at_[key] = Timestamp{whole_us + interval_us};
  return std::nullopt;
}

void RateLimiter::forget(Timestamp now) {
  if (now.us < forgot_at_.us + 1'000'000) return;  // looking through all of them takes a while
  forgot_at_ = now;
  std::erase_if(whole_at_, [&](const auto& entry) { return entry.second.us <= now.us; });
}

std::size_t RateLimiter::size() const {
  const std::lock_guard lock(mutex_);
  return whole_at_.size();
}

std::string rate_key(const ToolManifest& tool,
                     std::string_view team,
                     std::string_view user_id,
                     std::string_view run_id) {
  switch (tool.rate_limit->per) {
    case RatePer::run:
      return fmt::format("{}\n{}", tool.name, run_id);
    case RatePer::user:
      return fmt::format("{}\n{}\nuser {}", tool.name, team, user_id);
    case RatePer::team:
      return fmt::format("{}\n{}", tool.name, team);
  }
  return {};
}

}  // namespace ratchet
