#pragma once
// A service that tells programs in sandboxes to stay until it is opened, and knows who has come.

#include <arpa/inet.h>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace ratchet::crashing {

/// Answers `GET /<word>` with `stay`, or with `go` once it is open.
class Gate {
 public:
  Gate() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), bytes) != 0 ||
        ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
      std::abort();
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }

  ~Gate() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  int port() const { return port_; }

  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
  }

  /// Whether somebody has come with this word, within a minute.
  bool wait_for(const std::string& word) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return come_[word] > 0; });
  }

 private:
  void serve() {
    for (int socket; (socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0; ::close(socket)) {
      std::string head;
      char byte = 0;
      while (!head.ends_with("\r\n\r\n") && ::read(socket, &byte, 1) == 1)
        head += byte;
      const auto slash = head.find('/');
      const std::lock_guard lock(mutex_);
      ++come_[head.substr(slash + 1, head.find(' ', slash) - slash - 1)];
      changed_.notify_all();
      const std::string answer = open_ ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\ngo"
                                       : "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nstay";
      // Who has gone meanwhile is not told.
      (void)!::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }

  const int listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::map<std::string, int> come_;
  std::thread thread_;
};

}  // namespace ratchet::crashing
