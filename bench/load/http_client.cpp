#include "bench/load/http_client.hpp"

#include <optional>
#include <utility>

#include "bench/load/client_connection.hpp"

namespace ratchet::bench {

namespace {

constexpr int stalled_receive_buffer_bytes = 4'096;  // so that the server meets the stall, not the kernel

}  // namespace

HttpClient::HttpClient(EventLoop& loop, std::uint16_t port) : loop_(loop), port_(port) {}

HttpClient::~HttpClient() {
  for (auto& [id, connection] : connections_) {
    loop_.remove(connection->fd());
    loop_.bury(std::move(connection));
  }
}

ClientConnection& HttpClient::connect(int receive_buffer_bytes) {
  const auto id = ++connections_made_;
  auto connection =
      std::make_unique<ClientConnection>(*this, id, connect_to_loopback(port_, receive_buffer_bytes));
  return *connections_.emplace(id, std::move(connection)).first->second;
}

void HttpClient::send(HttpRequest request, OnReply on_reply) {
  ClientConnection* connection = nullptr;
  while (!idle_.empty() && connection == nullptr) {
    const auto found = connections_.find(idle_.back());
    idle_.pop_back();
    if (found != connections_.end()) connection = found->second.get();
  }
  if (connection == nullptr) connection = &connect(0);
  connection->start(std::move(request), false, {}, std::move(on_reply));
}

HttpReply HttpClient::ask(HttpRequest request) {
  std::optional<HttpReply> reply;
  send(std::move(request), [&reply](HttpReply got) { reply = std::move(got); });
  loop_.run_until([&reply] { return reply.has_value(); });
  return std::move(*reply);
}

void HttpClient::follow(HttpRequest request, bool stalled, OnData on_data, OnReply on_end) {
  auto& connection = connect(stalled ? stalled_receive_buffer_bytes : 0);
  if (stalled) stalled_.push_back(connection.id());
  connection.start(std::move(request), stalled, std::move(on_data), std::move(on_end));
}

void HttpClient::read_stalled() {
  for (const auto id : std::exchange(stalled_, {})) {
    const auto found = connections_.find(id);
    if (found != connections_.end()) found->second->start_reading();
  }
}

void HttpClient::drop(std::uint64_t connection) {
  auto node = connections_.extract(connection);
  loop_.remove(node.mapped()->fd());
  loop_.bury(std::move(node.mapped()));
}

}  // namespace ratchet::bench
