#pragma once
// Where connections of sandboxes may end.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "sandbox/fd.hpp"

namespace ratchet::attacks {

using sandbox::Fd;

/// A listener on the host that says `reached` to everybody, and counts them.
class Origin {
 public:
  explicit Origin(const std::string& address = "127.0.0.1")
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    ::inet_pton(AF_INET, address.c_str(), &to.sin_addr);
    socklen_t bytes = sizeof to;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&to), bytes), 0);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&to), &bytes);
    port = ntohs(to.sin_port);
    thread_ = std::thread([this] { serve(); });
  }

  ~Origin() { stop(); }

  /// How many came. Nobody is served afterwards.
  int stop() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    return came_;
  }

  std::uint16_t port = 0;

 private:
  void serve() {
    for (;;) {
      const Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) return;
      ++came_;
      std::string head;
      for (char byte = 0; !head.ends_with("\r\n\r\n") && ::read(socket.get(), &byte, 1) == 1;)
        head += byte;
      std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nreached";
      if (head.find("/flood") != head.npos) answer.append(8u << 20, 'x');
      for (std::string_view left = answer; !left.empty();) {
        const auto sent = ::send(socket.get(), left.data(), left.size(), MSG_NOSIGNAL);
        if (sent <= 0) break;
        left.remove_prefix(static_cast<std::size_t>(sent));
      }
    }
  }

  Fd listener_;
  std::thread thread_;
  int came_ = 0;
};

}  // namespace ratchet::attacks
