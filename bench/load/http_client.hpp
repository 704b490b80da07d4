#pragma once
// HTTP over loopback with as many connections as there are requests under way; a connection is used again
// when its reply allows it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/common/event_loop.hpp"

namespace ratchet::bench {

struct HttpRequest {
  std::string_view method = "GET";
  std::string target;
  std::string body{};
  std::string_view accept = "application/json";
};

/// `whole` is false when the connection could not be made or ended early; `status` 0: before any reply.
struct HttpReply {
  int status = 0;
  std::string body;
  bool whole = false;
};

class ClientConnection;

class HttpClient {
 public:
  HttpClient(EventLoop& loop, std::uint16_t port);
  ~HttpClient();

  using OnReply = std::function<void(HttpReply)>;
  void send(HttpRequest request, OnReply on_reply);
  /// Sends, and runs the loop until the reply is there.
  HttpReply ask(HttpRequest request);

  using OnData = std::function<void(std::string_view)>;
  /// A reply whose body is handed on as it comes, over a connection of its own; `on_end` gets it without the
  /// body. A stalled one sends the request and reads nothing until `read_stalled`.
  void follow(HttpRequest request, bool stalled, OnData on_data, OnReply on_end);
  void read_stalled();

  std::uint16_t port() const { return port_; }

 private:
  friend class ClientConnection;

  ClientConnection& connect(int receive_buffer_bytes);
  void drop(std::uint64_t connection);

  EventLoop& loop_;
  std::uint16_t port_;
  std::unordered_map<std::uint64_t, std::unique_ptr<ClientConnection>> connections_;
  std::uint64_t connections_made_ = 0;
  std::vector<std::uint64_t> idle_, stalled_;
};

}  // namespace ratchet::bench
