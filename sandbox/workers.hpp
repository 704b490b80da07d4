#pragma once
// Some threads for what blocks.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ratchet::sandbox {

class Workers {
 public:
  explicit Workers(std::size_t threads) {
    for (std::size_t at = 0; at < threads; ++at)
      threads_.emplace_back([this] { run(); });
  }

  /// Does all that was submitted before, and ends.
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    ready_.notify_all();
    for (auto& thread : threads_)
      thread.join();
  }

  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// From any thread. What waits is bounded by whoever submits: a sandbox has one task at a time and a kill,
  /// a connection one look-up.
  void submit(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    ready_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ratchet::sandbox
