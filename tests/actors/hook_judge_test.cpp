#include "actors/hook_judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/actors/node_fixture.hpp"
#include "tests/fakes/held_connector.hpp"

namespace ratchet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto allow = R"({"verdict":"allow"})";
constexpr auto deny = R"({"verdict":"deny","reason":"no"})";

std::string rewrite(std::string_view args) {
  return R"({"verdict":"rewrite","args":)" + std::string(args) + "}";
}

HookRule hook(std::string url, HookKind kind = HookKind::security) {
  return {HookPoint::pre_tool, std::move(url), kind};
}

/// Keeps what it is asked, and answers when told.
class HeldJudge final : public Judge {
 public:
  Ticket start(JudgeQuestion question, OnFacts on_facts) override {
    questions.push_back(std::move(question));
    waiting.push_back(std::move(on_facts));
    return questions.size();
  }

  void cancel(Ticket ticket) override { cancelled.push_back(ticket); }

  std::vector<JudgeQuestion> questions;
  std::vector<OnFacts> waiting;
  std::vector<Ticket> cancelled;
};

class Counts final : public HookObserver {
 public:
  void on_hook(HookPoint at, HookKind kind, HookOutcome outcome, std::int64_t) override {
    seen.push_back(std::string(name(at)) + " " + std::string(name(kind)) + " " + std::string(name(outcome)));
  }

  void on_delivery(std::string_view, DeliveryOutcome, std::int64_t) override {}

  std::vector<std::string> seen;
};

class HookJudgeTest : public ::testing::Test {
 protected:
  JudgeQuestion question(std::vector<HookRule> hooks) {
    auto agent = std::make_shared<AgentVersion>();
    agent->definition.hooks = std::move(hooks);
    ToolManifest tool;
    tool.name = "pay";
    tool.input_schema.text = R"({"type":"object"})";
    agent->tools = {tool};
    JudgeQuestion question;
    question.args = "{}";
    question.agent = agent;
    question.tool = std::shared_ptr<const ToolManifest>(agent, &agent->tools.front());
    question.hooks = true;
    return question;
  }

  Judge::Ticket ask(JudgeQuestion question) {
    return judge.start(std::move(question), [this](CallFacts facts) { told.push_back(std::move(facts)); });
  }

  HeldConnector connector;
  HeldJudge next;
  Counts counts;
  HookJudge judge{connector, &next, &counts};
  std::vector<CallFacts> told;
};

TEST_F(HookJudgeTest, AsksTheHooksOfOneCallInOrder) {
  ask(question({hook("http://a/1"), hook("http://b/2"), hook("http://c/3")}));
  ASSERT_EQ(connector.calls.size(), 1u);
  connector.answer(1, 200, rewrite(R"({"n":1})"));
  ASSERT_EQ(connector.calls.size(), 2u);
  EXPECT_EQ(connector.calls[1].url, "http://b/2");
  EXPECT_THAT(connector.calls[1].body, HasSubstr(R"("args":{"n":1})"));
  connector.answer(2, 200, allow);
  connector.answer(3, 200, rewrite(R"({"n":2})"));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].hooks->args, R"({"n":2})");
  EXPECT_EQ(told[0].hooks->word, "rewritten by hook 1; then by hook 3");
  EXPECT_FALSE(told[0].authorizer);
  EXPECT_THAT(
      counts.seen,
      ElementsAre("pre_tool security rewrite", "pre_tool security allow", "pre_tool security rewrite"));
}

TEST_F(HookJudgeTest, AsksAboutTheCallsOfAReplySideBySide) {
  const auto asked = question({hook("http://a/1")});
  ask(asked);
  ask(asked);
  ASSERT_EQ(connector.calls.size(), 2u);
  connector.answer(2, 200, deny);
  EXPECT_EQ(told.size(), 1u) << "a slow hook holds back its own call only";
  connector.answer(1, 200, allow);
  EXPECT_EQ(told.size(), 2u);
}

TEST_F(HookJudgeTest, ADenialEndsTheAsking) {
  auto asked = question({hook("http://a/1"), hook("http://b/2")});
  asked.decision_point = true;
  ask(std::move(asked));
  connector.answer(1, 200, deny);
  EXPECT_EQ(connector.calls.size(), 1u);
  EXPECT_TRUE(next.questions.empty()) << "nobody else is asked about a call that is refused";
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].hooks->denied);
  EXPECT_EQ(told[0].hooks->word, "hook 1: no");
}

TEST_F(HookJudgeTest, ASecurityHookThatFailsRefusesTheCall) {
  ConnectorOutcome timed_out;
  timed_out.kind = ConnectorOutcome::Kind::unknown;
  timed_out.text = "no answer in 200 ms";
  const ConnectorOutcome cases[] = {timed_out, answered(500, ""), answered(200, "<html>"), answered(302, "")};
  for (const ConnectorOutcome& each : cases) {
    ask(question({hook("http://a/1")}));
    connector.end(connector.calls.size(), each);
    EXPECT_TRUE(told.back().hooks->denied) << each.status;
    EXPECT_THAT(told.back().hooks->word, HasSubstr("hook 1: it"));
    EXPECT_EQ(counts.seen.back(), "pre_tool security failed");
  }
  EXPECT_EQ(told.size(), std::size(cases));
}

TEST_F(HookJudgeTest, ALoggingHookIsToldAndNotListenedTo) {
  ask(question({hook("http://log/1", HookKind::logging), hook("http://a/2")}));
  ASSERT_EQ(connector.calls.size(), 2u) << "the next hook does not wait for it";
  connector.answer(2, 200, allow);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].hooks->word, "ok");
  connector.answer(1, 200, deny);
  EXPECT_EQ(told.size(), 1u);
  EXPECT_THAT(counts.seen, ElementsAre("pre_tool security allow", "pre_tool logging deny"));

  ask(question({hook("http://log/1", HookKind::logging)}));
  EXPECT_FALSE(told.back().hooks->denied);
  connector.answer(3, 500, "");
  EXPECT_EQ(counts.seen.back(), "pre_tool logging failed");
}

TEST_F(HookJudgeTest, HooksAtOtherPointsAreNotAsked) {
  ask(question({{HookPoint::on_stop, "http://a/1", HookKind::logging}, hook("http://b/2")}));
  ASSERT_EQ(connector.calls.size(), 1u);
  connector.answer(1, 200, deny);
  EXPECT_EQ(told.at(0).hooks->word, "hook 2: no") << "its place in the definition";
}

TEST_F(HookJudgeTest, WhatTheHooksLeftGoesOnToTheDecisionPoint) {
  auto asked = question({hook("http://a/1")});
  asked.decision_point = true;
  ask(std::move(asked));
  connector.answer(1, 200, rewrite(R"({"n":1})"));
  ASSERT_EQ(next.questions.size(), 1u);
  EXPECT_EQ(next.questions[0].args, R"({"n":1})");
  EXPECT_FALSE(next.questions[0].hooks);
  EXPECT_TRUE(told.empty());
  CallFacts facts;
  facts.authorizer = AuthorizerFacts{false, "not yours"};
  next.waiting[0](facts);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].authorizer->word, "not yours");
  EXPECT_EQ(told[0].hooks->args, R"({"n":1})");
}

TEST_F(HookJudgeTest, WhoJudgesNextWaitsForNoNeighbourThatAHookMayStop) {
  auto first = question({hook("https://h/1")});
  first.decision_point = first.more = true;
  auto last = question({hook("https://h/1")});
  last.decision_point = true;
  ask(std::move(first));
  ask(std::move(last));
  connector.answer(2, 200, deny);
  connector.answer(1, 200, allow);
  ASSERT_EQ(next.questions.size(), 1u);
  EXPECT_FALSE(next.questions[0].more) << "the one that it announced never comes";

  auto unhooked = question({});
  unhooked.hooks = false;
  unhooked.decision_point = unhooked.more = true;
  ask(std::move(unhooked));
  EXPECT_TRUE(next.questions[1].more) << "without hooks they come one after the other";
}

TEST_F(HookJudgeTest, ADecisionPointThatIsNotThereAllowsNothing) {
  HookJudge alone(connector, nullptr, nullptr);
  auto asked = question({});
  asked.hooks = false;
  asked.decision_point = true;
  std::optional<CallFacts> facts;
  alone.start(asked, [&](CallFacts given) { facts = std::move(given); });
  ASSERT_TRUE(facts);
  EXPECT_FALSE(facts->hooks);
  EXPECT_FALSE(facts->authorizer->allowed);
}

TEST_F(HookJudgeTest, NobodyIsToldAfterACancel) {
  auto asked = question({hook("http://a/1")});
  asked.decision_point = true;
  const auto first = ask(asked);
  judge.cancel(first);
  EXPECT_THAT(connector.cancelled, ElementsAre(1u));
  const auto second = ask(asked);
  connector.answer(2, 200, allow);
  judge.cancel(second);
  EXPECT_THAT(next.cancelled, ElementsAre(1u));
  next.waiting[0]({});
  EXPECT_TRUE(told.empty());
}

TEST_F(HookJudgeTest, AnswersThatComeAfterItsEndAreIgnored) {
  auto gone = std::make_unique<HookJudge>(connector, &next, &counts);
  gone->start(question({hook("http://log/1", HookKind::logging), hook("http://a/2")}),
              [this](CallFacts facts) { told.push_back(std::move(facts)); });
  gone.reset();
  connector.answer(1, 200, allow);
  connector.answer(2, 200, allow);
  EXPECT_TRUE(told.empty());
  EXPECT_TRUE(counts.seen.empty());
}

TEST_F(HookJudgeTest, AResultIsSeenByTheHooksAtPostToolOnly) {
  const auto asked = question({hook("http://pre/1"),
                               {HookPoint::post_tool, "http://a/2", HookKind::security},
                               {HookPoint::post_tool, "http://log/3", HookKind::logging},
                               {HookPoint::post_tool, "http://b/4", HookKind::security}});
  CallEnd end;
  end.text = "card 4111";
  std::vector<CallEnd> seen;
  judge.review(asked, end, [&](CallEnd given) { seen.push_back(std::move(given)); });
  ASSERT_EQ(connector.calls.size(), 1u);
  EXPECT_EQ(connector.calls[0].url, "http://a/2");
  connector.answer(1, 200, R"({"verdict":"rewrite","result":"card ****"})");
  ASSERT_EQ(connector.calls.size(), 3u);
  EXPECT_THAT(connector.calls[2].body, HasSubstr(R"("result":"card ****")"));
  connector.answer(3, 200, allow);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].text, "card ****");
  EXPECT_THAT(counts.seen, ElementsAre("post_tool security rewrite", "post_tool security allow"));

  judge.review(asked, end, [&](CallEnd given) { seen.push_back(std::move(given)); });
  connector.answer(4, 500, "");
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_THAT(seen[1].text, HasSubstr("is withheld (hook 2: it answered 500)"));

  const auto cancelled = judge.review(asked, end, [&](CallEnd given) { seen.push_back(std::move(given)); });
  judge.cancel_review(cancelled);
  EXPECT_THAT(connector.cancelled, ElementsAre(5u));
  EXPECT_EQ(seen.size(), 2u);

  end.kind = CallEnd::Kind::unknown;
  judge.review(asked, end, [&](CallEnd given) { seen.push_back(std::move(given)); });
  ASSERT_EQ(seen.size(), 3u) << "there is no result to see";
  EXPECT_EQ(connector.calls.size(), 5u);
}

/// An agent that may pay, behind two hooks.
std::shared_ptr<const AgentVersion> payer() {
  const auto tool = parse_manifest(R"({"name":"pay","description":"Pays.","kind":"http",
      "side_effects":"external","network":{"allow":["pay.example:80"]},
      "input_schema":{"type":"object","required":["usd"],"properties":{"usd":{"type":"number"}}},
      "http":{"method":"POST","url":"http://pay.example/","body":{"usd":"{{/usd}}"}}})");
  EXPECT_TRUE(tool) << (tool ? "" : tool.error().pointer + ": " + tool.error().text);
  auto agent = std::make_shared<AgentVersion>(*agent_with({*tool}));
  agent->definition.hooks = {hook("http://cap.example/"), hook("http://audit.example/", HookKind::logging)};
  return agent;
}

/// The paid bodies of a run whose hook answers `answer`, and the run's word on the call.
struct Paid {
  std::vector<std::string> bodies;
  ToolRequested requested;
  ToolResult result;
};

Paid run_with_hook(const ConnectorOutcome& answer) {
  std::atomic<int> replies = 0;
  FakeModelClient models(
      [&](const ModelCall&) { return ++replies == 1 ? calls("pay", R"({"usd":900})") : says("done"); });
  TestNode test(models, payer(), [answer](const ConnectorCall& call) -> std::optional<ConnectorOutcome> {
    if (call.url == "http://cap.example/") return answer;
    if (call.url == "http://audit.example/") return answered(500, "");
    return answered(200, "paid");
  });
  HookJudge judge(test.connector, nullptr, nullptr);
  test.judge = &judge;
  test.restart();
  const RunId run = test.start()->run_id;
  test.wait_for_end(run);
  Paid paid;
  for (const ConnectorCall& call : test.connector.calls())
    if (call.url == "http://pay.example/") paid.bodies.push_back(call.body);
  const auto records = test.journal.records(run, 1, SIZE_MAX);
  for (const Record& record : *records)
    for (const Event& event : record.events) {
      if (const auto* requested = std::get_if<ToolRequested>(&event.payload)) paid.requested = *requested;
      if (const auto* result = std::get_if<ToolResult>(&event.payload)) paid.result = *result;
    }
  test.node.reset();
  return paid;
}

TEST(HooksOfARun, WhatAHookRewroteIsWhatRuns) {
  const Paid paid = run_with_hook(answered(200, rewrite(R"({"usd":100})")));
  EXPECT_THAT(paid.bodies, ElementsAre(R"({"usd":100})"));
  EXPECT_EQ(paid.requested.args.text, R"({"usd":100})");
  EXPECT_EQ(paid.requested.verdict.hooks, "rewritten by hook 1");
  EXPECT_EQ(paid.result.status, ToolStatus::ok);
}

TEST(HooksOfARun, NothingRunsThatAHookRefused) {
  const Paid paid = run_with_hook(answered(200, deny));
  EXPECT_TRUE(paid.bodies.empty());
  EXPECT_EQ(paid.requested.verdict.hooks, "hook 1: no");
  EXPECT_EQ(paid.result.status, ToolStatus::denied);
}

TEST(HooksOfARun, NothingRunsThatAHookDidNotAnswerAbout) {
  ConnectorOutcome refused;
  refused.text = "connection refused";
  const Paid paid = run_with_hook(refused);
  EXPECT_TRUE(paid.bodies.empty());
  EXPECT_EQ(paid.result.status, ToolStatus::denied);
  EXPECT_THAT(paid.requested.verdict.hooks, HasSubstr("hook 1: it did not answer: connection refused"));
}

/// What the journal and the model get of a payment whose result a hook sees first.
std::pair<std::string, std::string> reviewed(std::optional<ConnectorOutcome> answer,
                                             bool with_reviewer = true) {
  std::atomic<int> replies = 0;
  std::string shown;
  FakeModelClient models([&](const ModelCall& call) {
    if (++replies == 1) return calls("pay", R"({"usd":9})");
    for (const auto& piece : call.body)
      shown += *piece;
    return says("done");
  });
  auto agent = std::make_shared<AgentVersion>(*payer());
  agent->definition.hooks = {{HookPoint::post_tool, "http://redact.example/", HookKind::security}};
  TestNode test(models, agent, [answer](const ConnectorCall& call) -> std::optional<ConnectorOutcome> {
    if (call.url == "http://redact.example/") return answer;
    return answered(200, "paid with card 4111");
  });
  HookJudge judge(test.connector, nullptr, nullptr);
  if (with_reviewer) test.reviewer = &judge;
  test.restart();
  const RunId run = test.start()->run_id;
  test.wait_for_end(run);
  std::string recorded;
  const auto records = test.journal.records(run, 1, SIZE_MAX);
  for (const Record& record : *records)
    for (const Event& event : record.events)
      if (const auto* result = std::get_if<ToolResult>(&event.payload)) recorded = result->content.at(0).text;
  test.node.reset();
  return {recorded, shown};
}

TEST(HooksOfARun, WhatAHookRedactedIsNowhere) {
  const auto [recorded, shown] =
      reviewed(answered(200, R"({"verdict":"rewrite","result":"paid with card ****"})"));
  EXPECT_EQ(recorded, "paid with card ****");
  EXPECT_THAT(shown, HasSubstr("paid with card ****"));
  EXPECT_THAT(shown, testing::Not(HasSubstr("4111")));
}

TEST(HooksOfARun, AResultThatNoHookHasSeenIsWithheld) {
  for (const bool with_reviewer : {true, false}) {
    const auto [recorded, shown] = reviewed(answered(503, ""), with_reviewer);
    EXPECT_THAT(recorded, HasSubstr("The call was carried out, but what it returned is withheld"));
    EXPECT_THAT(shown, testing::Not(HasSubstr("4111")));
  }
}

/// How a run ends whose model calls a hook is asked about, and what its models were sent.
std::pair<RunRow, std::vector<std::string>> briefed(std::optional<ConnectorOutcome> answer) {
  std::vector<std::string> sent;
  FakeModelClient models([&](const ModelCall& call) {
    std::string body;
    for (const auto& piece : call.body)
      body += *piece;
    sent.push_back(std::move(body));
    return says("done");
  });
  auto agent = std::make_shared<AgentVersion>(*payer());
  agent->definition.hooks = {{HookPoint::pre_model, "http://brief.example/", HookKind::security}};
  TestNode test(
      models, agent, [answer](const ConnectorCall&) -> std::optional<ConnectorOutcome> { return answer; });
  HookJudge judge(test.connector, nullptr, nullptr);
  test.reviewer = &judge;
  test.restart();
  const RunId run = test.start()->run_id;
  const RunRow row = test.wait_for_row(run, [](const RunRow& each) {
    return each.status == RunStatus::finished || each.status == RunStatus::paused;
  });
  test.node.reset();
  return {row, sent};
}

TEST(HooksOfARun, TellTheModelWhatTheyWant) {
  const auto [row, sent] = briefed(answered(200, R"({"verdict":"allow","context":"It rains in Lisbon."})"));
  EXPECT_EQ(row.stop_reason, StopReason::final_answer);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_THAT(sent[0], HasSubstr("It rains in Lisbon."));
}

TEST(HooksOfARun, KeepTheModelFromBeingCalled) {
  const auto [denied_row, denied_sent] = briefed(answered(200, deny));
  EXPECT_EQ(denied_row.stop_reason, StopReason::refused);
  EXPECT_TRUE(denied_sent.empty());
  const auto [waiting_row, waiting_sent] = briefed(answered(503, ""));
  EXPECT_EQ(waiting_row.status, RunStatus::paused);
  EXPECT_THAT(waiting_row.pause_reasons, ElementsAre(PauseReason::operator_));
  EXPECT_TRUE(waiting_sent.empty());
}

}  // namespace
}  // namespace ratchet
