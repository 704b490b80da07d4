// Connections of commands, through the guest and the channel, to whoever answers them on the host.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/egress/egress.hpp"
#include "sandbox/host.hpp"
#include "tests/sandbox/plain_launcher.hpp"
#include "tests/sandbox/refuse_all.hpp"

namespace ratchet::sandbox {
namespace {

/// Sends back what comes, within its credit. One whose first byte is `s` it never reads from again: it
/// stalls.
class Echo final : public Egress {
 public:
  void grant(SandboxId, const std::vector<std::string>& hosts, std::shared_ptr<EgressLink> link) override {
    allowed = hosts;
    link_ = std::move(link);
  }

  void forget(SandboxId) override { ++forgotten; }

  void opened(SandboxId, ConnectionId connection) override {
    connections_[connection];
    ++open;
  }

  void data(SandboxId, ConnectionId connection, std::string_view bytes) override {
    auto& entry = connections_[connection];
    if (!std::exchange(entry.begun, true)) entry.stalled = bytes.front() == 's';
    if (entry.stalled) return;
    entry.waiting += bytes;
    push(connection);
  }

  void credit(SandboxId, ConnectionId connection, std::uint32_t bytes) override {
    connections_[connection].may_send += bytes;
    push(connection);
  }

  void closed(SandboxId, ConnectionId connection, bool broken) override {
    auto& entry = connections_[connection];
    entry.finished = true;
    --open;
    if (!broken && entry.waiting.empty()) link_->close(connection, false);
  }

  void take_evidence(SandboxId, std::function<void(SandboxEvidence)> told) override {
    SandboxEvidence evidence;
    evidence.refused_connections = 7;
    told(std::move(evidence));
  }

  std::vector<std::string> allowed;
  std::atomic<int> open = 0, forgotten = 0;

 private:
  struct Connection {
    std::string waiting;
    std::size_t may_send = limits::egress_window_bytes;
    bool begun = false, stalled = false, finished = false;
  };

  void push(ConnectionId connection) {
    auto& entry = connections_[connection];
    const auto bytes = std::min(entry.may_send, entry.waiting.size());
    if (bytes == 0) return;
    link_->send(connection, entry.waiting.substr(0, bytes));
    link_->grant(connection, static_cast<std::uint32_t>(bytes));
    entry.may_send -= bytes;
    entry.waiting.erase(0, bytes);
    if (entry.finished && entry.waiting.empty()) link_->close(connection, false);
  }

  std::shared_ptr<EgressLink> link_;
  std::map<ConnectionId, Connection> connections_;
};

class Proxied : public testing::Test {
 protected:
  void begin(std::shared_ptr<Egress> egress) {
    SandboxHostOptions options;
    options.node = "0badcafe";
    options.launchers[2] = std::make_shared<PlainLauncher>(
        std::vector<std::string>{guest_path(), "serve", "--plain", "--proxy-port", "0"});
    options.egress = std::move(egress);
    host_ = std::make_unique<LocalSandboxHost>(std::move(options));
    std::promise<void> ready;
    host_->create(2, [&](Result<SandboxId> id) {
      RATCHET_ENSURE(id.has_value(), "no sandbox");
      id_ = *id;
      SandboxLease lease;
      lease.network_allow = {"example.com:443"};
      host_->lease(id_, lease, [&](Result<void> leased) {
        RATCHET_ENSURE(leased.has_value(), "no lease");
        ready.set_value();
      });
    });
    ready.get_future().wait();
  }

  SandboxEnd python(const std::string& body) {
    SandboxCommand command;
    command.argv = {"/usr/bin/python3", "-"};
    command.input =
        "import os, socket, threading\n"
        "port = int(os.environ['http_proxy'].rsplit(':', 1)[1])\n"
        "def connect(): return socket.create_connection(('127.0.0.1', port))\n" +
        body;
    command.directory = "/tmp";
    command.output_bytes_max = 1u << 20;
    command.timeout_ms = 60'000;
    std::promise<SandboxEnd> told;
    host_->run(id_, command, {}, [&](SandboxEnd end) { told.set_value(std::move(end)); });
    auto future = told.get_future();
    RATCHET_ENSURE(future.wait_for(std::chrono::minutes(2)) == std::future_status::ready, "no end came");
    return future.get();
  }

  std::unique_ptr<LocalSandboxHost> host_;
  SandboxId id_ = 0;
};

TEST_F(Proxied, CarriesMoreThanItsWindowsInBothDirections) {
  const auto echo = std::make_shared<Echo>();
  begin(echo);
  const auto end = python(R"(
c = connect()
sent = os.urandom(3_000_000)
def send():
    c.sendall(b'x' + sent)
    c.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
got = bytearray()
while True:
    piece = c.recv(65536)
    if not piece: break
    got += piece
print(bytes(got) == b'x' + sent)
)");
  EXPECT_EQ(end.out, "True\n") << end.err;
  EXPECT_EQ(end.evidence.refused_connections, 7u);
  EXPECT_EQ(echo->allowed, std::vector<std::string>{"example.com:443"});
}

TEST_F(Proxied, LetsNoStalledConnectionHoldUpAnother) {
  begin(std::make_shared<Echo>());
  const auto end = python(R"(
stalled = [connect() for _ in range(20)]
for c in stalled:
    c.setblocking(False)
    try:
        while True: c.send(b's' * 65536)
    except BlockingIOError: pass
deaf = connect()
deaf.setblocking(False)
try:
    for _ in range(100): deaf.send(b'x' * 65536)
except BlockingIOError: pass
c = connect()
c.sendall(b'hello')
print(c.recv(100), 'o' * 300_000)
)");
  EXPECT_EQ(end.kind, SandboxEnd::Kind::exited) << end.why << end.err;
  EXPECT_THAT(end.out, testing::StartsWith("b'hello' ooo"));
}

TEST_F(Proxied, ClosesConnectionsWithTheirCommand) {
  const auto echo = std::make_shared<Echo>();
  begin(echo);
  EXPECT_EQ(python("c = connect(); c.sendall(b'x'); c.recv(1); os._exit(3)").code, 3);
  EXPECT_EQ(python("c = connect(); c.sendall(b'x'); print(c.recv(1))").out, "b'x'\n");
  host_.reset();
  EXPECT_EQ(echo->forgotten, 1);
}

TEST_F(Proxied, ServesFarMoreConnectionsThanAtOnce) {
  begin(std::make_shared<Echo>());
  const auto end = python(R"(
many = [connect() for _ in range(100)]  # some wait until others have gone
for c in many[:60]: c.close()
for c in many[60:]: c.sendall(b'x')
print(sum(len(c.recv(1)) for c in many[60:]))
)");
  EXPECT_EQ(end.out, "40\n") << end.err;
}

TEST_F(Proxied, RefusesAndCountsWhereNobodyAnswers) {
  begin(std::make_shared<RefuseAll>());
  const auto end = python(R"(
for _ in range(3):
    try: print(connect().recv(1))
    except ConnectionResetError: print(b'')
)");
  EXPECT_EQ(end.out, "b''\nb''\nb''\n") << end.err;
  EXPECT_EQ(end.evidence.refused_connections, 3u);
}

}  // namespace
}  // namespace ratchet::sandbox
