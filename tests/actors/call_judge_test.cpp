// Who is asked about a call, how often, and what its absence means.

#include "actors/call_judge.hpp"

#include <gmock/gmock.h>

#include "runtime/limits.hpp"
#include "tests/fakes/held_connector.hpp"
#include "tests/fakes/set_clock.hpp"

namespace ratchet {
namespace {

using testing::HasSubstr;

constexpr const char* metadata =
    R"({"policy_decision_point":"https://pdp","access_evaluation_endpoint":"https://pdp/one",)"
    R"("access_evaluations_endpoint":"https://pdp/many"})";

JudgeQuestion question(std::string call_id, bool more = false) {
  JudgeQuestion out;
  auto tool = std::make_shared<ToolManifest>();
  tool->name = "look";
  out.tool = tool;
  out.call_id = std::move(call_id);
  out.args = "{}";
  out.decision_point = true;
  out.more = more;
  return out;
}

class CallJudgeTest : public ::testing::Test {
 protected:
  using Said = std::shared_ptr<std::optional<CallFacts>>;

  Said ask(JudgeQuestion wanted) {
    auto said = std::make_shared<std::optional<CallFacts>>();
    last = judge.start(std::move(wanted), [said](CallFacts facts) { *said = std::move(facts); });
    return said;
  }

  /// Tells the point's metadata, in answer to the first question.
  void tell_where() {
    ask(question("first"));
    pdp.answer(1, 200, metadata);
    pdp.answer(2, 200, R"({"decision":true})");
  }

  static std::string word(const Said& said) { return *said ? (*said)->authorizer.value().word : "(waits)"; }

  SetClock clock;
  HeldConnector pdp;
  std::vector<std::string> log;
  CallJudge judge{
      pdp, clock, DecisionPointAddress{.url = "https://pdp"}, [this](LogLevel, const std::string& line) {
        log.push_back(line);
      }};
  Judge::Ticket last = 0;
};

TEST_F(CallJudgeTest, AsksWhereFirstAndThenAboutTheCall) {
  const auto said = ask(question("c1"));
  ASSERT_EQ(pdp.calls.size(), 1u);
  EXPECT_EQ(pdp.calls[0].url, "https://pdp/.well-known/authzen-configuration");
  pdp.answer(1, 200, metadata);
  ASSERT_EQ(pdp.calls.size(), 2u);
  EXPECT_EQ(pdp.calls[1].url, "https://pdp/one");
  EXPECT_EQ(word(said), "(waits)");
  pdp.answer(2, 200, R"({"decision":true})");
  EXPECT_EQ(word(said), "ok");
  EXPECT_TRUE((*said)->authorizer->allowed);
  EXPECT_FALSE((*said)->hooks);
  ask(question("c2"));
  EXPECT_EQ(pdp.calls[2].url, "https://pdp/one") << "it is known by now";
}

TEST_F(CallJudgeTest, AsksAboutTheCallsOfAReplyTogetherWhereThatIsOffered) {
  tell_where();
  const auto a = ask(question("a", true)), b = ask(question("b", true));
  EXPECT_EQ(pdp.calls.size(), 2u);
  const auto c = ask(question("c"));
  ASSERT_EQ(pdp.calls.size(), 3u);
  EXPECT_EQ(pdp.calls[2].url, "https://pdp/many");
  pdp.answer(3, 200, R"({"evaluations":[{"decision":true},{"decision":false},{"decision":true}]})");
  EXPECT_EQ(word(a), "ok");
  EXPECT_EQ(word(b), "the decision point denies it");
  EXPECT_EQ(word(c), "ok");
}

TEST_F(CallJudgeTest, AsksAboutEachCallWhereNothingElseIsOffered) {
  const auto a = ask(question("a", true)), b = ask(question("b"));
  pdp.answer(1, 404, "");
  ASSERT_EQ(pdp.calls.size(), 3u);
  EXPECT_EQ(pdp.calls[1].url, "https://pdp/access/v1/evaluation");
  pdp.answer(3, 200, R"({"decision":true})");
  pdp.answer(2, 503, "");
  EXPECT_EQ(word(a), "the decision point answered with HTTP status 503");
  EXPECT_EQ(word(b), "ok");
  ask(question("c"));
  EXPECT_EQ(pdp.calls[3].url, "https://pdp/access/v1/evaluation") << "that there are no metadata is known";
}

TEST_F(CallJudgeTest, APointThatIsAwayDeniesAndIsLookedForAgain) {
  const auto said = ask(question("a"));
  pdp.end(1, {.text = "connection refused"});
  pdp.end(2, {.text = "connection refused"});
  EXPECT_EQ(word(said), "the decision point did not answer: connection refused");
  EXPECT_THAT(log, testing::ElementsAre(HasSubstr("connection refused")));
  ask(question("b"));
  EXPECT_EQ(pdp.calls[2].url, "https://pdp/access/v1/evaluation");
  clock.pass_ms(limits::decision_metadata_retry_ms);
  ask(question("c"));
  EXPECT_EQ(pdp.calls[3].url, "https://pdp/.well-known/authzen-configuration");
}

TEST_F(CallJudgeTest, WhoCancelsIsNotTold) {
  tell_where();
  const auto a = ask(question("a"));
  judge.cancel(last);
  EXPECT_EQ(pdp.cancelled.size(), 1u) << "nobody else waits for it";
  const auto b = ask(question("b", true));
  const auto b_ticket = last;
  const auto c = ask(question("c"));
  judge.cancel(b_ticket);
  EXPECT_EQ(pdp.cancelled.size(), 1u) << "the other call of the reply still waits";
  pdp.answer(4, 200, R"({"evaluations":[{"decision":true},{"decision":true}]})");
  EXPECT_EQ(word(a), "(waits)");
  EXPECT_EQ(word(b), "(waits)");
  EXPECT_EQ(word(c), "ok");
  ask(question("d", true));
  judge.cancel(last);
  ask(question("e"));
  EXPECT_EQ(pdp.calls.back().url, "https://pdp/one") << "only one of the reply is left";
}

TEST_F(CallJudgeTest, WhatNobodyCanBeAskedAboutIsDenied) {
  CallJudge nobody(pdp, clock, std::nullopt, [](LogLevel, const std::string&) {});
  Said said = std::make_shared<std::optional<CallFacts>>();
  nobody.start(question("a"), [said](CallFacts facts) { *said = std::move(facts); });
  EXPECT_FALSE((*said)->authorizer->allowed);
  JudgeQuestion hooks = question("b");
  hooks.hooks = true;
  const auto hooked = ask(std::move(hooks));
  EXPECT_TRUE((*hooked)->hooks->denied);
  EXPECT_TRUE(pdp.calls.empty());
}

}  // namespace
}  // namespace ratchet
