// Model calls: which replies end a run, and what follows a failed attempt.

#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

Setting with_providers(std::vector<Protocol> protocols) {
  Setting setting;
  setting.model.providers.clear();
  for (const Protocol protocol : protocols) {
    ProviderConfig provider;
    provider.protocol = protocol;
    provider.base_url = "http://model.example";
    provider.model = "model-" + std::to_string(setting.model.providers.size());
    setting.model.providers.push_back(std::move(provider));
  }
  return setting;
}

TEST(ModelReply, WithoutCallsEndsTheRun) {
  RunStory story;
  EXPECT_EQ(story.begin(), "model.requested");
  EXPECT_EQ(story.replies({said("It is "), said("done.")}), "model.completed run.finished");
  EXPECT_TRUE(story.finished(StopReason::final_answer));
  EXPECT_EQ(story.latest<RunFinished>().result, "It is done.");
  EXPECT_EQ(story.latest<RunFinished>().report, std::nullopt);
}

TEST(ModelReply, EndsTheRunAsItsStopSays) {
  const auto end_of = [](ModelStop stop) {
    RunStory story;
    story.begin();
    story.replies({said("Well")}, stop);
    return story.state().stop_reason;
  };
  EXPECT_EQ(end_of(ModelStop::refusal), StopReason::refused);
  EXPECT_EQ(end_of(ModelStop::max_tokens), StopReason::model_length);
  EXPECT_EQ(end_of(ModelStop::context_overflow), StopReason::context_overflow);
  EXPECT_EQ(end_of(ModelStop::other), StopReason::final_answer) << "judged by the content";
}

TEST(ModelReply, MayBeEmpty) {
  RunStory story;
  story.begin();
  EXPECT_EQ(story.replies({}), "model.completed run.finished");
  EXPECT_EQ(story.latest<RunFinished>().result, "");
}

TEST(ModelReply, ThatWasCutOffContributesNoCall) {
  for (const ModelStop stop : {ModelStop::max_tokens, ModelStop::refusal, ModelStop::context_overflow}) {
    RunStory story;
    story.begin();
    EXPECT_EQ(story.replies({said("I send"), call_of("send")}, stop), "model.completed run.finished");
    EXPECT_EQ(story.latest<ModelCompleted>().content.size(), 1u) << name(stop);
  }
}

TEST(ModelReply, ThatPausesItsTurnGoesOn) {
  RunStory story;
  story.begin();
  EXPECT_EQ(story.replies({said("Searching")}, ModelStop::pause_turn), "model.completed model.requested");
  EXPECT_EQ(story.state().step, 2u) << "it counts as a step";
}

TEST(ModelReply, IsTakenOnce) {
  RunStory story;
  story.begin();
  const input::ModelEnded again{1, 1, {ModelReply{}, 1, 1}};
  story.replies({call_of("read")});
  EXPECT_EQ(story.give(again), "");
  story.ends("call_1_1");
  EXPECT_EQ(story.give(again), "") << "of a step that is over";
}

TEST(ModelFailure, IsTriedThriceAtOneProvider) {
  RunStory story;
  story.begin();
  for (int failures = 1; failures < 3; ++failures) {
    EXPECT_EQ(story.fails(FailureClass::transient), "model.failed");
    EXPECT_TRUE(story.latest<ModelFailed>().retry_at);
    EXPECT_EQ(story.is_due(), "") << "not before its time";
    story.pass_ms(9'000);
    EXPECT_EQ(story.is_due(), "model.requested");
    EXPECT_EQ(story.latest<ModelRequested>().attempt, failures + 1u);
  }
  EXPECT_EQ(story.fails(FailureClass::overloaded), "model.failed run.finished");
  EXPECT_TRUE(story.finished(StopReason::model_error));
  EXPECT_EQ(story.latest<RunFinished>().error, "it failed");
}

TEST(ModelFailure, WaitsLongerEachTimeLessAQuarterAtMost) {
  RunStory story;
  story.begin();
  for (const std::int64_t delay_ms : {500, 1'000}) {
    story.fails(FailureClass::transient);
    const std::int64_t wait_ms = ms_between(story.now(), *story.latest<ModelFailed>().retry_at);
    EXPECT_LE(wait_ms, delay_ms);
    EXPECT_GE(wait_ms, delay_ms * 3 / 4);
    story.pass_ms(wait_ms);
    story.is_due();
  }
}

TEST(ModelFailure, WaitsAsLongAsTheProviderAsks) {
  RunStory story;
  story.begin();
  story.fails(FailureClass::overloaded, 7'000);
  EXPECT_EQ(story.latest<ModelFailed>().retry_at, story.now().plus_ms(7'000));
  EXPECT_EQ(next_due(story.state(), story.now()), story.now().plus_ms(7'000));
}

TEST(ModelFailure, CountsAnewInEachStep) {
  RunStory story;
  story.begin();
  for (int step = 1; step <= 3; ++step) {
    story.fails(FailureClass::transient, 0);
    story.fails(FailureClass::transient, 0);
    story.replies({call_of("read")});
    story.ends("call_" + std::to_string(step) + "_1");
  }
  EXPECT_FALSE(story.state().finished());
}

TEST(ModelFailure, MovesOnToTheNextProvider) {
  RunStory story(with_providers({Protocol::anthropic, Protocol::openai}));
  story.begin();
  EXPECT_EQ(story.fails(FailureClass::permanent), "model.failed | model.requested");
  EXPECT_EQ(story.latest<ModelFailed>().next_provider, 1u);
  EXPECT_EQ(story.latest<ModelRequested>().provider, 1u);
  EXPECT_EQ(story.latest<ModelRequested>().attempt, 2u) << "attempts count over all providers of a step";
  story.replies({call_of("read")});
  story.ends("call_1_1");
  EXPECT_EQ(story.latest<ModelRequested>().provider, 1u) << "a run stays on the last one that worked";
}

TEST(ModelFailure, MovesOnAfterThreeOfOneProviderAndEndsAfterTheLast) {
  RunStory story(with_providers({Protocol::openai, Protocol::scripted}));
  story.begin();
  story.fails(FailureClass::transient, 0);
  story.fails(FailureClass::transient, 0);
  EXPECT_EQ(story.fails(FailureClass::transient, 0), "model.failed | model.requested");
  story.fails(FailureClass::overloaded, 0);
  story.fails(FailureClass::overloaded, 0);
  EXPECT_EQ(story.fails(FailureClass::overloaded, 0), "model.failed run.finished");
  EXPECT_EQ(story.latest<ModelFailed>().attempt, 6u);
}

TEST(ModelFailure, IsFinalWhereNobodyWouldTakeTheRequest) {
  const auto end_of = [](FailureClass kind) {
    RunStory story(with_providers({Protocol::anthropic, Protocol::openai}));
    story.begin();
    story.fails(kind);
    return story.state().stop_reason;
  };
  EXPECT_EQ(end_of(FailureClass::overflow), StopReason::context_overflow);
  EXPECT_EQ(end_of(FailureClass::rejected), StopReason::model_error);
  EXPECT_EQ(end_of(FailureClass::money), std::nullopt) << "another account may have money";
}

TEST(ModelFailure, DoesNotOutliveTheRunsTime) {
  RunStory story;
  story.begin();
  story.fails(FailureClass::overloaded, 3'600'000);
  EXPECT_EQ(next_due(story.state(), story.now()), seconds_warning_at(story.state()));
  story.pass_ms(600'000);
  EXPECT_EQ(story.is_due(), "budget.warning run.finished");
  EXPECT_TRUE(story.finished(StopReason::time_limit));
}

}  // namespace
}  // namespace ratchet::stories
