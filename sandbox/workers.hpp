#pragma once
// Some threads for what blocks. Work with one key is done in the order it came, one after the other; the rest
// side by side.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace ratchet::sandbox {

class Workers {
 public:
  using Work = std::function<void()>;

  explicit Workers(std::size_t threads);
  /// Does all that was submitted before, and ends.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // From any thread, also from within work. What waits is bounded by whoever submits: a sandbox has one task
  // at a time and a kill, a connection one look-up, a run one wish for its workspace.

  void submit(Work work) { submit({}, std::move(work)); }

  /// A key that has much takes no more than one thread from the others. Empty: it has none.
  void submit(const std::string& key, Work work);

 private:
  struct Ready {
    std::string key;
    Work work;
  };

  void run();
  /// What waited for this work may begin. Under the lock.
  void finish(const std::string& key);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ready> ready_;
  /// Of every key that has work ready or under way, what comes after it.
  std::unordered_map<std::string, std::deque<Work>> waiting_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ratchet::sandbox
