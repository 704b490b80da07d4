#pragma once
// The simulated clock and what is to happen: one thread, one queue. Tasks of the same time run in an order
// that chance decides.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/time.hpp"
#include "tests/sim/random.hpp"

namespace ratchet::sim {

class Schedule {
 public:
  using Task = std::function<void()>;

  explicit Schedule(Random& random) : random_(random) {}

  Timestamp now() const { return now_; }

  /// A time that has passed means as soon as possible.
  void at(Timestamp when, Task task) {
    tasks_.emplace(std::tuple(std::max(when, now_), random_.next(), ++made_), std::move(task));
  }

  void after_us(std::int64_t us, Task task) { at(Timestamp{now_.us + us}, std::move(task)); }

  /// Runs the next task. False: there is none.
  bool step() {
    if (tasks_.empty()) return false;
    auto first = tasks_.extract(tasks_.begin());
    now_ = std::get<0>(first.key());
    first.mapped()();
    return true;
  }

 private:
  Random& random_;
  Timestamp now_{1'764'000'000'000'000};
  std::map<std::tuple<Timestamp, std::uint64_t, std::uint64_t>, Task> tasks_;
  std::uint64_t made_ = 0;
};

}  // namespace ratchet::sim
