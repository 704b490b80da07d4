#include "bench/common/socket.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace ratchet::bench {

namespace {

constexpr int backlog = 4096;
constexpr std::size_t read_bytes = 64u << 10;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void send_at_once(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

std::optional<std::size_t> Socket::read_some(std::string& buffer) {
  // One buffer for all: the loop is one thread, and a buffer of its own for each connection would cost more.
  static char scratch[read_bytes];
  std::size_t total = 0;
  for (;;) {
    const auto got = recv(fd_, scratch, read_bytes, 0);
    if (got < 0 && would_block()) return total;
    if (got <= 0) return std::nullopt;
    buffer.append(scratch, static_cast<std::size_t>(got));
    total += static_cast<std::size_t>(got);
    if (static_cast<std::size_t>(got) < read_bytes) return total;
  }
}

std::optional<std::size_t> Socket::write_some(std::string_view data) {
  if (data.empty()) return 0;
  const auto sent = send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
  if (sent < 0) return would_block() ? std::optional<std::size_t>(0) : std::nullopt;
  return static_cast<std::size_t>(sent);
}

Socket listen_on_loopback(std::uint16_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) fail("socket");
  const int on = 1;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto address = loopback(port);
  if (bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
  if (listen(socket.fd(), backlog) != 0) fail("listen");
  return socket;
}

std::uint16_t port_of(const Socket& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0) fail("getsockname");
  return ntohs(address.sin_port);
}

Socket connect_to_loopback(std::uint16_t port, int receive_buffer_bytes) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) fail("socket");
  send_at_once(socket.fd());
  if (receive_buffer_bytes > 0)
    setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  const auto address = loopback(port);
  // A refusal shows when the socket is first used.
  if (connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS && errno != ECONNREFUSED)
    fail("connect");
  return socket;
}

std::optional<Socket> accept_from(const Socket& listener) {
  const int fd = accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    if (would_block() || errno == ECONNABORTED) return std::nullopt;
    fail("accept4");
  }
  send_at_once(fd);
  return Socket(fd);
}

}  // namespace ratchet::bench
