// The transport against a server that sends exactly what a script says.

#include <thread>

#include <gmock/gmock.h>

#include "http/client/transport.hpp"
#include "tests/http/client_recorder.hpp"

namespace ratchet {
namespace {

using fakes::ByteServer;
using tests::body_of;
using tests::post;
using tests::Record;
using tests::RecordingSink;
using tests::reply_with_length;
using tests::start;
using tests::Started;
using Kind = HttpEnd::Kind;
using testing::HasSubstr;
using testing::Not;

TEST(Transport, DeliversStatusHeadersAndBody) {
  ByteServer server({ByteServer::answering(
      "HTTP/1.1 429 Too Many\r\nRetry-After:  7 \r\nX-A: 1\r\nContent-Length: 5\r\n\r\nhello")});
  Transport transport;
  const auto seen = start(transport, post(server.url())).record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::complete) << seen.end->text;
  EXPECT_EQ(seen.head.status, 429);
  EXPECT_EQ(seen.head.header("retry-after"), "7");
  EXPECT_EQ(seen.head.header("x-a"), "1");
  EXPECT_EQ(seen.body, "hello");
}

TEST(Transport, SendsTheBodyOfPiecesWithItsLengthAndWithoutExpect) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  Transport transport;
  auto request = post(server.url("/v1/messages"));
  const std::string large(200'000, 'x');
  request.body = body_of({"{\"a\":", "", large, "}"});
  request.headers = {{"X-Key", "secret"}, {"X-Empty", ""}};
  EXPECT_EQ(start(transport, std::move(request)).record->await_end().end->kind, Kind::complete);
  const auto seen = server.requests().at(0);
  EXPECT_THAT(seen.head, HasSubstr("POST /v1/messages HTTP/1.1\r\n"));
  EXPECT_THAT(seen.head, HasSubstr("\r\nContent-Length: 200006\r\n"));
  EXPECT_THAT(seen.head, HasSubstr("\r\nUser-Agent: ratchet\r\n"));
  EXPECT_THAT(seen.head, HasSubstr("\r\nX-Key: secret\r\n"));
  EXPECT_THAT(seen.head, HasSubstr("\r\nX-Empty:\r\n"));
  EXPECT_THAT(seen.head, Not(HasSubstr("Expect")));
  EXPECT_EQ(seen.body, "{\"a\":" + large + "}");
}

TEST(Transport, UsesEachMethodWithAndWithoutABody) {
  ByteServer server({ByteServer::answering("HTTP/1.1 204 No Content\r\n\r\n")});
  Transport transport;
  std::size_t count = 0;
  for (const std::string method : {"GET", "HEAD", "DELETE", "POST", "PUT", "PATCH", "GET", "DELETE"}) {
    HttpRequest request;
    request.method = method;
    request.url = server.url("/x");
    request.repeatable = true;
    if (count == 7) request.body = body_of({"why"});
    const auto seen = start(transport, std::move(request)).record->await_end();
    EXPECT_EQ(seen.end->kind, Kind::complete) << method << ": " << seen.end->text;
    EXPECT_EQ(seen.head.status, 204) << method;
    EXPECT_THAT(server.requests().at(count).head, testing::StartsWith(method + " /x HTTP/1.1\r\n"));
    EXPECT_EQ(server.requests().at(count).body, count == 7 ? "why" : "");
    ++count;
  }
}

TEST(Transport, SendsARepeatableCallAgainWhenThePooledConnectionIsDead) {
  // The second request on the first connection is read and answered by a reset: no byte of a reply.
  ByteServer server({{ByteServer::receive(),
                      ByteServer::send(reply_with_length("one")),
                      ByteServer::receive(),
                      ByteServer::reset()},
                     ByteServer::answering(reply_with_length("two"))});
  Transport transport;
  EXPECT_EQ(start(transport, post(server.url())).record->await_end().body, "one");
  const std::string large(100'000, 'y');
  const auto seen = start(transport, post(server.url(), large)).record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::complete) << seen.end->text;
  EXPECT_EQ(seen.body, "two");
  ASSERT_EQ(server.requests().size(), 3u);
  EXPECT_EQ(server.requests()[2].body, large);
}

TEST(Transport, NeverSendsACallTwiceThatMustNotBeRepeated) {
  ByteServer server({{ByteServer::receive(),
                      ByteServer::send(reply_with_length("one")),
                      ByteServer::receive(),
                      ByteServer::reset()},
                     {ByteServer::receive(), ByteServer::reset()}});
  Transport transport;
  EXPECT_EQ(start(transport, post(server.url())).record->await_end().body, "one");
  auto request = post(server.url());
  request.repeatable = false;
  const auto seen = start(transport, std::move(request)).record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::broken);
  EXPECT_TRUE(seen.end->may_have_left);
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST(Transport, SaysThatNothingLeftWhenNobodyListens) {
  std::string url;
  {
    const ByteServer gone({ByteServer::Script{}});
    url = gone.url();
  }
  Transport transport;
  const auto seen = start(transport, post(url)).record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::unreachable);
  EXPECT_FALSE(seen.end->may_have_left);
  EXPECT_THAT(seen.end->text, HasSubstr("127.0.0.1"));
}

TEST(Transport, SaysThatNothingLeftWhenTheNameIsUnknown) {
  Transport transport;
  const auto seen = start(transport, post("http://no-such-host.invalid/")).record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::unreachable);
  EXPECT_FALSE(seen.end->may_have_left);
}

TEST(Transport, SaysThatTheRequestMayHaveLeftOnceItWasSent) {
  ByteServer server({{ByteServer::receive(), ByteServer::reset()}});
  Transport transport;
  const auto seen = start(transport, post(server.url())).record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::broken);
  EXPECT_TRUE(seen.end->may_have_left);
}

TEST(Transport, ReportsAResetInTheMiddleOfAReply) {
  const auto go = ByteServer::signal();
  ByteServer server({{ByteServer::receive(),
                      ByteServer::send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"),
                      ByteServer::wait(go),
                      ByteServer::reset()}});
  Transport transport;
  const auto call = start(transport, post(server.url()));
  call.record->await_bytes(4);
  server.raise(go);
  const auto seen = call.record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::broken);
  EXPECT_EQ(seen.body, "half");
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(Transport, ReportsAReplyThatWasCut) {
  for (const std::string reply : {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
                                  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
                                  "HTTP/1.1 200 OK\r\nContent-Le"}) {
    ByteServer server({{ByteServer::receive(), ByteServer::send(reply), ByteServer::half_close()}});
    Transport transport;
    const auto seen = start(transport, post(server.url())).record->await_end();
    EXPECT_EQ(seen.end->kind, Kind::broken) << reply;
    EXPECT_TRUE(seen.end->may_have_left);
  }
}

TEST(Transport, TakesTheEndOfTheStreamAsTheEndOfAReplyWithoutALength) {
  ByteServer server(
      {{ByteServer::receive(), ByteServer::send("HTTP/1.1 200 OK\r\n\r\nall"), ByteServer::close()}});
  Transport transport;
  const auto seen = start(transport, post(server.url())).record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::complete) << seen.end->text;
  EXPECT_EQ(seen.body, "all");
}

TEST(Transport, ReportsWhatIsNotHttp) {
  for (const std::string reply : {"SSH-2.0-OpenSSH_9.2\r\n",
                                  "\0\0\0\x2a",
                                  "HTTP/1.1 200 OK\r\n"
                                  "Transfer-Encoding: chunked\r\n\r\nzzz\r\n"}) {
    ByteServer server({{ByteServer::receive(), ByteServer::send(reply), ByteServer::close()}});
    Transport transport;
    EXPECT_EQ(start(transport, post(server.url())).record->await_end().end->kind, Kind::broken) << reply;
  }
}

TEST(Transport, PassesOverInterimReplies) {
  ByteServer server(
      {ByteServer::answering("HTTP/1.1 100 Continue\r\nX-A: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" +
                             reply_with_length("ok", "201 Created"))});
  Transport transport;
  const auto seen = start(transport, post(server.url())).record->await_end();
  EXPECT_EQ(seen.head.status, 201);
  EXPECT_EQ(seen.head.header("x-a"), "");
}

TEST(Transport, DoesNotFollowRedirects) {
  ByteServer server(
      {ByteServer::answering("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")});
  Transport transport;
  EXPECT_EQ(start(transport, post(server.url())).record->await_end().head.status, 302);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(Transport, IgnoresTheProxiesOfTheEnvironment) {
  ByteServer server({ByteServer::answering(reply_with_length("direct"))});
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  ::setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
  Transport transport;
  const auto seen = start(transport, post(server.url())).record->await_end();
  ::unsetenv("http_proxy");
  ::unsetenv("ALL_PROXY");
  EXPECT_EQ(seen.body, "direct") << seen.end->text;
}

TEST(Transport, BoundsTheBodyOfAReply) {
  ByteServer server({ByteServer::answering(reply_with_length(std::string(1'000, 'z')))});
  Transport transport;
  auto request = post(server.url());
  request.reply_bytes_max = 999;
  const auto seen = start(transport, std::move(request)).record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::too_large);
  EXPECT_TRUE(seen.end->may_have_left);
  EXPECT_THAT(seen.end->text, HasSubstr("999"));
  request = post(server.url());
  request.reply_bytes_max = 1'000;
  EXPECT_EQ(start(transport, std::move(request)).record->await_end().end->kind, Kind::complete);
}

TEST(Transport, BoundsTheHeadersOfAReply) {
  std::string reply = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 2'000; ++i)
    reply += "X-Padding: " + std::string(40, 'p') + "\r\n";
  ByteServer server({{ByteServer::receive(), ByteServer::send(reply)}});
  Transport transport;
  EXPECT_EQ(start(transport, post(server.url())).record->await_end().end->kind, Kind::too_large);
}

TEST(Transport, RefusesWhatCannotBeARequest) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  Transport transport;
  const auto refused = [&](HttpRequest request) {
    const auto seen = start(transport, std::move(request)).record->await_end();
    EXPECT_EQ(seen.end->kind, Kind::refused) << seen.end->text;
    EXPECT_FALSE(seen.end->may_have_left);
    return seen.end->text;
  };
  refused(post("file:///etc/passwd"));
  refused(post("gopher://127.0.0.1/"));
  refused(post("http://127.0.0.1:99999/"));
  refused(post(""));
  auto request = post(server.url());
  request.headers = {{"X-A", "1\r\nX-B: 2"}};
  EXPECT_THAT(refused(std::move(request)), HasSubstr("X-A"));
  request = post(server.url());
  request.headers = {{"X-A: 1\r\nX-B", "2"}};
  refused(std::move(request));
  request = post(server.url());
  request.method = "GET / HTTP/1.1\r\nX-B: 2\r\n\r\nGET";
  refused(std::move(request));
  EXPECT_EQ(server.connections(), 0u);
}

TEST(Transport, TellsARefusalOfItsUserOnItsOwnThread) {
  Transport transport;
  auto record = std::make_shared<Record>();
  transport.refuse("not on the list", std::make_unique<RecordingSink>(record));
  const auto seen = record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::refused);
  EXPECT_EQ(seen.end->text, "not on the list");
  EXPECT_FALSE(seen.end->may_have_left);
}

TEST(Transport, EndsACallWhoseFirstByteDoesNotCome) {
  // Neither silence nor bare headers are a first byte.
  for (const std::string start_of_reply : {"", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    ByteServer server({{ByteServer::receive(), ByteServer::send(start_of_reply)}});
    Transport transport;
    auto request = post(server.url());
    request.first_byte_timeout_ms = 30;
    const auto seen = start(transport, std::move(request)).record->await_end();
    EXPECT_EQ(seen.end->kind, Kind::timeout);
    EXPECT_TRUE(seen.end->may_have_left);
    EXPECT_THAT(seen.end->text, HasSubstr("30 ms"));
    EXPECT_TRUE(server.await_closed_by_client(1));
  }
}

TEST(Transport, EndsAllCallsTogetherWhereNoConnectionComesAbout) {
  // Calls over TLS wait for the first one's connection, which might be shared: they do not wait one after the
  // other.
  ByteServer server({ByteServer::Script{}});
  TransportOptions options;
  options.connect_timeout_ms = 30;
  Transport transport(options);
  std::vector<Started> calls;
  for (int i = 0; i < 20; ++i)
    calls.push_back(start(transport, post("https://" + server.host_port() + "/")));
  for (const auto& call : calls) {
    const auto seen = call.record->await_end();
    EXPECT_EQ(seen.end->kind, Kind::unreachable);
    EXPECT_FALSE(seen.end->may_have_left);
  }
  EXPECT_LT(server.connections(), 20u);
}

TEST(Transport, EndsACallThatFallsSilent) {
  ByteServer server(
      {{ByteServer::receive(), ByteServer::send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")}});
  TransportOptions options;
  options.idle_timeout_ms = 30;
  Transport transport(options);
  auto request = post(server.url());
  request.first_byte_timeout_ms = 60'000;
  const auto seen = start(transport, std::move(request)).record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::timeout);
  EXPECT_EQ(seen.body, "half");
  EXPECT_TRUE(server.await_closed_by_client(1));
}

TEST(Transport, BoundsTheWholeCallEvenIfBytesKeepComing) {
  ByteServer server(
      {{ByteServer::receive(), ByteServer::send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")}});
  Transport transport;
  auto request = post(server.url());
  request.total_timeout_ms = 50;
  const auto seen = start(transport, std::move(request)).record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::timeout);
  EXPECT_THAT(seen.end->text, HasSubstr("50 ms"));
}

TEST(Transport, ClosesTheConnectionOfACancelledCall) {
  ByteServer server({{ByteServer::receive()}});
  Transport transport;
  const auto call = start(transport, post(server.url()));
  ASSERT_TRUE(server.await_requests(1));
  transport.cancel(call.ticket);
  EXPECT_TRUE(server.await_closed_by_client(1));
  EXPECT_EQ(call.record->await_destroyed().ends, 0u);
}

TEST(Transport, CancelsACallThatHasNotStarted) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  Transport transport;
  for (int i = 0; i < 100; ++i) {
    const auto call = start(transport, post(server.url()));
    transport.cancel(call.ticket);
    // The callback may have begun before the cancel, never after it.
    const auto ends = call.record->await([](const Record::Seen&) { return true; }).ends;
    EXPECT_EQ(call.record->await_destroyed().ends, ends);
    transport.cancel(call.ticket);
  }
}

/// Cancels its own call from a callback, and starts another.
class SelfCancellingSink final : public HttpSink {
 public:
  SelfCancellingSink(Transport& transport, std::shared_ptr<Record> record, std::string url)
      : transport_(transport), record_(std::move(record)), url_(std::move(url)) {}

  Next on_bytes(std::string_view) override {
    transport_.cancel(ticket);
    transport_.start(post(url_), std::make_unique<RecordingSink>(record_));
    return Next::more;
  }

  void on_end(const HttpEnd&) override { ADD_FAILURE() << "called back after its cancel"; }

  Transport::Ticket ticket = 0;

 private:
  Transport& transport_;
  std::shared_ptr<Record> record_;
  std::string url_;
};

TEST(Transport, LetsACallbackCancelItsOwnCallAndStartAnother) {
  const auto go = ByteServer::signal();
  ByteServer server({{ByteServer::receive(),
                      ByteServer::wait(go),
                      ByteServer::send(reply_with_length("ok")),
                      ByteServer::again()}});
  Transport transport;
  auto record = std::make_shared<Record>();
  auto sink = std::make_unique<SelfCancellingSink>(transport, record, server.url());
  auto& ticket = sink->ticket;
  ticket = transport.start(post(server.url()), std::move(sink));
  server.raise(go);
  EXPECT_EQ(record->await_end().body, "ok");
}

TEST(Transport, EndsCallsWithoutACallbackWhenItIsDestroyed) {
  ByteServer server({{ByteServer::receive()}});
  std::shared_ptr<Record> record;
  {
    Transport transport;
    record = start(transport, post(server.url())).record;
    ASSERT_TRUE(server.await_requests(1));
  }
  const auto seen = record->await_destroyed();
  EXPECT_EQ(seen.ends, 0u);
  EXPECT_TRUE(server.await_closed_by_client(1));
}

TEST(Transport, TellsASettledReplyAtOnceAndKeepsItsConnection) {
  const auto go = ByteServer::signal(), gone = ByteServer::signal();
  ByteServer server({{ByteServer::receive(),
                      ByteServer::send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nDONE\r\n"),
                      ByteServer::wait(go),
                      ByteServer::send("4\r\nmore\r\n0\r\n\r\n"),
                      ByteServer::tell(gone),
                      ByteServer::receive(),
                      ByteServer::send(reply_with_length("next"))}});
  TransportOptions options;
  options.drain_ms = 60'000;
  Transport transport(options);
  const auto settled = start(transport, post(server.url()), "DONE");
  EXPECT_EQ(settled.record->await_end().end->kind, Kind::complete);
  server.raise(go);
  ASSERT_TRUE(server.await_signal(gone));  // the rest is in the client's socket: it is read before a new call
  EXPECT_EQ(start(transport, post(server.url())).record->await_end().body, "next");
  EXPECT_EQ(server.connections(), 1u);
  EXPECT_EQ(settled.record->await_end().body, "DONE");
}

TEST(Transport, ClosesTheConnectionOfASettledReplyThatDoesNotEnd) {
  ByteServer server(
      {{ByteServer::receive(), ByteServer::send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nDONE")}});
  TransportOptions options;
  options.drain_ms = 1;
  Transport transport(options);
  EXPECT_EQ(start(transport, post(server.url()), "DONE").record->await_end().end->kind, Kind::complete);
  EXPECT_TRUE(server.await_closed_by_client(1));
}

TEST(Transport, StopsAReplyThatIsNotWanted) {
  ByteServer server(
      {{ByteServer::receive(), ByteServer::send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nSTOP")}});
  Transport transport;
  const auto seen = start(transport, post(server.url()), {}, "STOP").record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::stopped);
  EXPECT_TRUE(server.await_closed_by_client(1));
}

TEST(Transport, PausesOnceForChunksThatArriveTogether) {
  std::string reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 100; ++i)
    reply += "4\r\nword\r\n";
  ByteServer server({ByteServer::answering(reply + "0\r\n\r\n")});
  Transport transport;
  const auto seen = start(transport, post(server.url())).record->await_end();
  EXPECT_EQ(seen.body.size(), 400u);
  // One send of 1 KB arrives in one read, or in few on a busy machine; never in a hundred.
  EXPECT_LE(seen.pauses, 10u);
  EXPECT_GE(seen.pauses, 1u);
}

TEST(Transport, NeverDialsAForbiddenAddressByAnyName) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  Transport transport;
  ASSERT_TRUE(transport.forbid(server.host_port()));
  const std::string port = std::to_string(server.port());
  for (const std::string host :
       {"127.0.0.1", "localhost", "0.0.0.0", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]"}) {
    const auto seen = start(transport, post("http://" + host + ":" + port + "/")).record->await_end();
    EXPECT_NE(seen.end->kind, Kind::complete) << host;
    EXPECT_FALSE(seen.end->may_have_left) << host;
  }
  EXPECT_EQ(server.connections(), 0u);
  EXPECT_EQ(transport.forbid("no port").error().code, ErrorCode::invalid_request);
}

}  // namespace
}  // namespace ratchet
