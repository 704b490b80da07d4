#pragma once
// Time is a value. The core never reads a clock: it is told the time with each input (`Stamp`), so that the
// same inputs give the same events. Deadlines are absolute and stored; durations are 64-bit.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace ratchet {

/// Microseconds since 1970-01-01 UTC, leap seconds not counted.
struct Timestamp {
  std::int64_t us = 0;

  auto operator<=>(const Timestamp&) const = default;

  Timestamp plus_ms(std::int64_t ms) const { return {us + ms * 1000}; }
};

inline std::int64_t ms_between(Timestamp from, Timestamp to) {
  return (to.us - from.us) / 1000;
}

/// RFC 3339 in UTC with six digits of a second: 2026-11-29T08:15:30.000001Z.
std::string to_string(Timestamp at);
/// Takes any RFC 3339 time, offsets too. Errors: invalid_request.
Result<Timestamp> parse_timestamp(std::string_view text);

/// The one way to read the time. Called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Timestamp now() = 0;
};

/// The machine's clock.
class SystemClock final : public Clock {
 public:
  Timestamp now() override;
};

}  // namespace ratchet
