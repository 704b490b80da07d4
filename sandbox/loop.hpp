#pragma once
// One thread that waits for descriptors and times, and does what it is told meanwhile. All state of sandboxes
// lives on it, so that none of it needs a lock.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "sandbox/fd.hpp"

namespace ratchet::sandbox {

class Loop {
 public:
  using Task = std::function<void()>;
  using Id = std::uint64_t;  ///< of a watch or an alarm; never 0, never used again

  Loop();
  /// Does what was posted before, and ends.
  ~Loop();

  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Does it on the loop's thread, in the order of the calls. From any thread.
  void post(Task task);

  // What follows is called on the loop's thread only.

  /// Calls `ready` with what epoll says (EPOLLIN, ...), again and again, until `unwatch`. The descriptor
  /// stays the caller's, and open until then.
  Id watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> ready);
  void change(Id watch, std::uint32_t events);
  void unwatch(Id watch);

  /// Calls it once, then.
  Id alarm(std::int64_t at_ms, Task task);
  void cancel(Id alarm);

  /// Of the clock that alarms go by. From any thread.
  static std::int64_t now_ms();

 private:
  struct Watch {
    int fd;
    std::function<void(std::uint32_t)> ready;
  };

  void run();
  /// False: the loop is to end.
  bool do_posted();
  void do_alarms();
  int wait_ms() const;

  Fd epoll_, wake_;
  Id last_id_ = 0;
  std::map<Id, Watch> watches_;
  std::map<std::pair<std::int64_t, Id>, Task> alarms_;
  std::map<Id, std::int64_t> alarm_times_;

  std::mutex mutex_;
  std::vector<Task> posted_;
  bool ending_ = false;

  std::thread thread_;
};

}  // namespace ratchet::sandbox
