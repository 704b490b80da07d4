#include "sandbox/guest/control.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "sandbox/guest/system.hpp"

namespace ratchet::guest {
namespace {

constexpr int first_fd = 200;  // of the control pipes: above all that a command could be given

int taken_over(int fd) {
  const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, first_fd);
  if (high < 0 || ::fcntl(high, F_SETFL, ::fcntl(high, F_GETFL) | O_NONBLOCK) != 0)
    die("the control pipe cannot be taken over");
  return high;
}

}  // namespace

Control::Control() : in_(taken_over(STDIN_FILENO)), out_(taken_over(STDOUT_FILENO)) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) die("there is no /dev/null");
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::dup2(null, fd) < 0) die("a standard descriptor cannot be replaced");
  if (null > STDERR_FILENO) ::close(null);
}

void Control::send(FrameType type, std::uint32_t id, std::string_view payload) {
  if (sent_ >= limits::sandbox_congested_bytes) {
    outgoing_.erase(0, sent_);
    sent_ = 0;
  }
  sandbox::append_frame(outgoing_, type, id, payload);
}

void Control::send_u32(FrameType type, std::uint32_t id, std::uint32_t value) {
  std::string payload;
  sandbox::PayloadWriter(payload).u32(value);
  send(type, id, payload);
}

void Control::flush() {
  while (pending()) {
    const auto count = ::write(out_, outgoing_.data() + sent_, outgoing_.size() - sent_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) host_gone();
    sent_ += static_cast<std::size_t>(count);
  }
  outgoing_.clear();
  sent_ = 0;
}

void Control::receive() {
  char bytes[64 << 10];
  const auto count = ::read(in_, bytes, sizeof bytes);
  if (count > 0) return frames_.feed({bytes, static_cast<std::size_t>(count)});
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  host_gone();
}

std::optional<Frame> Control::next() {
  auto frame = frames_.next();
  if (frames_.too_long()) die("a frame is too long");
  return frame;
}

void Control::host_gone() {
  if (on_host_gone != nullptr) on_host_gone();
  ::_exit(0);
}

}  // namespace ratchet::guest
