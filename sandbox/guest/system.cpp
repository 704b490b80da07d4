#include "sandbox/guest/system.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <unistd.h>

#include <climits>

namespace ratchet::guest {

void die(std::string_view why) {
  // Nobody is left to be told that this write failed.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, why.data(), why.size());
  [[maybe_unused]] const auto ended = ::write(STDERR_FILENO, "\n", 1);
  ::_exit(1);
}

std::int64_t now_ms() {
  timespec at{};
  ::clock_gettime(CLOCK_MONOTONIC, &at);
  return std::int64_t{at.tv_sec} * 1000 + at.tv_nsec / 1'000'000;
}

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

void PollSet::wait(std::int64_t timeout_ms) {
  const int timeout = static_cast<int>(std::min<std::int64_t>(timeout_ms, INT_MAX));
  if (::poll(entries_.data(), entries_.size(), timeout) >= 0) return;
  if (errno != EINTR && errno != EAGAIN && errno != ENOMEM) die("poll failed");
  for (auto& entry : entries_)
    entry.revents = 0;
}

short PollSet::ready(int fd) const {
  for (const auto& entry : entries_)
    if (entry.fd == fd) return entry.revents;
  return 0;
}

}  // namespace ratchet::guest
