#pragma once
// How often a tool may be called, as its manifest says.

#include <cstdint>
#include <string_view>

#include "runtime/enums.hpp"
#include "runtime/result.hpp"

namespace ratchet {

RATCHET_ENUM(RatePer, run, user, team)

struct RateLimit {
  std::int64_t calls = 0;      ///< in one window
  std::int64_t window_ms = 0;  ///< a second, a minute, an hour or a day
  RatePer per = RatePer::run;

  bool operator==(const RateLimit&) const = default;
};

/// Reads `60/min per run`. Errors: invalid_definition.
Result<RateLimit> parse_rate_limit(std::string_view text);

}  // namespace ratchet
