#pragma once
// A service that acts: it lives in the test's process, so it survives every crash of the node, and counts
// what was really done. `POST /act` has an effect; one that carries an Idempotency-Key it has seen is
// answered from memory, unless the path is `/act/forgetful`. `GET /status/<key>` tells the truth: 200 with
// the result, or 404. What each request to act carried is kept too.

#include <arpa/inet.h>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace ratchet::fakes {

class EffectServer {
 public:
  /// A request to act, in the order in which they came.
  struct Request {
    std::string method, path, key, body;
    bool acted = false;  ///< or it was answered from memory
  };

  EffectServer() {
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

  ~EffectServer() {
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

  EffectServer(const EffectServer&) = delete;
  EffectServer& operator=(const EffectServer&) = delete;

  int port() const { return port_; }

  /// How often each key has had its effect.
  std::map<std::string, int> effects() const {
    const std::lock_guard lock(mutex_);
    return effects_;
  }

  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
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
          const std::string answer = handle(std::move(request));
          if (::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
          continue;
        }
      }
      const auto count = ::recv(socket, buffer, sizeof buffer, 0);
      if (count <= 0) return;
      bytes.append(buffer, static_cast<std::size_t>(count));
    }
  }

  static std::string header(const std::string& head, std::string name) {
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

  std::string handle(Request request) {
    const std::lock_guard lock(mutex_);
    if (request.method == "GET") {
      const std::string key = unescaped(request.path.substr(request.path.find_last_of('/') + 1));
      return effects_.contains(key) ? answer(200, "done") : answer(404, "never seen");
    }
    const bool forgetful = request.path.starts_with("/act/forgetful");
    // Without a key the path names the effect, so that the test can ask what became of it.
    const std::string key = request.key.empty() ? request.path : request.key;
    request.acted = forgetful || !effects_.contains(key);
    if (request.acted) ++effects_[key];
    requests_.push_back(std::move(request));
    return answer(200, "done");
  }

  static std::string unescaped(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        out += text[i];
        continue;
      }
      out += static_cast<char>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16));
      i += 2;
    }
    return out;
  }

  static std::string answer(int status, const std::string& body) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }

  int listener_ = -1, port_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread acceptor_;
  mutable std::mutex mutex_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::map<std::string, int> effects_;
  std::vector<Request> requests_;
};

}  // namespace ratchet::fakes
