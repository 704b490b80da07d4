#include "sandbox/workers.hpp"

namespace ratchet::sandbox {

Workers::Workers(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this] { run(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

void Workers::submit(const std::string& key, Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto busy = waiting_.find(key); busy != waiting_.end())
      return busy->second.push_back(std::move(work));
    if (!key.empty()) waiting_.try_emplace(key);
    ready_.push_back({key, std::move(work)});
  }
  changed_.notify_one();
}

void Workers::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !ready_.empty() || (ending_ && waiting_.empty()); });
    if (ready_.empty()) return;
    Ready next = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    next.work();
    next.work = nullptr;
    lock.lock();
    if (!next.key.empty()) finish(next.key);
  }
}

void Workers::finish(const std::string& key) {
  const auto after = waiting_.find(key);
  if (!after->second.empty()) {
    ready_.push_back({key, std::move(after->second.front())});
    after->second.pop_front();
    changed_.notify_one();
    return;
  }
  waiting_.erase(after);
  if (ending_) changed_.notify_all();
}

}  // namespace ratchet::sandbox
