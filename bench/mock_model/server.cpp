#include "bench/mock_model/server.hpp"

#include <sys/epoll.h>
#include <utility>

#include "bench/common/prose.hpp"
#include "bench/mock_model/connection.hpp"

namespace ratchet::bench {

MockServer::MockServer(MockOptions options)
    : options_(std::move(options)), listener_(listen_on_loopback(options_.port)) {
  loop_.add(listener_.fd(), EPOLLIN, *this);
  // Made now, so that no measured request pays for it.
  said(0, 0);
  found(0, 0);
}

MockServer::~MockServer() = default;

std::uint16_t MockServer::port() const {
  return port_of(listener_);
}

void MockServer::run() {
  loop_.run_until([this] {
    ledger_.round_took(now_ns() - loop_.round_ns());
    return false;
  });
}

void MockServer::on_io(std::uint32_t) {
  while (auto socket = accept_from(listener_)) {
    const auto id = ++connections_made_;
    connections_.emplace(id, std::make_unique<MockConnection>(*this, id, std::move(*socket)));
  }
}

void MockServer::later(std::int64_t at_ns, std::uint64_t connection, void (MockConnection::*action)()) {
  loop_.call_at(at_ns, [this, connection, action] {
    const auto found = connections_.find(connection);
    if (found != connections_.end()) (found->second.get()->*action)();
  });
}

void MockServer::drop(std::uint64_t connection) {
  auto node = connections_.extract(connection);
  std::erase(finished_waiters_, connection);
  loop_.remove(node.mapped()->fd());
  loop_.bury(std::move(node.mapped()));
}

void MockServer::answer_finished_waiters() {
  const auto waiters = finished_waiters_;  // answering changes the list
  for (const auto connection : waiters) {
    const auto found = connections_.find(connection);
    if (found != connections_.end()) found->second->answer_finished();
  }
}

}  // namespace ratchet::bench
