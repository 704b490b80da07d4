// The connector: what it refuses, what it sends, and what it says of a request that went wrong.

#include <future>

#include <gmock/gmock.h>

#include "http/client/http_connector.hpp"
#include "tests/http/client_recorder.hpp"

namespace ratchet {
namespace {

using fakes::ByteServer;
using testing::HasSubstr;
using tests::reply_with_length;
using Kind = ConnectorOutcome::Kind;

ConnectorCall call_to(const ByteServer& server, std::string method = "POST") {
  ConnectorCall call;
  call.method = std::move(method);
  call.url = server.url("/send?a=1");
  call.network_allow = {server.host_port()};
  call.timeout_ms = 60'000;
  if (call.method == "POST") call.body = R"({"to":"x"})";
  return call;
}

ConnectorOutcome outcome(Connector& connector, ConnectorCall call) {
  std::promise<ConnectorOutcome> promise;
  auto future = promise.get_future();
  connector.start(std::move(call), [&](ConnectorOutcome done) { promise.set_value(std::move(done)); });
  if (future.wait_for(std::chrono::minutes(1)) != std::future_status::ready) {
    ADD_FAILURE() << "never answered";
    std::abort();
  }
  return future.get();
}

class ConnectorTest : public testing::Test {
 protected:
  Transport transport;
  CurlConnector connector{transport};
};

TEST_F(ConnectorTest, DeliversTheAnswerWhateverItsStatus) {
  ByteServer server({ByteServer::answering(reply_with_length("no such user", "404 Not Found"))});
  auto call = call_to(server);
  call.headers = {{"Idempotency-Key", "run/1/c1"}, {"Content-Type", "application/json"}};
  const auto done = outcome(connector, std::move(call));
  EXPECT_EQ(done.kind, Kind::answered) << done.text;
  EXPECT_EQ(done.status, 404);
  EXPECT_EQ(done.body, "no such user");
  EXPECT_THAT(server.requests().at(0).head, HasSubstr("POST /send?a=1 HTTP/1.1\r\n"));
  EXPECT_THAT(server.requests().at(0).head, HasSubstr("\r\nIdempotency-Key: run/1/c1\r\n"));
  EXPECT_EQ(server.requests().at(0).body, R"({"to":"x"})");
}

TEST_F(ConnectorTest, RefusesWhatIsNotOnTheAllowList) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  const std::string port = std::to_string(server.port());
  const std::vector<std::string> urls = {"http://localhost:" + port + "/",
                                         "http://127.0.0.1/",
                                         "http://127.0.0.1:" + port + "@example.com/",
                                         "http://user:secret@127.0.0.1:" + port + "/",
                                         "https://example.com:" + port + "/",
                                         "http://127.0.0.1.:" + port + "/",
                                         "http://2130706434:" + port + "/",
                                         "ftp://127.0.0.1:" + port + "/",
                                         "file:///etc/passwd",
                                         "//127.0.0.1:" + port + "/",
                                         "not a url",
                                         ""};
  for (const auto& url : urls) {
    auto call = call_to(server);
    call.url = url;
    const auto done = outcome(connector, std::move(call));
    EXPECT_EQ(done.kind, Kind::not_sent) << url;
    EXPECT_FALSE(done.text.empty()) << url;
    EXPECT_THAT(done.text, testing::Not(HasSubstr("secret"))) << url;
  }
  EXPECT_EQ(server.connections(), 0u);
}

TEST_F(ConnectorTest, ComparesHostsWithoutCaseAndPortsWithTheSchemesDefault) {
  auto call = ConnectorCall{};
  call.method = "GET";
  call.url = "HTTPS://No-Such-Host.Invalid/x";
  call.network_allow = {"no-such-host.invalid:443"};
  EXPECT_THAT(outcome(connector, call).text, HasSubstr("resolve"));
  call.network_allow = {"no-such-host.invalid:80", "such-host.invalid:443", "*", "no-such-host.invalid"};
  EXPECT_THAT(outcome(connector, call).text,
              HasSubstr("no-such-host.invalid:443 is not in the tool's network"));
}

TEST_F(ConnectorTest, RefusesHeadersThatChangeHowTheRequestIsFramed) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"Transfer-Encoding", "chunked"},
                                                        {"content-length", "3"},
                                                        {"HOST", "other"},
                                                        {"X-A", "1\r\nHost: b"}}) {
    auto call = call_to(server);
    call.headers = {{name, value}};
    EXPECT_EQ(outcome(connector, std::move(call)).kind, Kind::not_sent) << name;
  }
  EXPECT_EQ(server.connections(), 0u);
}

TEST_F(ConnectorTest, NeverDialsTheServerItself) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  ASSERT_TRUE(transport.forbid(server.host_port()));
  auto call = call_to(server);
  const std::string by_name = "localhost:" + std::to_string(server.port());
  call.url = "http://" + by_name + "/";
  call.network_allow = {by_name};
  const auto done = outcome(connector, std::move(call));
  EXPECT_EQ(done.kind, Kind::not_sent);
  EXPECT_EQ(server.connections(), 0u);
}

// Names below `localhost` are taken for the loopback by libcurl itself, so no name server is asked.
ConnectorCall call_by_name(const ByteServer& server, const std::string& host) {
  ConnectorCall call = call_to(server, "GET");
  const std::string by_name = host + ":" + std::to_string(server.port());
  call.url = "http://" + by_name + "/";
  call.network_allow = {by_name};
  return call;
}

TEST_F(ConnectorTest, ReachesAPrivateAddressOnlyWhereItIsListedItself) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  const auto refused = outcome(connector, call_by_name(server, "shop.localhost"));
  EXPECT_EQ(refused.kind, Kind::not_sent);
  EXPECT_THAT(refused.text,
              testing::ContainsRegex("leads to (127.0.0.1|::1), an address of the kind loopback"));
  EXPECT_EQ(server.connections(), 0u);
  for (const char* host : {"127.0.0.1", "localhost"})
    EXPECT_EQ(outcome(connector, call_by_name(server, host)).kind, Kind::answered) << host;
}

TEST_F(ConnectorTest, LetsTheOperatorSayWhichNamesArePrivate) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  CurlConnector open(transport, {"shop.localhost:" + std::to_string(server.port()), "pay.localhost:1"});
  EXPECT_EQ(outcome(open, call_by_name(server, "shop.localhost")).kind, Kind::answered);
  EXPECT_EQ(outcome(open, call_by_name(server, "pay.localhost")).kind, Kind::not_sent);
  auto trusted = call_by_name(server, "pay.localhost");
  trusted.trusted = true;
  EXPECT_EQ(outcome(open, std::move(trusted)).kind, Kind::answered);
}

TEST_F(ConnectorTest, DoesNotFollowAnothersConnectionToWhereItMayNotGo) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  auto trusted = call_by_name(server, "shop.localhost");
  trusted.trusted = true;
  ASSERT_EQ(outcome(connector, trusted).kind, Kind::answered);
  ASSERT_EQ(outcome(connector, trusted).kind, Kind::answered);
  ASSERT_EQ(server.connections(), 1u);  // it is kept and used again
  const auto refused = outcome(connector, call_by_name(server, "shop.localhost"));
  EXPECT_EQ(refused.kind, Kind::not_sent);
  EXPECT_THAT(refused.text, HasSubstr("of the kind loopback"));
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(ConnectorTest, KnowsThatARequestWasNotSentWhereNobodyListens) {
  auto server = std::make_unique<ByteServer>(std::vector<ByteServer::Script>{{}});
  const auto call = call_to(*server);
  server = nullptr;
  const auto done = outcome(connector, call);
  EXPECT_EQ(done.kind, Kind::not_sent);
  EXPECT_THAT(done.text, HasSubstr("127.0.0.1"));
}

TEST_F(ConnectorTest, DoesNotKnowWhatBecameOfARequestThatLeft) {
  const std::string half = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
  const std::pair<const char*, ByteServer::Script> table[] = {
      {"reset", {ByteServer::receive(), ByteServer::reset()}},
      {"reset before the body was read", {ByteServer::receive_head(), ByteServer::reset()}},
      {"closed without an answer", {ByteServer::receive(), ByteServer::close()}},
      {"cut", {ByteServer::receive(), ByteServer::send(half), ByteServer::close()}},
      {"cut headers", {ByteServer::receive(), ByteServer::send("HTTP/1.1 200 OK\r\nX"), ByteServer::close()}},
      {"garbage", {ByteServer::receive(), ByteServer::send("garbage\r\n\r\n"), ByteServer::close()}},
      {"too long", ByteServer::answering(reply_with_length(std::string(101, 'x')))},
  };
  for (const auto& [what, script] : table) {
    ByteServer server({script});
    auto call = call_to(server);
    call.reply_bytes_max = 100;
    const auto done = outcome(connector, std::move(call));
    EXPECT_EQ(done.kind, Kind::unknown) << what;
    EXPECT_FALSE(done.text.empty()) << what;
    EXPECT_EQ(done.body, "") << what;
    EXPECT_EQ(server.requests().size(), 1u) << what;
  }
}

TEST_F(ConnectorTest, DoesNotKnowWhatBecameOfARequestThatTimedOut) {
  ByteServer server({{ByteServer::receive()}});
  auto call = call_to(server);
  call.timeout_ms = 30;
  const auto done = outcome(connector, std::move(call));
  EXPECT_EQ(done.kind, Kind::unknown);
  EXPECT_THAT(done.text, HasSubstr("30 ms"));
  EXPECT_GE(done.latency_ms, 30);
}

TEST_F(ConnectorTest, SendsOnceWhatMustNotBeSentTwice) {
  // The pooled connection reads the second request and dies: only a call with a key is sent again.
  const ByteServer::Script dies = {ByteServer::receive(),
                                   ByteServer::send(reply_with_length("one")),
                                   ByteServer::receive(),
                                   ByteServer::reset()};
  for (const bool with_key : {false, true}) {
    ByteServer server({dies, ByteServer::answering(reply_with_length("again"))});
    auto warm = call_to(server, "GET");
    EXPECT_EQ(outcome(connector, std::move(warm)).body, "one");
    auto call = call_to(server);
    if (with_key) call.headers = {{"idempotency-key", "k"}};
    const auto done = outcome(connector, std::move(call));
    EXPECT_EQ(done.kind, Kind::answered) << done.text;
    EXPECT_EQ(done.body, "again");
    // With a key: on the dying connection, then again. Without: at once on one of its own.
    EXPECT_EQ(server.requests().size(), with_key ? 3u : 2u);
  }
}

TEST_F(ConnectorTest, ClosesTheConnectionOfACancelledCall) {
  ByteServer server({{ByteServer::receive()}});
  const auto ticket = connector.start(call_to(server), [](ConnectorOutcome) { ADD_FAILURE(); });
  ASSERT_TRUE(server.await_requests(1));
  connector.cancel(ticket);
  EXPECT_TRUE(server.await_closed_by_client(1));
}

}  // namespace
}  // namespace ratchet
