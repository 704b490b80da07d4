#pragma once
// A clock that stands still until the test moves it.

#include <atomic>

#include "runtime/time.hpp"

namespace ratchet {

class SetClock final : public Clock {
 public:
  explicit SetClock(std::int64_t seconds = 1'790'000'000) : us_(seconds * 1'000'000) {}

  Timestamp now() override { return {us_}; }

  void pass_ms(std::int64_t ms) { us_ += ms * 1'000; }

 private:
  std::atomic<std::int64_t> us_;
};

}  // namespace ratchet
