#pragma once
// Non-blocking TCP on loopback, and the file descriptor that owns it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ratchet::bench {

class Socket {
 public:
  Socket() = default;

  explicit Socket(int fd) : fd_(fd) {}

  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int fd() const { return fd_; }

  /// What is there now, appended to `buffer`. nullopt: the other side is gone.
  std::optional<std::size_t> read_some(std::string& buffer);
  /// Writes from the front of `data` and returns how much the kernel took. nullopt: the other side is gone.
  std::optional<std::size_t> write_some(std::string_view data);

 private:
  int fd_ = -1;
};

/// Listens on 127.0.0.1; port 0 picks a free one. Throws std::system_error.
Socket listen_on_loopback(std::uint16_t port);
std::uint16_t port_of(const Socket& socket);

/// Starts to connect; the socket becomes writable when it is through. `receive_buffer_bytes` 0: the kernel's
/// choice.
Socket connect_to_loopback(std::uint16_t port, int receive_buffer_bytes = 0);

/// The next waiting connection, if there is one.
std::optional<Socket> accept_from(const Socket& listener);

}  // namespace ratchet::bench
