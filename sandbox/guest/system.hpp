#pragma once
// The few things of Linux that every part of the guest needs. The guest is one thread without exceptions;
// where memory runs out it aborts, and its sandbox ends with it.

#include <cstddef>
#include <cstdint>
#include <poll.h>
#include <string_view>
#include <vector>

namespace ratchet::guest {

/// Tells why on standard error, where there still is one, and ends the guest, and with it the sandbox.
[[noreturn]] void die(std::string_view why);

/// Of a clock that only goes forward.
std::int64_t now_ms();

void close_fd(int& fd);

/// Of one round of the loop.
class PollSet {
 public:
  void clear() { entries_.clear(); }

  void add(int fd, short events) { entries_.push_back({fd, events, 0}); }

  /// Waits until one is ready, for -1 without end.
  void wait(std::int64_t timeout_ms);

  /// What was found about one that was added; of others nothing.
  short ready(int fd) const;

 private:
  std::vector<pollfd> entries_;
};

}  // namespace ratchet::guest
