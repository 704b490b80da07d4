#pragma once
// Threads for work that blocks. Work with one key is done in the order it came, work with different keys side
// by side.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ratchet::sandbox {

class Queues {
 public:
  using Work = std::function<void()>;

  explicit Queues(std::size_t threads);
  /// Does what is waiting first.
  ~Queues();
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;

  /// From any thread, also from within work.
  void add(const std::string& key, Work work);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::deque<Work>> waiting_;  ///< of every key that has work, under way or not
  std::deque<std::string> ready_;                    ///< keys with work of which none is under way
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ratchet::sandbox
