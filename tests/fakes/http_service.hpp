#pragma once
// A service on loopback in the test's process: whole requests in, whole replies out, one thread a connection.

#include <arpa/inet.h>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ratchet::fakes {

class HttpService {
 public:
  struct Request {
    std::string method, path, key, body;  ///< `key`: the Idempotency-Key
  };

  /// From a request to the bytes of its reply; called from any of the service's threads.
  using Handler = std::function<std::string(const Request&)>;

  explicit HttpService(Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(listener_, 64) != 0)
      std::abort();
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }

  ~HttpService() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    ::close(listener_);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int socket : sockets_)
        ::shutdown(socket, SHUT_RDWR);
    }
    for (std::thread& thread : threads_)
      thread.join();
  }

  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

  int port() const { return port_; }

  static std::string answer(int status, const std::string& body, const std::string& type = "text/plain") {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: " + type +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

 private:
  void accept_all() {
    while (!stopping_) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      const std::lock_guard lock(mutex_);
      sockets_.push_back(socket);
      threads_.emplace_back([this, socket] {
        serve(socket);
        const std::lock_guard done(mutex_);
        std::erase(sockets_, socket);
        ::close(socket);
      });
    }
  }

  void serve(int socket) {
    std::string bytes;
    for (char buffer[4'096];;) {
      const auto end = bytes.find("\r\n\r\n");
      if (end != std::string::npos) {
        const std::string head = bytes.substr(0, end);
        const std::size_t body = std::strtoul(header(head, "content-length").c_str(), nullptr, 10);
        if (bytes.size() >= end + 4 + body) {
          Request request = parse(head);
          request.body = bytes.substr(end + 4, body);
          bytes.erase(0, end + 4 + body);
          if (!send_all(socket, handler_(request))) return;
          continue;
        }
      }
      const auto count = ::recv(socket, buffer, sizeof buffer, 0);
      if (count <= 0) return;
      bytes.append(buffer, static_cast<std::size_t>(count));
    }
  }

  static bool send_all(int socket, const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const auto count = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<std::size_t>(count);
    }
    return true;
  }

  static std::string header(const std::string& head, const std::string& name) {
    std::string lower = head;
    for (char& c : lower)
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto at = lower.find("\r\n" + name + ":");
    if (at == std::string::npos) return {};
    const auto begin = head.find_first_not_of(' ', at + name.size() + 3);
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }

  static Request parse(const std::string& head) {
    Request request;
    request.method = head.substr(0, head.find(' '));
    const auto path = head.find(' ') + 1;
    request.path = head.substr(path, head.find(' ', path) - path);
    request.key = header(head, "idempotency-key");
    return request;
  }

  Handler handler_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread acceptor_;
  std::mutex mutex_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
};

}  // namespace ratchet::fakes
