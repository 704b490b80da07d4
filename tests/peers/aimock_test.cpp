// Both model adapters against a mock of the providers that others wrote: whole conversations as our codecs
// render them, streamed back in single characters; errors; replies that are cut.

#include <future>

#include <gmock/gmock.h>

#include "http/client/model_client.hpp"
#include "runtime/model/wire.hpp"
#include "tests/http/client_model_record.hpp"
#include "tests/peers/node_process.hpp"

namespace ratchet {
namespace {

using testing::HasSubstr;
using tests::ModelRecord;

class AimockTest : public testing::TestWithParam<Protocol> {
 protected:
  static void SetUpTestSuite() {
    if (tests::peers_missing().empty())
      aimock = std::make_unique<tests::NodeProcess>(std::vector<std::string>{
          "node_modules/@copilotkit/aimock/dist/cli.js", "-p", "0", "-f", "fixtures/models.json"});
  }

  static void TearDownTestSuite() { aimock = nullptr; }

  void SetUp() override {
    if (!aimock) GTEST_SKIP() << tests::peers_missing();
    provider.protocol = GetParam();
    provider.base_url = aimock->url() + (GetParam() == Protocol::openai ? "/v1" : "");
    provider.model = GetParam() == Protocol::openai ? "gpt-5" : "claude-sonnet-5";
    KeyRing keys;
    keys.add("mock", 0, {"a-key", provider.base_url});
    client.emplace(transport.emplace(), scripted, clock, std::move(keys));
  }

  void TearDown() override { transport.reset(); }

  std::string head() const {
    const WireTool tools[] = {
        {"get_time", "The time.", R"({"type":"object"})"},
        {"get_weather", "The weather.", R"({"type":"object","properties":{"city":{"type":"string"}}})"}};
    return render_head(provider, {}, {}, "You help.", tools).bytes;
  }

  std::string user(std::string text) const {
    return render_user(provider.protocol, text_content(std::move(text))).bytes;
  }

  ModelCall call(std::vector<std::string> messages) const {
    ModelCall call;
    call.step = 1;
    call.model = "mock";
    call.endpoint = provider;
    messages.insert(messages.begin(), head());
    messages.push_back(render_tail(provider, 1'000, "", true));
    for (auto& piece : messages)
      call.body.push_back(std::make_shared<const std::string>(std::move(piece)));
    return call;
  }

  ModelRecord::Seen ask(std::vector<std::string> messages) {
    ModelRecord record;
    client->start(call(std::move(messages)), record.on_delta(), record.on_done());
    return record.await_done();
  }

  ModelFailure failure_of(std::string text) { return ask({user(std::move(text))}).failure(); }

  static std::unique_ptr<tests::NodeProcess> aimock;

  ProviderConfig provider;
  SystemClock clock;
  ScriptedClient scripted;
  std::optional<Transport> transport;
  std::optional<CurlModelClient> client;
};

std::unique_ptr<tests::NodeProcess> AimockTest::aimock;

TEST_P(AimockTest, TakesParallelCallsInSingleCharactersAndGoesOnWithTheirResults) {
  const std::string question = user("What is the weather?");
  const auto first = ask({question});
  const auto reply = first.reply();
  EXPECT_EQ(reply.stop, ModelStop::tool_use);
  EXPECT_EQ(first.text, "Let me check. Grüße aus Zürich 🌦");
  EXPECT_EQ(reply.usage.input, 120);
  EXPECT_EQ(reply.usage.output, 30);
  std::vector<ReplyBlock> calls;
  for (const auto& block : reply.content)
    if (block.type == ReplyBlockType::call) calls.push_back(block);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].tool, "get_weather");
  EXPECT_EQ(calls[0].args, R"({"city":"Zürich","units":{"p":1.5,"t":"C"}})");
  EXPECT_EQ(calls[0].provider_id, "call_1");
  EXPECT_EQ(calls[1].tool, "get_time");
  EXPECT_EQ(calls[1].args, "{}");

  const Content weather = text_content("21 °C"), time = text_content("12:00");
  const WireResult results[] = {{"c1", calls[0].provider_id, &weather}, {"c2", calls[1].provider_id, &time}};
  const auto second = ask({question,
                           "," + render_assistant(provider, reply.content, true).bytes,
                           "," + render_tool_results(provider.protocol, results).bytes});
  EXPECT_EQ(second.reply().stop, ModelStop::end_turn);
  EXPECT_EQ(second.text, "21 °C at noon.");
}

TEST_P(AimockTest, KnowsAReplyThatRanIntoItsLimit) {
  EXPECT_EQ(ask({user("a long one")}).reply().stop, ModelStop::max_tokens);
}

TEST_P(AimockTest, KnowsWhatCanBeDoneAboutAnError) {
  EXPECT_EQ(failure_of("busy").kind, FailureClass::overloaded);
  const auto limited = failure_of("limited");
  EXPECT_EQ(limited.kind, FailureClass::transient);
  EXPECT_EQ(limited.retry_after_ms, 1'000);
  EXPECT_THAT(limited.text, HasSubstr("Slow down"));
  EXPECT_EQ(failure_of("poor").kind, FailureClass::money);
  EXPECT_FALSE(failure_of("nobody knows").produced);
}

TEST_P(AimockTest, FailsAReplyThatIsCutAndTakesNoCallFromIt) {
  const auto cut = ask({user("cut")});
  EXPECT_EQ(cut.failure().kind, FailureClass::transient);
  EXPECT_TRUE(cut.failure().produced);
  const auto unanswered = failure_of("unanswered");
  EXPECT_EQ(unanswered.kind, FailureClass::transient);
  EXPECT_FALSE(unanswered.produced);
}

TEST_P(AimockTest, CarriesAHundredConversationsAtOnce) {
  std::vector<ModelRecord> records(100);
  for (auto& record : records)
    client->start(call({user("What is the weather?")}), record.on_delta(), record.on_done());
  for (auto& record : records)
    EXPECT_EQ(record.await_done().reply().content.size(), GetParam() == Protocol::anthropic ? 4u : 4u);
}

INSTANTIATE_TEST_SUITE_P(BothProtocols,
                         AimockTest,
                         testing::Values(Protocol::anthropic, Protocol::openai),
                         [](const auto& tested) { return std::string(name(tested.param)); });

}  // namespace
}  // namespace ratchet
