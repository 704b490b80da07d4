// Calls on behalf of a user: what leaves with the user's credential, what does not leave without it, and that
// the credential is nowhere else.

#include <gmock/gmock.h>

#include "actors/call_judge.hpp"
#include "runtime/event/json.hpp"
#include "tests/actors/node_fixture.hpp"

namespace ratchet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

constexpr const char* token = "eyJhbGciOi.alices-token.c2lnbmF0dXJl";
constexpr const char* other_token = "eyJhbGciOi.alices-next-token.c2lnbmF0dXJl";

ToolManifest mail_tool(std::string audience = {}) {
  auto manifest = parse_manifest(
      R"({"name":"mail","description":"Sends.","kind":"http","side_effects":"external","idempotency":"key",)"
      R"("input_schema":{"type":"object","properties":{"to":{"type":"string"}}},)"
      R"("network":{"allow":["mail.example:443"]},"http":{"url":"https://mail.example/send"},)"
      R"("auth":{"mode":"on_behalf_of_user","scopes":["mail:send"])" +
      (audience.empty() ? "" : R"(,"audience":")" + audience + "\"") + "}}");
  EXPECT_TRUE(manifest) << manifest.error().text;
  return *manifest;
}

/// Sends one mail, then says what it heard.
FakeModelClient::Rule sends_a_mail() {
  return
      [](const ModelCall& call) { return call.step == 1 ? calls("mail", R"({"to":"bob"})") : says("done"); };
}

class IdentityTest : public ::testing::Test {
 protected:
  void make(FakeConnector::Rule rule, std::string audience = {}) {
    test = std::make_unique<TestNode>(models, agent_with({mail_tool(std::move(audience))}), std::move(rule));
  }

  RunId start(std::optional<Timestamp> expires_at = {}, std::string user_token = token) {
    StartRun command;
    command.team = "t";
    command.agent_id = "tester";
    command.input = text_content("go");
    command.user_id = "alice";
    command.scopes = {"mail:send"};
    command.user_token = std::move(user_token);
    command.token_expires_at = expires_at;
    const auto run = test->ask<RunAccepted>(
        [&](Reply<RunAccepted> reply) { test->node->start_run(command, std::move(reply)); });
    EXPECT_TRUE(run) << run.error().text;
    return run->run_id;
  }

  Result<Accepted> replace(const RunId& run, std::vector<std::string> scopes = {"mail:send"}) {
    return test->ask<Accepted>([&](Reply<Accepted> reply) {
      test->node->replace_user_token({"t", run, other_token, scopes, std::nullopt, "key"}, std::move(reply));
    });
  }

  void wait_for_reauth(const RunId& run) {
    const RunRow row = test->wait_for_row(run, [](const RunRow& each) {
      return each.status == RunStatus::paused || each.status == RunStatus::finished;
    });
    EXPECT_EQ(row.status, RunStatus::paused);
    EXPECT_THAT(row.pause_reasons, testing::ElementsAre(PauseReason::reauth));
  }

  /// The run's events as they are shown to others.
  std::string events(const RunId& run) {
    std::string out;
    const auto records = test->journal.records(run, 1, SIZE_MAX);
    for (const Record& record : *records)
      for (const Event& event : record.events)
        out += to_json(event) + "\n";
    return out;
  }

  void expect_no_secret(const RunId& run) {
    EXPECT_THAT(events(run), Not(HasSubstr("alices-")));
    const auto records = test->journal.records(run, 1, SIZE_MAX);
    for (const Record& record : *records)
      EXPECT_THAT(encode(record), Not(HasSubstr("alices-")));
    EXPECT_THAT(test->log, Not(HasSubstr("alices-")));
  }

  FakeModelClient models{sends_a_mail()};
  std::unique_ptr<TestNode> test;
};

TEST_F(IdentityTest, TheUsersTokenLeavesWithTheCallAndIsNowhereElse) {
  make([](const ConnectorCall&) { return answered(200, "sent"); });
  const RunId run = start();
  EXPECT_EQ(test->wait_for_end(run).stop_reason, StopReason::final_answer);
  ASSERT_EQ(test->connector.calls().size(), 1u);
  EXPECT_THAT(test->connector.calls()[0].headers,
              Contains(Pair("Authorization", std::string("Bearer ") + token)));
  EXPECT_EQ(test->connector.calls()[0].body, R"({"to":"bob"})");
  EXPECT_THAT(events(run), HasSubstr("sent"));
  expect_no_secret(run);
}

TEST_F(IdentityTest, AServiceThatRepeatsTheCredentialIsNotQuoted) {
  make([](const ConnectorCall& call) {
    return answered(500, "bad header: " + call.headers.back().second + "!");
  });
  const RunId run = start();
  test->wait_for_end(run);
  EXPECT_THAT(events(run), HasSubstr("bad header: Bearer [the user's credential]!"));
  expect_no_secret(run);
}

TEST_F(IdentityTest, ADevelopmentTokenIsCutOutToo) {
  make([](const ConnectorCall& call) {
    return answered(200, call.headers.back().second + ", not dev:adam or dev:ad");
  });
  const RunId run = start({}, "dev:ada");
  test->wait_for_end(run);
  EXPECT_THAT(events(run), HasSubstr("Bearer [the user's credential], not dev:adam or dev:ad"));
}

TEST_F(IdentityTest, WithoutATokenNothingIsSent) {
  make([](const ConnectorCall&) { return answered(200, "sent"); });
  const RunId run = start({}, "");
  EXPECT_EQ(test->wait_for_end(run).stop_reason, StopReason::final_answer);
  EXPECT_TRUE(test->connector.calls().empty());
  EXPECT_THAT(events(run), HasSubstr("this run has no user's token"));
}

TEST_F(IdentityTest, AnExpiredTokenIsNotUsedAndAFreshOneIs) {
  make([](const ConnectorCall&) { return answered(200, "sent"); });
  const RunId run = start(test->clock.now().plus_ms(-1));
  wait_for_reauth(run);
  EXPECT_TRUE(test->connector.calls().empty());
  test->restart();
  ASSERT_TRUE(replace(run));
  EXPECT_EQ(test->wait_for_end(run).stop_reason, StopReason::final_answer);
  ASSERT_EQ(test->connector.calls().size(), 1u);
  EXPECT_THAT(test->connector.calls()[0].headers,
              Contains(Pair("Authorization", std::string("Bearer ") + other_token)));
  expect_no_secret(run);
}

TEST_F(IdentityTest, ATokenIsExchangedForTheToolsAudience) {
  make(
      [](const ConnectorCall& call) {
        if (call.url != "https://login.example/token") return answered(200, "sent");
        EXPECT_THAT(call.body, HasSubstr(std::string("subject_token=") + token + "&"));
        EXPECT_THAT(call.body, HasSubstr("&audience=mail&scope=mail%3Asend"));
        return answered(200,
                        R"({"access_token":"alices-mail-token","token_type":"Bearer","expires_in":600})");
      },
      "mail");
  test->exchange = ExchangeEndpoint{"https://login.example/token", "ratchet", "alices-client-secret"};
  test->restart();
  const RunId run = start();
  test->wait_for_end(run);
  ASSERT_EQ(test->connector.calls().size(), 2u);
  EXPECT_THAT(test->connector.calls()[1].headers,
              Contains(Pair("Authorization", "Bearer alices-mail-token")));
  expect_no_secret(run);
}

TEST_F(IdentityTest, ATokenThatTheExchangeRefusesWaitsForAFreshOne) {
  make(
      [](const ConnectorCall& call) -> std::optional<ConnectorOutcome> {
        if (call.url != "https://login.example/token") return answered(200, "sent");
        if (call.body.find(other_token) == std::string::npos)
          return answered(400, R"({"error":"invalid_grant"})");
        return answered(200, R"({"access_token":"mail-token","token_type":"Bearer"})");
      },
      "mail");
  test->exchange = ExchangeEndpoint{"https://login.example/token", "ratchet", "s"};
  test->restart();
  const RunId run = start();
  wait_for_reauth(run);
  ASSERT_TRUE(replace(run));
  EXPECT_EQ(test->wait_for_end(run).stop_reason, StopReason::final_answer);
  EXPECT_THAT(test->connector.calls().back().headers, Contains(Pair("Authorization", "Bearer mail-token")));
}

TEST_F(IdentityTest, AnExchangeThatFailsSendsNothingAndSaysSo) {
  make([](const ConnectorCall&) { return answered(500, token); }, "mail");
  const RunId run = start();  // nowhere to exchange
  test->wait_for_end(run);
  EXPECT_THAT(events(run), HasSubstr("identity.exchange is not configured"));
  EXPECT_TRUE(test->connector.calls().empty());
  test->exchange = ExchangeEndpoint{"https://login.example/token", "ratchet", "s"};
  test->restart();
  const RunId again = start();
  test->wait_for_end(again);
  EXPECT_THAT(events(again),
              HasSubstr("so nothing was sent: the token endpoint answered with HTTP status 500"));
  EXPECT_EQ(test->connector.calls().size(), 1u);
  expect_no_secret(again);
}

TEST_F(IdentityTest, TheDecisionPointIsAskedBeforeAnythingIsSent) {
  make([](const ConnectorCall& call) -> std::optional<ConnectorOutcome> {
    if (call.url.starts_with("https://pdp/.well-known")) return answered(404, "");
    if (!call.url.starts_with("https://pdp/")) return answered(200, "sent");
    EXPECT_THAT(call.body, HasSubstr(R"("id":"alice","properties":{"scopes":["mail:send"])"));
    EXPECT_THAT(call.body, HasSubstr(R"("arguments":{"to":"bob"})"));
    return answered(200, R"({"decision":false,"context":{"reason_user":"not to bob"}})");
  });
  CallJudge judge(test->connector,
                  test->clock,
                  DecisionPointAddress{.url = "https://pdp"},
                  [](LogLevel, const std::string&) {});
  test->judge = &judge;
  test->decision_point = true;
  test->restart();
  const RunId run = start();
  EXPECT_EQ(test->wait_for_end(run).stop_reason, StopReason::final_answer);
  EXPECT_EQ(test->connector.calls().size(), 2u);
  EXPECT_THAT(events(run), HasSubstr("the decision point denies it: not to bob"));
  EXPECT_THAT(events(run), HasSubstr(R"("status":"denied")"));
  expect_no_secret(run);
  test->node.reset();
}

}  // namespace
}  // namespace ratchet
