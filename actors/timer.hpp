#pragma once
// Time for actors: one thread, one ordered list of what is due. Entries can be taken back, so that a finished
// run leaves nothing behind.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "runtime/time.hpp"

namespace ratchet {

class Timer {
 public:
  using Ticket = std::uint64_t;

  explicit Timer(Clock& clock);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Calls `task` on the timer's thread once `at` has come; it must not block. Called from any thread.
  Ticket at(Timestamp at, std::function<void()> task);
  /// Takes an entry back. A task that has already begun goes on.
  void cancel(Ticket ticket);

 private:
  using Key = std::pair<Timestamp, Ticket>;

  void run();

  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::function<void()>> entries_;
  std::map<Ticket, Timestamp> times_;
  Ticket last_ticket_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ratchet
