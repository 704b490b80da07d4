#include "actors/timer.hpp"

#include <algorithm>
#include <chrono>

namespace ratchet {

namespace {

/// The clock may be set while we sleep, so we look at it again at least this often.
constexpr std::chrono::milliseconds look_again{1'000};

}  // namespace

Timer::Timer(Clock& clock) : clock_(clock), thread_([this] { run(); }) {}

Timer::~Timer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Timer::Ticket Timer::at(Timestamp at, std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  const Ticket ticket = ++last_ticket_;
  const bool first = entries_.empty() || at < entries_.begin()->first.first;
  entries_.emplace(Key{at, ticket}, std::move(task));
  times_.emplace(ticket, at);
  if (first) changed_.notify_one();
  return ticket;
}

void Timer::cancel(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto time = times_.find(ticket);
  if (time == times_.end()) return;
  entries_.erase({time->second, ticket});
  times_.erase(time);
}

void Timer::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (entries_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = entries_.begin();
    const std::int64_t wait_us = first->first.first.us - clock_.now().us;
    if (wait_us > 0) {
      changed_.wait_for(lock,
                        std::min<std::chrono::microseconds>(look_again, std::chrono::microseconds(wait_us)));
      continue;
    }
    const std::function<void()> task = std::move(first->second);
    times_.erase(first->first.second);
    entries_.erase(first);
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace ratchet
