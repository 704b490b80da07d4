#include "sandbox/loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "runtime/result.hpp"

namespace ratchet::sandbox {

Loop::Loop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  RATCHET_ENSURE(epoll_ && wake_, "no descriptors are left for the sandboxes' loop");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  RATCHET_ENSURE(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) == 0, "epoll refused");
  thread_ = std::thread([this] { run(); });
}

Loop::~Loop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  post([] {});
  thread_.join();
}

void Loop::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
    if (posted_.size() > 1) return;  // it is awake already
  }
  const std::uint64_t one = 1;
  RATCHET_ENSURE(::write(wake_.get(), &one, sizeof one) == sizeof one, "the loop cannot be woken");
}

Loop::Id Loop::watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> ready) {
  const Id id = ++last_id_;
  watches_[id] = {fd, std::move(ready)};
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  RATCHET_ENSURE(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0, "epoll refused");
  return id;
}

void Loop::change(Id watch, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = watch;
  RATCHET_ENSURE(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, watches_.at(watch).fd, &event) == 0,
                 "epoll refused");
}

void Loop::unwatch(Id watch) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.fd, nullptr);
  watches_.erase(found);
}

Loop::Id Loop::alarm(std::int64_t at_ms, Task task) {
  const Id id = ++last_id_;
  alarms_[{at_ms, id}] = std::move(task);
  alarm_times_[id] = at_ms;
  return id;
}

void Loop::cancel(Id alarm) {
  const auto found = alarm_times_.find(alarm);
  if (found == alarm_times_.end()) return;
  alarms_.erase({found->second, alarm});
  alarm_times_.erase(found);
}

std::int64_t Loop::now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Loop::run() {
  // A guest that has gone is told by EPIPE.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  std::array<epoll_event, 64> events{};
  while (do_posted()) {
    do_alarms();
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms());
    RATCHET_ENSURE(count >= 0 || errno == EINTR, "epoll failed");
    for (int at = 0; at < count; ++at) {
      // One that an earlier event of this round has ended is not found any more.
      const auto found = watches_.find(events[static_cast<std::size_t>(at)].data.u64);
      if (found == watches_.end()) continue;
      const auto ready = found->second.ready;  // it may end its own watch
      ready(events[static_cast<std::size_t>(at)].events);
    }
  }
}

bool Loop::do_posted() {
  std::uint64_t woken = 0;
  // Nothing to read is not an error: the loop may be awake for another reason.
  [[maybe_unused]] const auto count = ::read(wake_.get(), &woken, sizeof woken);
  std::vector<Task> tasks;
  bool ending = false;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posted_);
    ending = ending_;
  }
  for (const auto& task : tasks)
    task();
  return !ending;
}

void Loop::do_alarms() {
  while (!alarms_.empty() && alarms_.begin()->first.first <= now_ms()) {
    auto first = alarms_.extract(alarms_.begin());
    alarm_times_.erase(first.key().second);
    first.mapped()();
  }
}

int Loop::wait_ms() const {
  if (alarms_.empty()) return -1;
  return static_cast<int>(std::clamp<std::int64_t>(alarms_.begin()->first.first - now_ms(), 0, 3'600'000));
}

}  // namespace ratchet::sandbox
