#include "sandbox/workspace/queues.hpp"

namespace ratchet::sandbox {

Queues::Queues(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this] { run(); });
}

Queues::~Queues() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

void Queues::add(const std::string& key, Work work) {
  {
    const std::lock_guard lock(mutex_);
    auto& queue = waiting_[key];
    queue.push_back(std::move(work));
    if (queue.size() > 1) return;
    ready_.push_back(key);
  }
  changed_.notify_one();
}

void Queues::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !ready_.empty() || (stopping_ && waiting_.empty()); });
    if (ready_.empty()) return;
    const std::string key = std::move(ready_.front());
    ready_.pop_front();
    // It stays in the queue, as a mark that the key is busy, until it is done.
    Work work = std::move(waiting_[key].front());
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    auto& queue = waiting_[key];
    queue.pop_front();
    if (!queue.empty()) {
      ready_.push_back(key);
      changed_.notify_one();
      continue;
    }
    waiting_.erase(key);
    if (stopping_) changed_.notify_all();
  }
}

}  // namespace ratchet::sandbox
