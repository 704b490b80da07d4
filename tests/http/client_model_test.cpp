// Model calls over the wire: what is sent, what comes back, and what can be done about a failure.

#include <gmock/gmock.h>

#include "http/client/model_client.hpp"
#include "tests/http/client_model_record.hpp"

namespace ratchet {
namespace {

using fakes::ByteServer;
using testing::HasSubstr;
using testing::Not;
using tests::body_of;
using tests::ModelRecord;
using tests::reply_with_length;

constexpr std::string_view secret = "sk-ant-0123456789abcdef";

class FixedClock final : public Clock {
 public:
  Timestamp now() override { return *parse_timestamp("2026-11-29T12:00:00Z"); }
};

class ModelClientTest : public testing::Test {
 protected:
  /// Built by each test once its server is known, so that the key is bound to it.
  CurlModelClient& client(const ByteServer& server) {
    transport.emplace(options);
    KeyRing keys;
    keys.add("sonnet", 0, {std::string(secret), server.url("")});
    return client_.emplace(*transport, scripted, clock, std::move(keys));
  }

  ModelCall call_to(const ByteServer& server, Protocol protocol = Protocol::anthropic) {
    ModelCall call;
    call.step = 1;
    call.model = "sonnet";
    call.endpoint.protocol = protocol;
    call.endpoint.base_url = server.url("");
    call.first_byte_timeout_ms = 60'000;
    call.body = body_of({"{\"model\":\"m\",", "\"stream\":true}"});
    return call;
  }

  ModelRecord::Seen outcome(ModelClient& client, ModelCall call) {
    ModelRecord record;
    client.start(std::move(call), record.on_delta(), record.on_done());
    return record.await_done();
  }

  /// As `client`, for one call to one script.
  ModelRecord::Seen outcome(ByteServer::Script script, Protocol protocol = Protocol::anthropic) {
    ByteServer server({std::move(script)});
    return outcome(client(server), call_to(server, protocol));
  }

  ~ModelClientTest() override { transport.reset(); }  // before what its calls borrow

  TransportOptions options;
  FixedClock clock;
  ScriptedClient scripted;
  std::optional<Transport> transport;

 private:
  std::optional<CurlModelClient> client_;
};

std::string event(std::string_view type, std::string_view rest) {
  return "event: " + std::string(type) + "\ndata: {\"type\":\"" + std::string(type) + "\"" +
         std::string(rest) + "}\n\n";
}

std::string text_delta(std::string_view text) {
  return event("content_block_delta",
               R"(,"index":0,"delta":{"type":"text_delta","text":")" + std::string(text) + "\"}");
}

const std::string opening =
    event("message_start",
          R"(,"message":{"id":"m","content":[],"usage":{"input_tokens":12,"output_tokens":1}})") +
    event("content_block_start", R"(,"index":0,"content_block":{"type":"text","text":""})");
const std::string ending =
    event("content_block_stop", R"(,"index":0)") +
    event("message_delta", R"(,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7})") +
    event("message_stop", "");

std::string chunk(const std::string& bytes) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return size + bytes + "\r\n";
}

const std::string stream_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string stream_end = "0\r\n\r\n";

TEST_F(ModelClientTest, SendsTheRequestWithItsKeyAndReadsTheStream) {
  ByteServer server({ByteServer::answering(stream_head + chunk(opening) + chunk(text_delta("Hello")) +
                                           chunk(text_delta(" world")) + chunk(ending) + stream_end)});
  auto seen = outcome(client(server), call_to(server));
  const auto reply = seen.reply();
  ASSERT_EQ(reply.content.size(), 1u);
  EXPECT_EQ(reply.content[0].text, "Hello world");
  EXPECT_EQ(reply.usage, (Usage{12, 0, 0, 7}));
  EXPECT_EQ(seen.text, "Hello world");
  EXPECT_GE(seen.outcome->latency_ms, seen.outcome->ttft_ms);
  const auto request = server.requests().at(0);
  EXPECT_THAT(request.head, HasSubstr("POST /v1/messages HTTP/1.1\r\n"));
  EXPECT_THAT(request.head, HasSubstr("\r\nauthorization: Bearer " + std::string(secret) + "\r\n"));
  EXPECT_THAT(request.head, HasSubstr("\r\nanthropic-version: "));
  EXPECT_THAT(request.head, HasSubstr("\r\ncontent-type: application/json\r\n"));
  EXPECT_EQ(request.body, "{\"model\":\"m\",\"stream\":true}");
}

TEST_F(ModelClientTest, SendsTheKeyTheWayTheProviderWantsIt) {
  ByteServer server({ByteServer::answering(reply_with_length("{}"))});
  auto call = call_to(server, Protocol::openai);
  call.endpoint.base_url = server.url("/v1");
  call.endpoint.key_header = KeyHeader::x_api_key;
  transport.emplace(options);
  KeyRing keys;
  keys.add("sonnet", 0, {std::string(secret), server.url("/v1")});
  CurlModelClient client(*transport, scripted, clock, std::move(keys));
  outcome(client, call);
  EXPECT_THAT(server.requests().at(0).head, HasSubstr("POST /v1/chat/completions HTTP/1.1\r\n"));
  EXPECT_THAT(server.requests().at(0).head, HasSubstr("\r\nx-api-key: " + std::string(secret) + "\r\n"));
  call.provider = 1;  // has no key
  outcome(client, call);
  EXPECT_THAT(server.requests().at(1).head, Not(HasSubstr(secret)));
}

TEST_F(ModelClientTest, DoesNotSendAKeyToAnotherAddressThanItsOwn) {
  ByteServer server({ByteServer::answering(reply_with_length("{}"))});
  auto& model_client = client(server);
  auto call = call_to(server);
  call.endpoint.base_url = "http://localhost:" + std::to_string(server.port());
  const auto failure = outcome(model_client, call).failure();
  EXPECT_EQ(failure.kind, FailureClass::permanent);
  EXPECT_THAT(failure.text, HasSubstr(call.endpoint.base_url));
  EXPECT_EQ(server.connections(), 0u);
}

TEST_F(ModelClientTest, ShowsTextThatArrivesTogetherAsOneDelta) {
  const auto go = ByteServer::signal();
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += chunk(text_delta("x"));
  ByteServer server({{ByteServer::receive(),
                      ByteServer::send(stream_head + chunk(opening)),
                      ByteServer::wait(go),
                      ByteServer::send(many),
                      ByteServer::send(chunk(ending) + stream_end)}});
  ModelRecord record;
  client(server).start(call_to(server), record.on_delta(), record.on_done());
  server.raise(go);
  const auto seen = record.await_done();
  EXPECT_EQ(seen.text, std::string(100, 'x'));
  EXPECT_LE(seen.deltas.size(), 20u);  // one send, in few reads even on a busy machine
}

TEST_F(ModelClientTest, IsDoneWithTheLastEventAndDoesNotWaitForTheEndOfTheStream) {
  ByteServer server(
      {{ByteServer::receive(), ByteServer::send(stream_head + chunk(opening + text_delta("all") + ending))}});
  EXPECT_EQ(outcome(client(server), call_to(server)).reply().content.at(0).text, "all");
}

TEST_F(ModelClientTest, FailsAReplyThatWasCut) {
  const auto seen = outcome({ByteServer::receive(),
                             ByteServer::send(stream_head + chunk(opening + text_delta("ha"))),
                             ByteServer::close()});
  EXPECT_EQ(seen.failure().kind, FailureClass::transient);
  EXPECT_TRUE(seen.failure().produced);
  EXPECT_EQ(seen.failure().usage.input, 12);
  EXPECT_EQ(seen.text, "ha");
}

TEST_F(ModelClientTest, FailsAReplyThatWasReset) {
  const auto go = ByteServer::signal();
  ByteServer server({{ByteServer::receive(),
                      ByteServer::send(stream_head + chunk(opening + text_delta("ha"))),
                      ByteServer::wait(go),
                      ByteServer::reset()}});
  ModelRecord record;
  client(server).start(call_to(server), record.on_delta(), record.on_done());
  record.await_text(2);
  server.raise(go);
  EXPECT_EQ(record.await_done().failure().kind, FailureClass::transient);
  EXPECT_TRUE(record.seen().failure().produced);
}

TEST_F(ModelClientTest, SaysWhatCanBeDoneAboutAnErrorAndWhen) {
  const auto error = [&](std::string head, std::string_view type) {
    const std::string body =
        R"({"type":"error","error":{"type":")" + std::string(type) + R"(","message":"no"}})";
    return outcome(ByteServer::answering("HTTP/1.1 " + head + "Content-Length: " +
                                         std::to_string(body.size()) + "\r\n\r\n" + body))
        .failure();
  };
  EXPECT_EQ(error("529 Overloaded\r\n", "overloaded_error").kind, FailureClass::overloaded);
  EXPECT_EQ(error("401 Unauthorized\r\n", "authentication_error").kind, FailureClass::permanent);
  EXPECT_EQ(error("402 Payment Required\r\n", "billing_error").kind, FailureClass::money);
  EXPECT_EQ(error("400 Bad Request\r\n", "invalid_request_error").kind, FailureClass::rejected);
  const auto limited = error("429 Too Many\r\nRetry-After: 7\r\n", "rate_limit_error");
  EXPECT_EQ(limited.kind, FailureClass::transient);
  EXPECT_EQ(limited.retry_after_ms, 7'000);
  EXPECT_EQ(error("429 Too Many\r\nretry-after-ms: 250\r\n", "rate_limit_error").retry_after_ms, 250);
  EXPECT_EQ(error("503 Busy\r\nRetry-After: Sun, 29 Nov 2026 12:00:30 GMT\r\n", "api_error").retry_after_ms,
            30'000);
  EXPECT_EQ(error("500 Oops\r\nx-should-retry: false\r\n", "api_error").kind, FailureClass::permanent);
}

TEST_F(ModelClientTest, TakesTheKeyOutOfWhatAProviderSays) {
  const auto failure = outcome(ByteServer::answering(reply_with_length(
                                   "wrong key " + std::string(secret) + "!", "401 Unauthorized")))
                           .failure();
  EXPECT_THAT(failure.text, HasSubstr("wrong key"));
  EXPECT_THAT(failure.text, Not(HasSubstr(secret.substr(0, 10))));
}

TEST_F(ModelClientTest, FailsOverWhereTheProviderIsNotThere) {
  std::optional<ModelCall> call;
  {
    ByteServer server({ByteServer::Script{}});
    client(server);
    call = call_to(server);
  }
  CurlModelClient keyless(*transport, scripted, clock, {});
  const auto failure = outcome(keyless, *call).failure();
  EXPECT_EQ(failure.kind, FailureClass::transient);
  EXPECT_FALSE(failure.produced);
  EXPECT_THAT(failure.text, HasSubstr("127.0.0.1"));
  call->endpoint.base_url = "gopher://127.0.0.1";
  EXPECT_EQ(outcome(keyless, *call).failure().kind, FailureClass::permanent);
}

TEST_F(ModelClientTest, FailsAReplyWhoseFirstByteDoesNotCome) {
  ByteServer server({{ByteServer::receive(), ByteServer::send(stream_head)}});
  auto call = call_to(server);
  call.first_byte_timeout_ms = 30;
  const auto failure = outcome(client(server), call).failure();
  EXPECT_EQ(failure.kind, FailureClass::transient);
  EXPECT_FALSE(failure.produced);
  EXPECT_THAT(failure.text, HasSubstr("30 ms"));
}

TEST_F(ModelClientTest, FailsAReplyThatFallsSilentAfterAPing) {
  options.idle_timeout_ms = 30;
  const auto failure = outcome({ByteServer::receive(),
                                ByteServer::send(stream_head + chunk(opening)),
                                ByteServer::send(chunk(event("ping", "")) + chunk(": ping\n\n"))})
                           .failure();
  EXPECT_EQ(failure.kind, FailureClass::transient);
  EXPECT_THAT(failure.text, HasSubstr("30 ms"));
}

TEST_F(ModelClientTest, FailsWhatIsNoReply) {
  EXPECT_EQ(outcome(ByteServer::answering(reply_with_length("<html>hello</html>"))).failure().kind,
            FailureClass::transient);
  EXPECT_EQ(outcome({ByteServer::receive(), ByteServer::send("garbage\r\n\r\n"), ByteServer::close()})
                .failure()
                .kind,
            FailureClass::transient);
  EXPECT_EQ(outcome(ByteServer::answering(reply_with_length("", "502 Bad Gateway"))).failure().kind,
            FailureClass::transient);
}

TEST_F(ModelClientTest, BoundsTheReply) {
  const std::string line =
      "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
      "\"text\":\"" +
      std::string(1'000'000, 'x') + "\"}}\n\n";
  std::string stream = stream_head + chunk(opening);
  for (std::size_t sent = 0; sent <= limits::reply_bytes_max; sent += line.size())
    stream += chunk(line);
  const auto seen = outcome({ByteServer::receive(), ByteServer::send(stream)});
  EXPECT_EQ(seen.failure().kind, FailureClass::permanent);
  EXPECT_THAT(seen.failure().text, HasSubstr(std::to_string(limits::reply_bytes_max)));
  EXPECT_TRUE(seen.failure().produced);
}

TEST_F(ModelClientTest, ClosesTheConnectionOfACancelledCall) {
  ByteServer server(
      {{ByteServer::receive(), ByteServer::send(stream_head + chunk(opening + text_delta("ha")))}});
  ModelRecord record;
  auto& model_client = client(server);
  const auto ticket = model_client.start(call_to(server), record.on_delta(), record.on_done());
  record.await_text(2);
  model_client.cancel(ticket);
  EXPECT_TRUE(server.await_closed_by_client(1));
  EXPECT_EQ(record.seen().ends, 0u);
}

TEST_F(ModelClientTest, ReadsManyRepliesOneAfterTheOtherOnOneConnection) {
  ByteServer server(
      {ByteServer::answering(stream_head + chunk(opening + text_delta("one") + ending) + stream_end)});
  auto& model_client = client(server);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(outcome(model_client, call_to(server)).reply().content.at(0).text, "one");
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(ModelClientTest, PlaysScriptedModels) {
  ByteServer server({ByteServer::Script{}});
  auto call = call_to(server, Protocol::scripted);
  call.endpoint.scenario_file = "/no/such/file";
  auto& model_client = client(server);
  EXPECT_EQ(outcome(model_client, call).failure().kind, FailureClass::permanent);
  model_client.cancel(model_client.start(call, nullptr, [](ModelOutcome) {}));
}

}  // namespace
}  // namespace ratchet
