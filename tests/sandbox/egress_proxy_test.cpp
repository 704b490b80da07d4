// The proxy with real sockets: an origin of the test's own on loopback, and the sandbox's side as a double.

#include <arpa/inet.h>
#include <condition_variable>
#include <future>
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gmock/gmock.h>

#include "runtime/limits.hpp"
#include "sandbox/egress/proxy.hpp"

namespace ratchet::sandbox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// What the proxy says to a sandbox.
class FakeLink final : public EgressLink {
 public:
  void send(ConnectionId connection, std::string bytes) override {
    change([&] { sent_[connection] += bytes; });
  }

  void grant(ConnectionId, std::uint32_t bytes) override {
    change([&] { granted_ += bytes; });
  }

  void close(ConnectionId connection, bool broken) override {
    change([&] {
      closed_[connection] = true;
      broken_[connection] = broken;
    });
  }

  bool is_broken(ConnectionId connection) {
    const std::lock_guard lock(mutex_);
    return broken_[connection];
  }

  std::string wait_for_end(ConnectionId connection) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_[connection]; });
    return sent_[connection];
  }

  std::string wait_for(ConnectionId connection, std::size_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sent_[connection].size() >= bytes; });
    return sent_[connection];
  }

  void wait_for_grant(std::size_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return granted_ >= bytes; });
  }

 private:
  template <class Change>
  void change(Change change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ConnectionId, std::string> sent_;
  std::map<ConnectionId, bool> closed_, broken_;
  std::size_t granted_ = 0;
};

/// Takes one connection at a time, by hand.
class Origin {
 public:
  Origin() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &bytes);
    port = ntohs(address.sin_port);
  }

  Fd accept() { return Fd(::accept(listener_.get(), nullptr, nullptr)); }

  static std::string read_until(const Fd& socket, std::string_view end) {
    std::string got;
    char c;
    while (!got.ends_with(end) && ::read(socket.get(), &c, 1) == 1)
      got += c;
    return got;
  }

  static std::string read_all(const Fd& socket) {
    std::string got;
    char c;
    while (::read(socket.get(), &c, 1) == 1)
      got += c;
    return got;
  }

  static void write(const Fd& socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto wrote = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(wrote, 0);
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
  }

  std::uint16_t port = 0;

 private:
  Fd listener_;
};

class Proxy : public ::testing::Test {
 protected:
  Proxy() {
    allowed = "api.example:" + std::to_string(origin.port);
    start({allowed});
  }

  /// All names lead to loopback; those in `inside` may.
  void start(
      std::vector<std::string> inside,
      std::function<bool(const sockaddr&)> may_dial = [](const sockaddr&) { return true; }) {
    DialRules rules;
    rules.private_hosts = std::move(inside);
    rules.may_dial = std::move(may_dial);
    rules.resolver = [this](const std::string& host, std::uint16_t port) {
      {
        const std::lock_guard lock(mutex_);
        resolved.push_back(host);
      }
      return resolve("127.0.0.1", port);
    };
    proxy = std::make_unique<EgressProxy>(std::move(rules));
    proxy->grant(1, {allowed, "localhost:" + std::to_string(origin.port)}, link);
  }

  /// What it answers to a request that goes nowhere.
  std::string refused(std::string_view request) {
    const auto id = ++last_;
    proxy->opened(1, id);
    proxy->data(1, id, request);
    return link->wait_for_end(id);
  }

  SandboxEvidence evidence() {
    std::promise<SandboxEvidence> told;
    proxy->take_evidence(1, [&](SandboxEvidence evidence) { told.set_value(std::move(evidence)); });
    return told.get_future().get();
  }

  Origin origin;
  std::string allowed;
  std::shared_ptr<FakeLink> link = std::make_shared<FakeLink>();
  std::mutex mutex_;
  std::vector<std::string> resolved;
  ConnectionId last_ = 0;
  std::unique_ptr<EgressProxy> proxy;
};

TEST_F(Proxy, ARequestReachesItsOriginAndTheAnswerComesBack) {
  proxy->opened(1, 1);
  proxy->data(1, 1, "POST http://" + allowed + "/x HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel");
  const Fd there = origin.accept();
  EXPECT_THAT(Origin::read_until(there, "\r\n\r\n"), StartsWith("POST /x HTTP/1.1\r\nHost: " + allowed));
  proxy->data(1, 1, "loGET http://evil.example/ HTTP/1.1\r\n\r\n");
  proxy->closed(1, 1, false);
  EXPECT_EQ(Origin::read_all(there), "hello") << "a second request goes nowhere";
  Origin::write(there, "HTTP/1.1 200 OK\r\n\r\nfine");
  ::shutdown(there.get(), SHUT_RDWR);
  EXPECT_THAT(link->wait_for_end(1), HasSubstr("fine"));
}

TEST_F(Proxy, ATunnelCarriesWhateverIsSaid) {
  proxy->opened(1, 1);
  proxy->data(1, 1, "CONNECT " + allowed + " HTTP/1.1\r\n\r\n\x16\x03");
  const Fd there = origin.accept();
  EXPECT_EQ(Origin::read_until(there, "\x03"), "\x16\x03");
  const std::string connected = "HTTP/1.1 200 Connected\r\n\r\n";
  EXPECT_EQ(link->wait_for(1, connected.size()), connected);
  Origin::write(there, "ok");
  EXPECT_EQ(link->wait_for(1, connected.size() + 2), connected + "ok");
  proxy->closed(1, 1, false);
  EXPECT_EQ(Origin::read_all(there), "");
}

TEST_F(Proxy, WhatIsNotListedIsRefusedAndNeverResolved) {
  EXPECT_THAT(refused("CONNECT evil.example:443 HTTP/1.1\r\n\r\n"),
              testing::AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("blocked_by_policy")));
  EXPECT_THAT(refused("CONNECT api.example:443 HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403"))
      << "another port";
  EXPECT_THAT(refused("CONNECT 127.0.0.1:" + std::to_string(origin.port) + " HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 403"))
      << "the address of a listed name is not listed";
  EXPECT_THAT(refused("GET http://secret-data.evil.example/ HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_TRUE(resolved.empty());
  const auto seen = evidence();
  EXPECT_EQ(seen.refused_connections, 4u);
  EXPECT_EQ(seen.refused_hosts.front(), "evil.example:443");
  EXPECT_EQ(evidence(), SandboxEvidence()) << "told once";
}

TEST_F(Proxy, AListedNameThatLeadsInsideIsRefused) {
  start({});
  EXPECT_THAT(refused("CONNECT " + allowed + " HTTP/1.1\r\n\r\n"),
              testing::AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("not to be reached")));
  EXPECT_THAT(resolved, ElementsAre("api.example")) << "once";
  EXPECT_THAT(evidence().refused_hosts, ElementsAre(allowed));
}

TEST_F(Proxy, TheServersOwnAddressIsNeverDialled) {
  start({allowed}, [](const sockaddr&) { return false; });
  EXPECT_THAT(refused("CONNECT " + allowed + " HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403"));
}

TEST_F(Proxy, AHeadWhoseRestDoesNotComeIsOverAtOnce) {
  proxy->opened(1, 1);
  proxy->data(1, 1, "GET http://" + allowed);
  proxy->closed(1, 1, false);
  EXPECT_EQ(link->wait_for_end(1), "");
  EXPECT_FALSE(link->is_broken(1)) << "only when its time is over";
}

TEST_F(Proxy, AHeadThatDoesNotEndIsCutOff) {
  EXPECT_THAT(refused("GET http://" + allowed +
                      "/ HTTP/1.1\r\nX: " + std::string(limits::egress_head_bytes_max, 'x')),
              StartsWith("HTTP/1.1 431"));
}

TEST_F(Proxy, ASandboxThatDoesNotReadHoldsUpNobody) {
  proxy->opened(1, 1);
  proxy->data(1, 1, "CONNECT " + allowed + " HTTP/1.1\r\n\r\n");
  const Fd slow = origin.accept();
  const std::size_t window = limits::egress_window_bytes;
  std::thread writer([&] {
    const std::string much(64 << 20, 'x');
    (void)::send(slow.get(), much.data(), much.size(), MSG_NOSIGNAL);  // ends when the proxy hangs up
  });
  EXPECT_EQ(link->wait_for(1, window).size(), window) << "not a byte more than there is credit for";
  proxy->opened(1, 2);
  proxy->data(1, 2, "CONNECT " + allowed + " HTTP/1.1\r\n\r\n");
  const Fd quick = origin.accept();
  Origin::write(quick, "hello");
  EXPECT_THAT(link->wait_for(2, 31), HasSubstr("hello"));
  EXPECT_EQ(link->wait_for(1, window).size(), window);
  proxy->credit(1, 1, 7);
  EXPECT_EQ(link->wait_for(1, window + 7).size(), window + 7);
  proxy->closed(1, 1, true);
  writer.join();
}

TEST_F(Proxy, ABodyThatBreaksWhileTheOriginAnswersIsCutOffAndNothingIsSaidBeyondTheCredit) {
  proxy->opened(1, 1);
  proxy->data(1, 1, "POST http://" + allowed + "/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  const Fd there = origin.accept();
  const std::size_t window = limits::egress_window_bytes;
  std::thread writer([&] {
    const std::string much(64 << 20, 'x');
    (void)::send(there.get(), much.data(), much.size(), MSG_NOSIGNAL);  // ends when the proxy hangs up
  });
  link->wait_for(1, window);
  proxy->data(1, 1, "no chunk\r\n");
  EXPECT_EQ(link->wait_for_end(1).size(), window);
  writer.join();
}

TEST_F(Proxy, MoreConnectionsThanABoundAreNotTaken) {
  for (ConnectionId id = 1; id <= limits::egress_connections_max; ++id)
    proxy->opened(1, id);
  proxy->opened(1, 1'000);
  EXPECT_EQ(link->wait_for_end(1'000), "");
}

TEST_F(Proxy, ASandboxThatIsForgottenLeavesNothing) {
  proxy->opened(1, 1);
  proxy->data(1, 1, "CONNECT " + allowed + " HTTP/1.1\r\n\r\n");
  const Fd there = origin.accept();
  proxy->forget(1);
  EXPECT_EQ(Origin::read_all(there), "") << "its connection is closed";
}

TEST_F(Proxy, LookUpsOfOneSandboxHoldUpNobodyElse) {
  std::promise<void> go;
  DialRules rules;
  rules.private_hosts = {allowed};
  rules.resolver = [gone = go.get_future().share()](const std::string& host, std::uint16_t port) {
    if (host == "slow.example") gone.wait();
    return resolve("127.0.0.1", port);
  };
  proxy = std::make_unique<EgressProxy>(std::move(rules));
  proxy->grant(1, {"slow.example:80"}, link);
  for (ConnectionId id = 1; id <= limits::egress_connections_max; ++id) {
    proxy->opened(1, id);
    proxy->data(1, id, "CONNECT slow.example:80 HTTP/1.1\r\n\r\n");
  }
  const auto other = std::make_shared<FakeLink>();
  proxy->grant(2, {allowed}, other);
  proxy->opened(2, 1);
  proxy->data(2, 1, "CONNECT " + allowed + " HTTP/1.1\r\n\r\n");
  EXPECT_THAT(other->wait_for(1, 12), StartsWith("HTTP/1.1 200"));
  go.set_value();
}

/// What was sent before the end of a command is in its evidence, also if nobody has looked at it yet.
TEST_F(Proxy, EvidenceHasAllThatWasSaidBefore) {
  for (ConnectionId id = 1; id <= 20; ++id) {
    proxy->opened(1, id);
    proxy->data(1, id, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
  }
  EXPECT_EQ(evidence().refused_connections, 20u);
}

}  // namespace
}  // namespace ratchet::sandbox
