// Starting runs, finding them, steering them.

#include <fmt/format.h>

#include "tests/http/api_fixture.hpp"

namespace ratchet {

namespace {

using testing::agent_json;
using testing::ApiTest;
using testing::asked;
using testing::replied;

class RunsTest : public ApiTest {
 protected:
  void SetUp() override { register_agent(); }

  static std::string body(std::string_view more = "", std::string_view token = "dev:alice:mail,read") {
    return fmt::format(R"({{"agent_id":"support","input":"hello","user_token":"{}"{}}})", token, more);
  }
};

TEST_F(RunsTest, ARunIsAcceptedWithEverythingTheRequestSays) {
  const auto reply =
      post("/v1/runs",
           body(R"(,"budgets":{"max_steps":3,"max_usd":"0.25"},"metadata":{"ticket":"T-1"},"seed":42)"));
  EXPECT_EQ(reply.status, 202) << reply.raw.body;
  EXPECT_EQ(reply.text("status"), "queued");
  EXPECT_EQ(reply.text("agent_version"), "1");
  EXPECT_EQ(reply.raw.header("location"), "/v1/runs/" + reply.text("run_id"));
  ASSERT_EQ(node.started.size(), 1u);
  const auto& command = node.started[0];
  EXPECT_EQ(command.team, "default");
  EXPECT_EQ(command.user_id, "alice");
  EXPECT_EQ(command.scopes, (std::vector<std::string>{"mail", "read"}));
  EXPECT_EQ(command.input, text_content("hello"));
  EXPECT_EQ(command.budgets->max_steps, 3);
  EXPECT_EQ(command.budgets->max_tokens, 50'000) << "not asked for: the agent's";
  EXPECT_EQ(to_string(command.budgets->max_usd), "0.250000");
  EXPECT_EQ(command.seed, 42u);
  EXPECT_EQ(command.labels.text, R"({"ticket":"T-1"})");
}

TEST_F(RunsTest, InputMayBeBlocks) {
  const auto blocks =
      R"({"agent_id":"support","user_token":"dev:a","input":[{"type":"text","text":"look"},{"type":"image","media_type":"image/png","data":"AAAA"}]})";
  EXPECT_EQ(post("/v1/runs", blocks).status, 202);
  ASSERT_EQ(node.started.size(), 1u);
  EXPECT_EQ(node.started[0].input[1].media_type, "image/png");
  EXPECT_EQ(node.started[0].input[1].text, "AAAA");
}

TEST_F(RunsTest, EachMistakeInABodyIsNamed) {
  struct Case {
    std::string body;
    const char* code;
    const char* pointer;
  };

  const std::vector<Case> cases = {
      {"", "invalid_json", nullptr},
      {"[]", "invalid_request", nullptr},
      {R"({"agent_id":"support"})", "invalid_request", nullptr},
      {body(R"(,"colour":1)"), "unknown_field", "/colour"},
      {body(R"(,"budgets":{"max_stepz":1})"), "unknown_field", "/budgets/max_stepz"},
      {body(R"(,"budgets":{"max_steps":-1})"), "invalid_request", "/budgets/max_steps"},
      {body(R"(,"budgets":{"max_usd":0.5})"), "invalid_request", "/budgets/max_usd"},
      {body(R"(,"budgets":{"max_usd":"1e3"})"), "invalid_request", "/budgets/max_usd"},
      {body(R"(,"budgets":{"max_steps":11})"), "budget_exceeds_limit", "/budgets/max_steps"},
      {body(R"(,"budgets":{"max_usd":"0.500000001"})"), "budget_exceeds_limit", "/budgets/max_usd"},
      {body(R"(,"metadata":{"a":1})"), "invalid_request", "/metadata"},
      {body(fmt::format(R"(,"metadata":{{"a":"{}"}})", std::string(17'000, 'x'))),
       "invalid_request",
       "/metadata"},
      {body(R"(,"agent_version":0)"), "invalid_request", "/agent_version"},
      {body(R"(,"agent_version":2)"), "unknown_agent", nullptr},
      {body(R"(,"seed":9007199254740993)"), "invalid_json", nullptr},
      {body(R"(,"idempotency_key":"")"), "invalid_request", "/idempotency_key"},
      {R"({"agent_id":"nobody","input":"x","user_token":"dev:a"})", "unknown_agent", nullptr},
      {R"({"agent_id":"No Body","input":"x","user_token":"dev:a"})", "invalid_id", "/agent_id"},
      {R"({"agent_id":"support","input":"","user_token":"dev:a"})", "invalid_request", "/input"},
      {R"({"agent_id":"support","input":[],"user_token":"dev:a"})", "invalid_request", "/input"},
      {R"({"agent_id":"support","input":7,"user_token":"dev:a"})", "invalid_request", "/input"},
      {R"({"agent_id":"support","input":[{"type":"text"}],"user_token":"dev:a"})",
       "invalid_request",
       "/input/0"},
      {R"({"agent_id":"support","input":[{"type":"video"}],"user_token":"dev:a"})",
       "invalid_request",
       "/input/0/type"},
      {body("", "alice"), "invalid_user_token", "/user_token"},
      {body("", "dev:"), "invalid_user_token", "/user_token"},
      {body("", "dev:a:,b"), "invalid_user_token", "/user_token"},
      {R"({"agent_id":"support","agent_id":"support"})", "invalid_json", nullptr},
  };
  for (const auto& each : cases) {
    const auto reply = post("/v1/runs", each.body);
    EXPECT_EQ(reply.code(), each.code) << each.body.substr(0, 200) << "\n" << reply.raw.body;
    if (each.pointer) {
      EXPECT_EQ(reply.text("pointer"), each.pointer) << each.body.substr(0, 200);
    }
  }
  EXPECT_TRUE(node.started.empty());
}

TEST_F(RunsTest, AUserTokenIsNowhereToBeSeen) {
  const auto refused = post("/v1/runs", body("", "sealed-token-123"));
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.raw.body.find("sealed-token-123"), std::string::npos);
}

TEST_F(RunsTest, TheSameKeyWithTheSameBodyIsTheSameRun) {
  const auto first = post("/v1/runs", body(R"(,"idempotency_key":"k1")"));
  ASSERT_EQ(first.status, 202) << first.raw.body;
  const auto again = post("/v1/runs", body(R"(,"idempotency_key":"k1")"));
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.text("run_id"), first.text("run_id"));
  EXPECT_EQ(again.raw.header("idempotency-replayed"), "true");
  // Spelled otherwise, with the key in the header, and with a fresh token of the same user.
  const auto spelled =
      post("/v1/runs",
           R"({ "user_token": "dev:alice:mail,read", "input": "hello", "agent_id": "support" })",
           {{"Idempotency-Key", "\"k1\""}});
  EXPECT_EQ(spelled.text("run_id"), first.text("run_id"));
  EXPECT_EQ(post("/v1/runs", body("", "dev:alice:other"), {{"Idempotency-Key", "k1"}}).text("run_id"),
            first.text("run_id"));
  EXPECT_EQ(node.started.size(), 1u);
}

TEST_F(RunsTest, ARepetitionIsAnsweredThoughTheAgentHasChangedSince) {
  const auto first = post("/v1/runs", body(R"(,"idempotency_key":"k1","budgets":{"max_steps":10})"));
  ASSERT_EQ(
      post(
          "/v1/agents/support/versions",
          R"({"agent_id":"support","model":{"name":"sonnet"},"system_prompt":"x","budgets":{"max_steps":2}})")
          .status,
      201);
  node.refusal = Error{ErrorCode::too_many_runs, "full"};
  node.finish(parse_id<RunKind>(first.text("run_id")).value());
  const auto again = post("/v1/runs", body(R"(,"idempotency_key":"k1","budgets":{"max_steps":10})"));
  EXPECT_EQ(again.status, 200) << again.raw.body;
  EXPECT_EQ(again.text("status"), "finished");
  EXPECT_EQ(again.text("agent_version"), "1");
}

TEST_F(RunsTest, TheSameKeyWithAnotherBodyIsAConflict) {
  ASSERT_EQ(post("/v1/runs", body(R"(,"idempotency_key":"k1")")).status, 202);
  const auto other = post("/v1/runs", body(R"(,"idempotency_key":"k1","seed":1)"));
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.code(), "idempotency_conflict");
  const auto other_user = post("/v1/runs", body(R"(,"idempotency_key":"k1")", "dev:bob:mail,read"));
  EXPECT_EQ(other_user.code(), "idempotency_conflict");
  EXPECT_EQ(node.started.size(), 1u);
}

TEST_F(RunsTest, AKeyThatIsTakenBetweenLookAndClaimIsTheSameRunToo) {
  const auto first = post("/v1/runs", body(R"(,"idempotency_key":"k1")"));
  // Straight to the node, as if both requests had looked before either had claimed.
  std::optional<Result<RunAccepted>> reply;
  auto command = node.started[0];
  node.start_run(command, [&](Result<RunAccepted> accepted) { reply = accepted; });
  ASSERT_TRUE(reply && *reply);
  EXPECT_TRUE((*reply)->existing);
  EXPECT_EQ(to_string((*reply)->run_id), first.text("run_id"));
}

TEST_F(RunsTest, TheHeaderKeyIsReadStrictly) {
  for (const char* key : {"\"abc", "\"a\"b\"", "\"a\\n\"", ""})
    EXPECT_EQ(post("/v1/runs", body(), {{"Idempotency-Key", key}}).status, 400) << key;
  EXPECT_EQ(post("/v1/runs", body(), {{"Idempotency-Key", std::string(256, 'k')}}).status, 400);
  EXPECT_EQ(post("/v1/runs", body(R"(,"idempotency_key":"a")"), {{"Idempotency-Key", "b"}}).status, 400);
  EXPECT_EQ(post("/v1/runs", body(R"(,"idempotency_key":"a")"), {{"Idempotency-Key", "\"a\""}}).status, 202);
}

TEST_F(RunsTest, WhatTheNodeRefusesIsTold) {
  node.refusal = Error{ErrorCode::too_many_runs, "the team has 5000 runs under way"};
  const auto reply = post("/v1/runs", body());
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.code(), "too_many_runs");
  EXPECT_FALSE(reply.raw.header("retry-after").empty());
}

TEST_F(RunsTest, ARunShowsWhereItStandsAndHowItEnded) {
  const auto run = start_run(R"(,"metadata":{"k":"v"})");
  const auto path = "/v1/runs/" + to_string(run);
  auto reply = get(path);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.text("status"), "queued");
  EXPECT_EQ(reply.text("result"), "null");
  EXPECT_EQ(reply.text("finished_at"), "null");
  EXPECT_EQ(reply.text("labels/k"), "v");
  EXPECT_EQ(reply.text("root_run_id"), to_string(run));
  node.happen(run, {asked()});
  node.happen(run, {replied("the answer")});
  reply = get(path);
  EXPECT_EQ(reply.text("status"), "running");
  EXPECT_EQ(reply.text("step"), "1");
  EXPECT_EQ(reply.text("budgets_used/tokens"), "107");
  EXPECT_EQ(reply.text("usage/cost_usd"), "0.023100");
  node.finish(run, "the answer");
  reply = get(path);
  EXPECT_EQ(reply.text("status"), "finished");
  EXPECT_EQ(reply.text("stop_reason"), "final_answer");
  EXPECT_EQ(reply.text("result/text"), "the answer");
  EXPECT_EQ(reply.text("report"), "null");
  EXPECT_EQ(reply.text("last_seq"), "4");
}

TEST_F(RunsTest, ARunThatStoppedOnALimitHasAReport) {
  const auto run = start_run();
  RunFinished finished;
  finished.stop_reason = StopReason::step_limit;
  finished.report = Report{"Stopped.", 3, {{"call_1", "search_docs", ToolStatus::ok}}, {"write it up"}};
  node.happen(run, {finished});
  const auto reply = get("/v1/runs/" + to_string(run));
  EXPECT_EQ(reply.text("stop_reason"), "step_limit");
  EXPECT_EQ(reply.text("result"), "null");
  EXPECT_EQ(reply.text("report/calls/0/tool"), "search_docs");
  EXPECT_EQ(reply.text("report/open/0"), "write it up");
}

TEST_F(RunsTest, APausedRunSaysWhatItWaitsFor) {
  const auto run = start_run();
  node.happen(run,
              {RunPaused{{PauseReason::operator_}, {1'764'000'600'000'000}, {}, "failed three times", {}}});
  const auto reply = get("/v1/runs/" + to_string(run));
  EXPECT_EQ(reply.text("status"), "paused");
  EXPECT_EQ(reply.text("paused/reasons"), R"(["operator"])");
  EXPECT_EQ(reply.text("paused/approval_ids"), "[]");
}

TEST_F(RunsTest, RunsAreListedNewestFirstInPages) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i)
    ids.push_back(to_string(start_run()));
  std::vector<std::string> seen;
  std::string cursor;
  do {
    const auto page = get("/v1/runs?limit=2" + (cursor.empty() ? "" : "&cursor=" + cursor));
    for (const auto& item : page.json.at("items").as_array())
      seen.emplace_back(item.at("run_id").as_string());
    cursor = page.text("next_cursor");
  } while (cursor != "null");
  EXPECT_EQ(seen, std::vector<std::string>(ids.rbegin(), ids.rend()));
}

TEST_F(RunsTest, ListsAreFiltered) {
  const auto done = start_run(), open = start_run();
  node.finish(done);
  const auto only = [&](std::string_view query) {
    const auto items = get(fmt::format("/v1/runs?{}", query)).json.at("items").as_array();
    return items.size() == 1 ? std::string(items[0].at("run_id").as_string())
                             : fmt::format("{} items", items.size());
  };
  EXPECT_EQ(only("status=finished"), to_string(done));
  EXPECT_EQ(only("status=queued"), to_string(open));
  EXPECT_EQ(only("stop_reason=final_answer"), to_string(done));
  EXPECT_EQ(only("agent_id=support"), "2 items");
  EXPECT_EQ(only("agent_id=sales"), "0 items");
  EXPECT_EQ(only("user_id=alice"), "2 items");
  EXPECT_EQ(only("user_id=bob"), "0 items");
  EXPECT_EQ(only("since=2020-01-01T00:00:00Z"), "2 items");
  EXPECT_EQ(only("since=2020-01-01T00:00:00+01:00"), "2 items");
  EXPECT_EQ(only("until=2020-01-01T00:00:00%2B01:00"), "0 items");
  EXPECT_EQ(only("parent_run_id=" + to_string(done)), "0 items");
  for (const char* wrong :
       {"status=done", "stop_reason=x", "since=yesterday", "parent_run_id=x", "agent_id=X"})
    EXPECT_EQ(get(fmt::format("/v1/runs?{}", wrong)).status, 400) << wrong;
}

TEST_F(RunsTest, ACursorOfAnotherListIsRefused) {
  for (int i = 0; i < 3; ++i)
    start_run();
  const auto cursor = get("/v1/runs?limit=1").text("next_cursor");
  EXPECT_EQ(get("/v1/runs?limit=2&cursor=" + cursor).status, 200) << "the limit may change";
  for (const auto& target : {"/v1/runs?status=queued&cursor=" + cursor,
                             "/v1/agents?cursor=" + cursor,
                             std::string("/v1/runs?cursor=x"),
                             "/v1/runs?cursor=" + cursor + "x",
                             "/v1/runs?cursor=" + cursor.substr(0, cursor.find('.') + 1)})
    EXPECT_EQ(get(target).code(), "invalid_cursor") << target;
}

TEST_F(RunsTest, AMessageReachesTheNode) {
  const auto run = start_run();
  const auto path = "/v1/runs/" + to_string(run) + "/messages";
  const auto reply = post(path, R"({"content":"stop that","idempotency_key":"m1"})");
  EXPECT_EQ(reply.status, 202) << reply.raw.body;
  EXPECT_EQ(reply.text("seq"), "2");
  ASSERT_EQ(node.messages.size(), 1u);
  EXPECT_EQ(node.messages[0].content, text_content("stop that"));
  EXPECT_EQ(node.messages[0].from, "dev");
  EXPECT_EQ(node.messages[0].idempotency_key, "m1");
  EXPECT_EQ(post(path, R"({"content":""})").status, 400);
  EXPECT_EQ(post(path, R"({"text":"x"})").code(), "unknown_field");
  node.finish(run);
  EXPECT_EQ(post(path, R"({"content":"too late"})").code(), "run_finished");
}

TEST_F(RunsTest, ACancelMayGiveAReasonOrNot) {
  const auto run = start_run();
  const auto path = "/v1/runs/" + to_string(run) + "/cancel";
  EXPECT_EQ(post(path).status, 202);
  EXPECT_EQ(post(path, R"({"reason":"wrong customer"})").status, 202);
  EXPECT_EQ(post(path, R"({"raison":"x"})").code(), "unknown_field");
  ASSERT_EQ(node.cancels.size(), 2u);
  EXPECT_EQ(node.cancels[1].reason, "wrong customer");
}

TEST_F(RunsTest, ACallIsResolvedWithAResultIfItHappened) {
  const auto run = start_run();
  const auto path = "/v1/runs/" + to_string(run) + "/calls/call_1/resolve";
  EXPECT_EQ(post(path, R"({"outcome":"happened","result":"sent"})").status, 202);
  EXPECT_EQ(post(path, R"({"outcome":"did_not_happen"})").status, 202);
  ASSERT_EQ(node.resolves.size(), 2u);
  EXPECT_EQ(node.resolves[0].call_id, "call_1");
  EXPECT_EQ(node.resolves[0].result, text_content("sent"));
  EXPECT_EQ(node.resolves[1].outcome, CallOutcome::did_not_happen);
  EXPECT_EQ(post(path, R"({"outcome":"happened"})").status, 400);
  EXPECT_EQ(post(path, R"({"outcome":"did_not_happen","result":"x"})").text("pointer"), "/result");
  EXPECT_EQ(post(path, R"({"outcome":"maybe"})").text("pointer"), "/outcome");
}

TEST_F(RunsTest, ResumeTakesNoBody) {
  const auto run = start_run();
  const auto path = "/v1/runs/" + to_string(run) + "/resume";
  EXPECT_EQ(post(path).status, 202);
  EXPECT_EQ(post(path, "{}").status, 202);
  EXPECT_EQ(post(path, R"({"x":1})").code(), "unknown_field");
}

TEST_F(RunsTest, AFreshTokenHasToBeOfTheSameUser) {
  const auto run = start_run();  // dev:alice:read
  const auto path = "/v1/runs/" + to_string(run) + "/user_token";
  const auto reply = post(path, R"({"user_token":"dev:alice:write,read"})");
  EXPECT_EQ(reply.status, 202);
  EXPECT_NE(reply.text("seq"), "(absent)");
  ASSERT_EQ(node.tokens.size(), 1u);
  EXPECT_EQ(node.tokens[0].run_id, run);
  EXPECT_EQ(node.tokens[0].team, "default");
  EXPECT_EQ(node.tokens[0].token, "dev:alice:write,read");
  EXPECT_EQ(node.tokens[0].scopes, (std::vector<std::string>{"read", "write"}));
  EXPECT_EQ(node.tokens[0].from, "dev");
  EXPECT_EQ(post(path, R"({"user_token":"dev:bob:read"})").code(), "invalid_user_token");
  EXPECT_EQ(post(path, R"({"user_token":"alice"})").code(), "invalid_user_token");
  EXPECT_EQ(post(path, R"({})").status, 400);
  const auto nobody = "/v1/runs/run_01ARZ3NDEKTSV4RRFFQ69G5FAV/user_token";
  EXPECT_EQ(post(nobody, R"({"user_token":"dev:alice"})").code(), "unknown_run");
  EXPECT_EQ(node.tokens.size(), 1u);
}

TEST_F(RunsTest, TheNodeIsGivenTheTokenToSeal) {
  post("/v1/runs", R"({"agent_id":"support","input":"hello","user_token":"dev:alice:read"})");
  ASSERT_EQ(node.started.size(), 1u);
  EXPECT_EQ(node.started[0].user_token, "dev:alice:read");
  EXPECT_FALSE(node.started[0].token_expires_at);
}

}  // namespace

}  // namespace ratchet
