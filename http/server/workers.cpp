#include "http/server/workers.hpp"

#include <csignal>
#include <pthread.h>

namespace ratchet {

Workers::Workers(std::size_t threads, std::size_t waiting_max) : waiting_max_(waiting_max) {
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this] { run(); });
}

Workers::~Workers() {
  stop();
}

bool Workers::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || tasks_.size() >= waiting_max_) return false;
    tasks_.push_back(std::move(task));
  }
  ready_.notify_one();
  return true;
}

void Workers::stop() {
  std::deque<std::function<void()>> dropped;  // destroyed outside of the lock: a task may own a lot
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(tasks_);
  }
  ready_.notify_all();
  for (auto& thread : threads_)
    thread.join();
  threads_.clear();
}

void Workers::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  pthread_setname_np(pthread_self(), "http-read");
  std::unique_lock lock(mutex_);
  while (true) {
    ready_.wait(lock, [this] { return stopped_ || !tasks_.empty(); });
    if (stopped_) return;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace ratchet
