#pragma once
// One thread, epoll and a heap of timers: what the mock and the load generator run on. Both share two cores
// with the server that they measure, so a round costs two system calls whatever it carries.

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

namespace ratchet::bench {

/// CLOCK_MONOTONIC in nanoseconds: the same clock in every process of the machine, so that times taken by the
/// mock and by the load generator can be subtracted.
std::int64_t now_ns();

class IoHandler {
 public:
  virtual ~IoHandler() = default;
  /// `events` are epoll's. Nothing must be destroyed here: hand it to `EventLoop::bury`.
  virtual void on_io(std::uint32_t events) = 0;
};

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Level-triggered. `handler` must live until `remove`, and to the end of that round (see `bury`).
  void add(int fd, std::uint32_t events, IoHandler& handler);
  void modify(int fd, std::uint32_t events, IoHandler& handler);
  void remove(int fd);

  /// Destroys `handler` once nothing of the current round can reach it any more.
  void bury(std::unique_ptr<IoHandler> handler);

  /// Timers are rounded up to whole milliseconds and cannot be taken back: check in `action` whether it still
  /// applies.
  void call_at(std::int64_t at_ns, std::function<void()> action);

  /// Runs rounds until `done()`, which is asked after each of them.
  void run_until(const std::function<bool()>& done);

  /// When the events of this round were noticed: the arrival time of what is read in it.
  std::int64_t round_ns() const { return round_ns_; }

 private:
  struct Timer {
    std::int64_t at_ns;
    std::uint64_t order;  ///< keeps timers of the same time in the order they were set
    std::function<void()> action;

    bool operator<(const Timer& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };

  int wait_ms() const;
  void run_due_timers();

  int epoll_fd_;
  std::int64_t round_ns_ = 0;
  std::uint64_t timers_set_ = 0;
  std::priority_queue<Timer> timers_;
  std::vector<std::unique_ptr<IoHandler>> graves_;
};

}  // namespace ratchet::bench
