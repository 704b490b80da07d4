// The four bounds. Figures of public reports (an unlimited child with nothing left, usage counted twice, one
// call over the limit) are among the inputs.

#include "runtime/model/estimate.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

Setting with(Budgets budgets) {
  Setting setting;
  setting.budgets = budgets;
  return setting;
}

/// Tokens of the first request of a story, as they are estimated.
std::int64_t first_estimate() {
  RunStory story;
  story.begin();
  return story.latest<ModelRequested>().estimated_tokens;
}

std::int64_t with_margin(std::int64_t tokens) {
  return tokens + tokens * 15 / 100;
}

TEST(Budgets, OfZeroMeanZero) {
  const auto reason = [](Budgets budgets) {
    RunStory story(with(budgets));
    EXPECT_EQ(story.begin(), "run.finished");
    EXPECT_EQ(story.latest<RunFinished>().steps, 0);
    return story.state().stop_reason;
  };
  EXPECT_EQ(reason({0, 200'000, 600, Usd{1'000'000'000}}), StopReason::step_limit);
  EXPECT_EQ(reason({30, 0, 600, Usd{1'000'000'000}}), StopReason::token_limit);
  EXPECT_EQ(reason({30, 200'000, 0, Usd{1'000'000'000}}), StopReason::time_limit);
  EXPECT_EQ(reason({30, 200'000, 600, Usd{0}}), StopReason::cost_limit);
}

TEST(Budgets, OfNoMoneyLetAFreeModelRun) {
  Setting setting = with({30, 200'000, 600, Usd{0}});
  setting.model.prices = {};
  RunStory story(setting);
  EXPECT_EQ(story.begin(), "model.requested");
}

TEST(Budgets, ReserveTheWorstBeforeEachCall) {
  RunStory story;
  story.begin();
  const ModelRequested& requested = story.latest<ModelRequested>();
  const std::int64_t input = with_margin(requested.estimated_tokens);
  EXPECT_EQ(requested.max_tokens, 1'000);
  EXPECT_EQ(requested.reserved.tokens, input + 1'000);
  // The dearest input there is (written to the cache), and all of the reply.
  EXPECT_EQ(requested.reserved.usd.nano, input * 3'750 + 1'000 * 15'000);
  EXPECT_EQ(story.state().reserved, requested.reserved);
  story.replies({said("done")});
  EXPECT_EQ(story.state().reserved, Amount{});
}

TEST(Budgets, LowerTheReplyToWhatIsLeft) {
  const std::int64_t input = with_margin(first_estimate());
  RunStory story(with({30, input + 300, 600, Usd{1'000'000'000}}));
  EXPECT_EQ(story.begin(), "model.requested");
  EXPECT_EQ(story.latest<ModelRequested>().max_tokens, 300);
}

TEST(Budgets, LowerTheReplyToTheMoneyThatIsLeft) {
  const std::int64_t input = with_margin(first_estimate());
  RunStory story(with({30, 200'000, 600, Usd{input * 3'750 + 200 * 15'000}}));
  EXPECT_EQ(story.begin(), "model.requested");
  EXPECT_EQ(story.latest<ModelRequested>().max_tokens, 200);
}

TEST(Budgets, StopWhereNoUsefulReplyIsLeft) {
  const std::int64_t input = with_margin(first_estimate());
  for (const auto& [left, runs] : {std::pair(63, false), std::pair(64, true)}) {
    RunStory story(with({30, input + left, 600, Usd{1'000'000'000}}));
    EXPECT_EQ(story.begin(), runs ? "model.requested" : "run.finished") << left;
  }
  RunStory story(with({30, 200'000, 600, Usd{input * 3'750 + 63 * 15'000}}));
  story.begin();
  EXPECT_TRUE(story.finished(StopReason::cost_limit));
}

TEST(Budgets, StopOnTheStepLimitWithAReport) {
  RunStory story(with({2, 200'000, 600, Usd{1'000'000'000}}));
  story.begin();
  story.replies({call_of("todo_write", R"({"items":[{"text":"write it","status":"open"}]})")});
  story.replies({call_of("read")});
  story.ends("call_2_1");
  EXPECT_TRUE(story.finished(StopReason::step_limit));
  const auto& report = story.latest<RunFinished>().report;
  ASSERT_TRUE(report);
  EXPECT_EQ(report->steps, 2);
  EXPECT_EQ(report->calls.size(), 2u);
  EXPECT_EQ(report->open, std::vector<std::string>{"write it"});
  EXPECT_NE(report->text.find("step_limit"), std::string::npos) << report->text;
}

TEST(Budgets, SettleWhatTheProviderReported) {
  RunStory story;
  story.begin();
  // 12.4 million tokens "in", of which 11.5 million were read from the cache: each is charged once.
  story.replies({call_of("read")}, ModelStop::tool_use, Usage{1'240, 1'150, 30, 20});
  EXPECT_EQ(story.latest<ModelCompleted>().cost_usd.nano,
            60 * 3'000 + 1'150 * 300 + 30 * 3'750 + 20 * 15'000);
  EXPECT_EQ(story.state().tokens_taken(), 1'260);
}

TEST(Budgets, CountCachedInput) {
  RunStory story(with({30, 5'000, 600, Usd{1'000'000'000}}));
  story.begin();
  story.replies({call_of("read")}, ModelStop::tool_use, Usage{4'900, 4'900, 0, 20});
  story.ends("call_1_1");
  EXPECT_TRUE(story.finished(StopReason::token_limit));
}

TEST(Budgets, EstimateWhatTheProviderDoesNotReport) {
  RunStory story;
  story.begin();
  story.replies({said("twelve bytes")}, ModelStop::end_turn, std::nullopt);
  const ModelCompleted& completed = story.latest<ModelCompleted>();
  EXPECT_TRUE(completed.usage_estimated);
  EXPECT_EQ(completed.usage.input, story.latest<ModelRequested>().estimated_tokens);
  EXPECT_EQ(completed.usage.output, estimate_tokens_of_bytes(12));
}

TEST(Budgets, RecordAnOverrunAndStartNothingAfterIt) {
  RunStory story(with({30, 6'000, 600, Usd{1'000'000'000}}));
  story.begin();
  EXPECT_EQ(story.replies({call_of("publish")}, ModelStop::tool_use, Usage{100, 0, 0, 9'000}),
            "model.completed tool.requested tool.result run.finished");
  EXPECT_TRUE(story.finished(StopReason::token_limit));
  EXPECT_EQ(story.latest<ToolResult>().status, ToolStatus::cancelled);
  EXPECT_EQ(story.latest<ToolResult>().content.front().text.find("not known"), std::string::npos)
      << "it is known: the call was never executed";
}

TEST(Budgets, LetAnAnswerStandThatCostTooMuch) {
  RunStory story(with({30, 6'000, 600, Usd{1'000'000'000}}));
  story.begin();
  story.replies({said("done")}, ModelStop::end_turn, Usage{100, 0, 0, 9'000});
  EXPECT_TRUE(story.finished(StopReason::final_answer));
}

TEST(Budgets, BelieveNoReportThatCannotBe) {
  RunStory story;
  story.begin();
  story.replies({call_of("read")}, ModelStop::tool_use, Usage{-1'000'000, -5, 0, -7});
  EXPECT_EQ(story.latest<ModelCompleted>().usage, Usage{}) << "a negative use would make room";
  story.ends("call_1_1");
  story.replies({said("x")}, ModelStop::end_turn, Usage{INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX});
  EXPECT_GT(story.state().tokens_taken(), 1'000'000);
  EXPECT_GT(story.state().cost_usd.nano, 0) << "sums do not overflow";
}

TEST(Budgets, ChargeAFailedAttemptThatProducedOutput) {
  RunStory story;
  story.begin();
  const Amount reserved = story.latest<ModelRequested>().reserved;
  ModelFailure failure;
  failure.text = "the stream broke";
  failure.produced = true;
  story.give(input::ModelEnded{1, 1, {failure, 100, 10}});
  EXPECT_EQ(story.latest<ModelFailed>().charged.total(), reserved.tokens) << "nobody says how much came";
  failure.usage = {90, 0, 0, 12};
  story.pass_ms(10'000);
  story.is_due();
  story.give(input::ModelEnded{1, 2, {failure, 100, 10}});
  EXPECT_EQ(story.latest<ModelFailed>().charged, (Usage{90, 0, 0, 12}));
}

TEST(Budgets, ChargeNothingForAnAttemptThatWasRefused) {
  RunStory story;
  story.begin();
  story.fails(FailureClass::overloaded);
  EXPECT_EQ(story.latest<ModelFailed>().charged, Usage{});
  EXPECT_EQ(story.latest<ModelFailed>().charged_usd, Usd{});
}

TEST(Budgets, WarnOnceAtFourFifths) {
  RunStory story(with({10, 20'000, 600, Usd{1'000'000'000}}));
  story.begin();
  story.replies({call_of("read")}, ModelStop::tool_use, Usage{100, 100, 0, 15'899});
  EXPECT_EQ(story.ends("call_1_1"), "tool.result model.requested");
  story.replies({call_of("read")}, ModelStop::tool_use, Usage{1, 1, 0, 0});
  EXPECT_EQ(story.ends("call_2_1"), "tool.result budget.warning model.requested");
  const BudgetWarning& warning = story.latest<BudgetWarning>();
  EXPECT_EQ(warning.which, BudgetKind::tokens);
  EXPECT_EQ(warning.used, 16'000);
  EXPECT_EQ(warning.limit, 20'000);
  EXPECT_NE(story.latest<ModelRequested>().late_text.find("tokens left: "), std::string::npos)
      << "the model is told too: " << story.latest<ModelRequested>().late_text;
  story.replies({call_of("read")}, ModelStop::tool_use, Usage{1, 1, 0, 0});
  EXPECT_EQ(story.ends("call_3_1"), "tool.result model.requested") << "only once";
}

TEST(Budgets, WarnOfEachKindByItself) {
  RunStory story(with({5, 200'000, 100, Usd{1'000'000'000}}));
  story.begin();
  for (int step = 1; step <= 4; ++step) {
    story.replies({call_of("read")});
    if (step == 4) story.pass_ms(80'000);
    story.ends("call_" + std::to_string(step) + "_1");
  }
  EXPECT_EQ(story.count<BudgetWarning>(), 2);
  EXPECT_EQ(story.latest<BudgetWarning>().which, BudgetKind::seconds);
  EXPECT_EQ(story.latest<BudgetWarning>().used, 80);
}

TEST(Budgets, WarnOfTimeToTheMomentWhateverIsUnderWay) {
  RunStory story(with({10, 200'000, 4, Usd{1'000'000'000}}));
  story.begin();
  const Timestamp due = story.now().plus_ms(3'200);
  EXPECT_EQ(next_due(story.state(), story.now()), due);
  story.pass_ms(3'199);
  EXPECT_EQ(story.is_due(), "");
  story.pass_ms(1);
  EXPECT_EQ(story.is_due(), "budget.warning");
  EXPECT_EQ(story.latest<BudgetWarning>().used, 3);
  EXPECT_EQ(next_due(story.state(), story.now()), due.plus_ms(800));
  story.replies({call_of("read")});
  EXPECT_EQ(story.ends("call_1_1"), "tool.result model.requested") << "only once";
}

TEST(Budgets, WarnOfTimeByTheRulesARunBeganWith) {
  RunState state;
  auto started = std::make_shared<RunStarted>();
  started->budgets.max_seconds = 10;
  state.deadline_at = Timestamp{10'000'000};
  state.started = started;
  EXPECT_EQ(seconds_warning_at(state), Timestamp{8'000'000});
  started->rules_version = 1;
  EXPECT_EQ(seconds_warning_at(state), std::nullopt);
}

TEST(Budgets, EndARunWhoseTimeIsUp) {
  RunStory story;
  story.begin();
  const Amount reserved = story.latest<ModelRequested>().reserved;
  story.pass_ms(600'000);
  EXPECT_EQ(story.is_due(), "budget.warning model.failed run.finished");
  EXPECT_TRUE(story.finished(StopReason::time_limit));
  EXPECT_EQ(story.latest<ModelFailed>().charged.total(), reserved.tokens);
  EXPECT_EQ(story.latest<ModelFailed>().retry_at, std::nullopt);
}

TEST(Budgets, EndARunOnTimeWhateverTheProviderDidBefore) {
  RunStory story;
  story.begin();
  for (int i = 0; i < 2; ++i) {
    story.fails(FailureClass::transient);
    story.pass_ms(10'000);
    story.is_due();
  }
  story.pass_ms(600'000);
  story.is_due();
  EXPECT_TRUE(story.finished(StopReason::time_limit)) << "not model_error";
}

TEST(Budgets, DoNotCutOffACallThatActs) {
  RunStory story;
  story.begin();
  story.replies({call_of("publish"), call_of("read")});
  story.pass_ms(700'000);
  EXPECT_EQ(story.is_due(), "budget.warning") << "it ends by its own timeout";
  EXPECT_EQ(next_due(story.state(), story.now()), std::nullopt);
  EXPECT_EQ(story.ends("call_1_1"), "tool.result");
  EXPECT_EQ(story.is_due(), "tool.result run.finished");
  EXPECT_TRUE(story.finished(StopReason::time_limit));
}

TEST(Budgets, TellTheModelHowManyRepliesAreLeft) {
  RunStory story(with({3, 200'000, 600, Usd{1'000'000'000}}));
  story.begin();
  EXPECT_NE(story.latest<ModelRequested>().late_text.find("left after this one: 2"), std::string::npos);
  story.fails(FailureClass::transient, 0);
  EXPECT_EQ(story.latest<ModelRequested>().attempt, 2u);
  EXPECT_NE(story.latest<ModelRequested>().late_text.find("left after this one: 2"), std::string::npos)
      << "a repeated attempt is the same reply: " << story.latest<ModelRequested>().late_text;
}

TEST(Budgets, StopWhenTheWindowIsFull) {
  Setting setting;
  setting.model.context_window_tokens = 3'000;
  RunStory story(setting);
  story.begin();
  story.replies({call_of("read")});
  story.ends("call_1_1", std::string(7'900, '1'));
  EXPECT_TRUE(story.finished(StopReason::context_overflow));
}

TEST(Budgets, CalibrateTheEstimateByWhatIsReported) {
  RunStory story;
  story.begin();
  const std::int64_t estimated = story.latest<ModelRequested>().estimated_tokens;
  story.replies({call_of("read")}, ModelStop::tool_use, Usage{2 * estimated, 0, 0, 10});
  EXPECT_EQ(story.state().calibration_permille, 1'250u);
  story.ends("call_1_1");
  EXPECT_GT(story.latest<ModelRequested>().estimated_tokens, estimated * 5 / 4);
}

}  // namespace
}  // namespace ratchet::stories
