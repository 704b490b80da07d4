#pragma once
// A server that sends exactly the bytes it is told to, for tests of clients. Each connection plays a script:
// receive a request, send these bytes, wait until the test says so, reset. One thread serves all connections,
// so a thousand of them are cheap. What it saw can be awaited; nothing here sleeps.

#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <netinet/tcp.h>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "runtime/descriptors.hpp"

namespace ratchet::fakes {

class ByteServer {
 public:
  /// Raised once by the test; stays raised.
  using Signal = std::shared_ptr<std::atomic<bool>>;

  struct Step {
    enum class Kind { receive, receive_head, send, wait, tell, half_close, close, reset, again };
    Kind kind;
    std::string bytes = {};
    Signal signal = {};
  };

  using Script = std::vector<Step>;

  /// Waits for a whole request: its headers and as many bytes of body as they announce.
  static Step receive() { return {Step::Kind::receive}; }

  /// Waits for the headers of a request only.
  static Step receive_head() { return {Step::Kind::receive_head}; }

  static Step send(std::string bytes) { return {Step::Kind::send, std::move(bytes)}; }

  static Step wait(Signal signal) { return {Step::Kind::wait, {}, std::move(signal)}; }

  /// Raises the signal, for the test to await.
  static Step tell(Signal signal) { return {Step::Kind::tell, {}, std::move(signal)}; }

  /// Sends the end of the stream and goes on reading.
  static Step half_close() { return {Step::Kind::half_close}; }

  static Step close() { return {Step::Kind::close}; }

  /// Ends the connection with a TCP reset.
  static Step reset() { return {Step::Kind::reset}; }

  /// From the first step again, on the same connection.
  static Step again() { return {Step::Kind::again}; }

  /// A script that answers every request of a connection with the same bytes.
  static Script answering(std::string reply) { return {receive(), send(std::move(reply)), again()}; }

  struct Request {
    std::uint32_t connection = 0;  ///< counts from 0
    std::string head, body;
  };

  /// The n-th connection plays the n-th script, and all later ones the last.
  explicit ByteServer(std::vector<Script> scripts) : scripts_(std::move(scripts)) {
    raise_descriptor_limit();
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
    check(::listen(listener_, 4'096) == 0, "listen");
    socklen_t size = sizeof address;
    check(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
    port_ = ntohs(address.sin_port);
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    bell_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    watch(listener_, EPOLLIN, EPOLL_CTL_ADD);
    watch(bell_, EPOLLIN, EPOLL_CTL_ADD);
    thread_ = std::thread([this] { run(); });
  }

  ~ByteServer() {
    stopping_ = true;
    ring();
    thread_.join();
    for (auto& [fd, connection] : connections_)
      ::close(fd);
    ::close(listener_);
    ::close(epoll_);
    ::close(bell_);
  }

  ByteServer(const ByteServer&) = delete;
  ByteServer& operator=(const ByteServer&) = delete;

  std::uint16_t port() const { return port_; }

  std::string host_port() const { return "127.0.0.1:" + std::to_string(port_); }

  std::string url(const std::string& path = "/") const { return "http://" + host_port() + path; }

  static Signal signal() { return std::make_shared<std::atomic<bool>>(false); }

  void raise(const Signal& signal) {
    *signal = true;
    ring();
  }

  /// Wait until it has happened; false only if it does not happen at all (a minute).
  bool await_requests(std::size_t count) {
    return await([&] { return requests_.size() >= count; });
  }

  bool await_signal(const Signal& signal) {
    return await([&] { return signal->load(); });
  }

  bool await_connections(std::size_t count) {
    return await([&] { return accepted_ >= count; });
  }

  /// Connections that the client has closed, or reset.
  bool await_closed_by_client(std::size_t count) {
    return await([&] { return closed_by_client_ >= count; });
  }

  std::vector<Request> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  std::size_t connections() {
    const std::lock_guard lock(mutex_);
    return accepted_;
  }

 private:
  struct Connection {
    std::uint32_t number = 0;
    const Script* script = nullptr;
    std::size_t position = 0;
    std::size_t sent = 0;  ///< of the current step's bytes
    std::string received;
    bool end_seen = false;
    bool wants_write = false;
  };

  static void check(bool good, const char* what) {
    if (good) return;
    std::perror(what);
    std::abort();
  }

  void ring() {
    const std::uint64_t one = 1;
    check(::write(bell_, &one, sizeof one) == sizeof one, "eventfd");
  }

  void watch(int fd, std::uint32_t events, int operation) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    check(::epoll_ctl(epoll_, operation, fd, &event) == 0, "epoll_ctl");
  }

  template <class Condition>
  bool await(Condition&& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), condition);
  }

  template <class Change>
  void record(Change&& change) {
    {
      const std::lock_guard lock(mutex_);
      change();
    }
    changed_.notify_all();
  }

  void run() {
    std::vector<epoll_event> events(256);
    while (!stopping_) {
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; ++i)
        serve(events[static_cast<std::size_t>(i)]);
    }
  }

  void serve(const epoll_event& event) {
    const int fd = event.data.fd;
    if (fd == listener_) return accept_all();
    if (fd == bell_) return advance_all();
    const auto found = connections_.find(fd);
    if (found == connections_.end()) return;
    if ((event.events & ~EPOLLOUT) != 0 && !read_all(fd, found->second)) return;
    advance(fd, found->second);
  }

  void accept_all() {
    for (int fd; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      Connection connection;
      connection.number = next_number_++;
      connection.script = &scripts_[std::min<std::size_t>(connection.number, scripts_.size() - 1)];
      watch(fd, EPOLLIN, EPOLL_CTL_ADD);
      auto& stored = connections_[fd] = std::move(connection);
      record([&] { ++accepted_; });
      advance(fd, stored);
    }
  }

  void advance_all() {
    std::uint64_t count = 0;
    (void)!::read(bell_, &count, sizeof count);
    std::vector<int> open;
    for (const auto& [fd, connection] : connections_)
      open.push_back(fd);
    for (const int fd : open)
      advance(fd, connections_.at(fd));
  }

  /// False: the connection is gone.
  bool read_all(int fd, Connection& connection) {
    char buffer[16'384];
    while (true) {
      const auto n = ::recv(fd, buffer, sizeof buffer, 0);
      if (n > 0) {
        connection.received.append(buffer, static_cast<std::size_t>(n));
        continue;
      }
      if (n < 0 && errno == EAGAIN) return true;
      record([&] { ++closed_by_client_; });
      end(fd);
      return false;
    }
  }

  void end(int fd) {
    ::close(fd);
    connections_.erase(fd);
  }

  /// Plays the script until it has to wait. After its end the connection stays open, silent.
  void advance(int fd, Connection& connection) {
    while (connection.position < connection.script->size()) {
      const Step& step = (*connection.script)[connection.position];
      switch (step.kind) {
        case Step::Kind::receive:
          if (!take_request(connection, true)) return;
          break;
        case Step::Kind::receive_head:
          if (!take_request(connection, false)) return;
          break;
        case Step::Kind::send:
          if (!send_all(fd, connection, step.bytes)) return;
          break;
        case Step::Kind::wait:
          if (!*step.signal) return;
          break;
        case Step::Kind::tell:
          record([&] { *step.signal = true; });
          break;
        case Step::Kind::half_close:
          ::shutdown(fd, SHUT_WR);
          break;
        case Step::Kind::close:
          return end(fd);
        case Step::Kind::reset: {
          const linger hard{1, 0};
          ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
          return end(fd);
        }
        case Step::Kind::again:
          connection.position = 0;
          continue;
      }
      ++connection.position;
    }
  }

  bool take_request(Connection& connection, bool whole) {
    std::string& received = connection.received;
    const auto head_end = received.find("\r\n\r\n");
    if (head_end == std::string::npos) return false;
    const std::size_t body_start = head_end + 4;
    const std::size_t body_size = whole ? content_length(received.substr(0, head_end)) : 0;
    if (received.size() < body_start + body_size) return false;
    Request request{
        connection.number, received.substr(0, body_start), received.substr(body_start, body_size)};
    received.erase(0, body_start + body_size);
    record([&] { requests_.push_back(std::move(request)); });
    return true;
  }

  static std::size_t content_length(const std::string& head) {
    const char* found = ::strcasestr(head.c_str(), "\r\ncontent-length:");
    return found == nullptr ? 0 : std::strtoul(found + 17, nullptr, 10);
  }

  bool send_all(int fd, Connection& connection, const std::string& bytes) {
    while (connection.sent < bytes.size()) {
      const auto n = ::send(fd, bytes.data() + connection.sent, bytes.size() - connection.sent, MSG_NOSIGNAL);
      if (n < 0) {
        if (errno == EAGAIN) want_write(fd, connection, true);
        return false;  // a broken connection ends when its end is read
      }
      connection.sent += static_cast<std::size_t>(n);
    }
    connection.sent = 0;
    want_write(fd, connection, false);
    return true;
  }

  void want_write(int fd, Connection& connection, bool wanted) {
    if (connection.wants_write == wanted) return;
    connection.wants_write = wanted;
    watch(fd, EPOLLIN | (wanted ? EPOLLOUT : 0u), EPOLL_CTL_MOD);
  }

  const std::vector<Script> scripts_;
  int listener_ = -1, epoll_ = -1, bell_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::map<int, Connection> connections_;  // the thread's own
  std::uint32_t next_number_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Request> requests_;
  std::size_t accepted_ = 0, closed_by_client_ = 0;

  std::thread thread_;
};

}  // namespace ratchet::fakes
