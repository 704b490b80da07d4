#pragma once
// How often a tool is called: by one run, for one user, or by one team, as its manifest says. Counted in
// memory: a restart forgets it, which lets a burst through and loses nothing.
//
// The generic cell rate algorithm (ITU-T I.371): one time for each key, at which its allowance would be whole
// again. A whole window's allowance may be used at once; after that calls are let through at the even rate.

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "runtime/time.hpp"
#include "runtime/tools/manifest.hpp"

namespace ratchet {

class RateLimiter {
 public:
  /// Takes one call of `key` if the limit has room; otherwise nothing is taken, and the milliseconds after
  /// which there will be room are returned. Called from any thread.
  std::optional<std::int64_t> take(const std::string& key, const RateLimit& limit, Timestamp now);

  std::size_t size() const;

 private:
  /// Forgets keys that are as good as new. With limits::rate_keys_max of the others a key that is not known
  /// has to wait.
  void forget(Timestamp now);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Timestamp> whole_at_;
  Timestamp forgot_at_;
};

/// Whose calls are counted together.
std::string rate_key(const ToolManifest& tool,
                     std::string_view team,
                     std::string_view user_id,
                     std::string_view run_id);

}  // namespace ratchet
