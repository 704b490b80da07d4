#pragma once
// A few threads for what may block: reads of the journal. Tasks wait in one queue, in order.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ratchet {

class Workers {
 public:
  /// At most `waiting_max` tasks wait; more are refused.
  Workers(std::size_t threads, std::size_t waiting_max);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Runs `task` soon, on one of the threads. False: too many wait, or `stop` was called. From any thread.
  bool post(std::function<void()> task);
  /// Ends the tasks under way, drops those that wait, and joins. Called from outside of the threads.
  void stop();

 private:
  void run();

  const std::size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> tasks_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ratchet
