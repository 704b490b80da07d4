#include "sandbox/guest/proxy.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/limits.hpp"

namespace ratchet::guest {

void raise_loopback() {
  int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  if (fd >= 0 && ::ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) == 0) {
    request.ifr_flags |= IFF_UP;
    // Where this may not be done, the proxy cannot be reached: there is less, not more.
    (void)::ioctl(fd, SIOCSIFFLAGS, &request);
  }
  close_fd(fd);
}

void Proxy::listen(std::uint16_t port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (listener_ < 0 || ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, static_cast<int>(limits::egress_connections_max)) != 0)
    die("the proxy's port cannot be listened on");
}

std::uint16_t Proxy::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (!listening() || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

Proxy::Connection* Proxy::find(std::uint32_t id) {
  for (auto& connection : connections_)
    if (connection.id == id) return &connection;
  return nullptr;
}

bool Proxy::wants_read(const Connection& connection) const {
  return connection.fd >= 0 && connection.told == Told::nothing && connection.may_send > 0 &&
         !control_.congested();
}

void Proxy::add_to(PollSet& set) const {
  // More wait in the kernel until one is over.
  if (listening() && connections_.size() < limits::egress_connections_max) set.add(listener_, POLLIN);
  for (const auto& connection : connections_) {
    const int events = (wants_read(connection) ? POLLIN : 0) | (connection.to_client.empty() ? 0 : POLLOUT);
    // One from which nothing is wanted is left out: an error on it would wake the loop for ever.
    if (connection.fd >= 0 && events != 0) set.add(connection.fd, static_cast<short>(events));
  }
}

void Proxy::advance(const PollSet& set) {
  for (auto& connection : connections_) {
    const auto ready = connection.fd >= 0 ? set.ready(connection.fd) : short{0};
    if ((ready & (POLLOUT | POLLERR | POLLHUP)) != 0 && !connection.to_client.empty()) write_to(connection);
    if ((ready & (POLLIN | POLLERR | POLLHUP)) != 0 && wants_read(connection)) read_from(connection);
  }
  forget_closed();
  if (listening() && set.ready(listener_) != 0) accept_one();
}

void Proxy::accept_one() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;  // gone again, or it is tried in the next round
  connections_.push_back({++last_id_, fd, limits::egress_window_bytes});
  control_.send(FrameType::open, last_id_, {});
}

void Proxy::read_from(Connection& connection) {
  char bytes[sandbox::stream_frame_bytes_max];
  const auto wanted = std::min<std::uint64_t>(sizeof bytes, connection.may_send);
  const auto count = ::read(connection.fd, bytes, wanted);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < 0) return lose(connection);
  if (count == 0) return tell_close(connection, false);
  connection.may_send -= static_cast<std::uint64_t>(count);
  control_.send(FrameType::data, connection.id, {bytes, static_cast<std::size_t>(count)});
}

void Proxy::write_to(Connection& connection) {
  auto& bytes = connection.to_client;
  while (!bytes.empty() && connection.fd >= 0) {
    const auto count = ::send(connection.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) return lose(connection);
    bytes.erase(0, static_cast<std::size_t>(count));
    grant(connection, static_cast<std::size_t>(count));
  }
  if (connection.host_finished && connection.fd >= 0) ::shutdown(connection.fd, SHUT_WR);
}

void Proxy::tell_close(Connection& connection, bool broken) {
  if (connection.told != Told::nothing) return;
  connection.told = broken ? Told::broken : Told::finished;
  const char how = broken ? 1 : 0;
  control_.send(FrameType::close, connection.id, {&how, 1});
}

/// To the host, unless it has said, or has been told, that no more of its data comes or is taken. What it
/// sends to one that had finished before it broke is let go.
void Proxy::grant(const Connection& connection, std::size_t bytes) {
  if (bytes == 0 || connection.host_finished || connection.told == Told::broken) return;
  control_.send_u32(FrameType::credit, connection.id, static_cast<std::uint32_t>(bytes));
}

void Proxy::lose(Connection& connection) {
  close_fd(connection.fd);
  tell_close(connection, true);
  grant(connection, connection.to_client.size());
  connection.to_client.clear();
}

void Proxy::on_data(std::uint32_t id, std::string_view bytes) {
  auto* connection = find(id);
  if (connection == nullptr || connection->host_finished) die("data of a connection that is not open");
  if (connection->fd < 0) return grant(*connection, bytes.size());
  connection->to_client.append(bytes);
  write_to(*connection);
}

void Proxy::on_credit(std::uint32_t id, std::uint32_t bytes) {
  // It may cross with the last close.
  if (auto* connection = find(id)) connection->may_send += bytes;
}

void Proxy::on_close(std::uint32_t id, bool broken) {
  auto* connection = find(id);
  if (connection == nullptr || connection->host_finished) die("the end of a connection that is not open");
  connection->host_finished = true;
  if (broken) lose(*connection);
  if (connection->fd >= 0) write_to(*connection);
  forget_closed();
}

void Proxy::forget_closed() {
  std::erase_if(connections_, [](Connection& connection) {
    const bool over =
        connection.told != Told::nothing && connection.host_finished && connection.to_client.empty();
    if (over) close_fd(connection.fd);
    return over;
  });
}

void Proxy::close_all() {
  for (auto& connection : connections_)
    lose(connection);
  forget_closed();
  if (!listening()) return;
  // Those that nobody has accepted yet.
  for (int fd; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;)
    ::close(fd);
}

}  // namespace ratchet::guest
