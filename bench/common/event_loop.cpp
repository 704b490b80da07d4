#include "bench/common/event_loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <system_error>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace ratchet::bench {

namespace {

constexpr int events_per_round = 512;
constexpr int idle_wait_ms = 100;  // `done` is asked at least this often

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

EventLoop::EventLoop() : epoll_fd_(epoll_create1(EPOLL_CLOEXEC)), round_ns_(now_ns()) {
  if (epoll_fd_ < 0) fail("epoll_create1");
}

EventLoop::~EventLoop() {
  close(epoll_fd_);
}

void EventLoop::add(int fd, std::uint32_t events, IoHandler& handler) {
  epoll_event event{.events = events, .data = {.ptr = &handler}};
  if (epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl add");
}

void EventLoop::modify(int fd, std::uint32_t events, IoHandler& handler) {
  epoll_event event{.events = events, .data = {.ptr = &handler}};
  if (epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event) != 0) fail("epoll_ctl modify");
}

void EventLoop::remove(int fd) {
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::bury(std::unique_ptr<IoHandler> handler) {
  graves_.push_back(std::move(handler));
}

void EventLoop::call_at(std::int64_t at_ns, std::function<void()> action) {
  timers_.push({at_ns, timers_set_++, std::move(action)});
}

int EventLoop::wait_ms() const {
  if (timers_.empty()) return idle_wait_ms;
  const auto left_ns = timers_.top().at_ns - now_ns();
  return static_cast<int>(std::clamp<std::int64_t>((left_ns + 999'999) / 1'000'000, 0, idle_wait_ms));
}

void EventLoop::run_due_timers() {
  const auto now = now_ns();
  while (!timers_.empty() && timers_.top().at_ns <= now) {
    // top() is const because moving could break the order; the element is popped right after.
    auto action = std::move(const_cast<Timer&>(timers_.top()).action);
    timers_.pop();
    action();
  }
}

void EventLoop::run_until(const std::function<bool()>& done) {
  std::array<epoll_event, events_per_round> events;
  while (!done()) {
    const int count = epoll_wait(epoll_fd_, events.data(), events_per_round, wait_ms());
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    round_ns_ = now_ns();
    for (int i = 0; i < count; ++i)
      static_cast<IoHandler*>(events[i].data.ptr)->on_io(events[i].events);
    graves_.clear();
    run_due_timers();
    graves_.clear();
  }
}

}  // namespace ratchet::bench
