// Hooks at `pre_model`: asked before each model call is announced.

#include <gmock/gmock.h>

#include "runtime/context/inspect.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

using testing::HasSubstr;
using Effects = std::vector<Effect>;

Setting with_hook() {
  Setting setting;
  setting.hooks = {{HookPoint::pre_model, "http://hook.example", HookKind::security}};
  return setting;
}

ModelFacts telling(std::string context) {
  return {ModelFacts::Outcome::clear, {}, std::move(context)};
}

ModelFacts denied() {
  return {ModelFacts::Outcome::denied, "hook 1: not today", {}};
}

ModelFacts unanswered() {
  return {ModelFacts::Outcome::unanswered, "hook 1: it did not answer", {}};
}

Effects wanted(const RunStory& story) {
  return outstanding(story.state(), story.now());
}

TEST(Briefing, StandsBeforeEachStep) {
  RunStory story(with_hook());
  EXPECT_EQ(story.begin(), "") << "nothing is announced before the hooks have spoken";
  EXPECT_EQ(wanted(story), (Effects{BriefEffect{1, 1}}));
  EXPECT_FALSE(waits(story.state()));
  EXPECT_EQ(story.is_briefed(), "model.requested");
  EXPECT_EQ(wanted(story), (Effects{ModelEffect{1, 1}}));
  story.replies({call_of("read")});
  EXPECT_EQ(story.ends("call_1_1"), "tool.result");
  EXPECT_EQ(wanted(story), (Effects{BriefEffect{2, 1}}));
  EXPECT_EQ(story.is_briefed(), "model.requested");
  EXPECT_EQ(story.replies({said("done")}), "model.completed run.finished");
}

TEST(Briefing, IsNothingToRunsWithoutSuchHooks) {
  RunStory story;
  EXPECT_EQ(story.begin(), "model.requested");
  EXPECT_EQ(wanted(story), (Effects{ModelEffect{1, 1}}));
}

TEST(Briefing, WhatAHookSaysStandsInThatRequestAndInNoOther) {
  RunStory story(with_hook());
  story.begin();
  story.is_briefed(telling("The customer is in Lisbon."));
  EXPECT_EQ(story.latest<ModelRequested>().hook_text, "The customer is in Lisbon.");
  EXPECT_THAT(*request_bytes(story.agent(), story.events(), 1, 1), HasSubstr("The customer is in Lisbon."));
  story.replies({call_of("read")});
  story.ends("call_1_1");
  story.is_briefed();
  EXPECT_EQ(story.latest<ModelRequested>().hook_text, "");
  EXPECT_THAT(*request_bytes(story.agent(), story.events(), 2, 1), Not(HasSubstr("Lisbon")));
}

TEST(Briefing, WhatAHookSaysIsCountedAsInput) {
  RunStory told(with_hook()), untold(with_hook());
  told.begin();
  untold.begin();
  told.is_briefed(telling(std::string(4'000, 'x')));
  untold.is_briefed();
  EXPECT_GT(told.latest<ModelRequested>().estimated_tokens,
            untold.latest<ModelRequested>().estimated_tokens + 500);
}

TEST(Briefing, ADenialEndsTheRun) {
  RunStory story(with_hook());
  story.begin();
  EXPECT_EQ(story.is_briefed(denied()), "run.finished");
  EXPECT_TRUE(story.finished(StopReason::refused));
  EXPECT_THAT(story.latest<RunFinished>().error, HasSubstr("hook 1: not today"));
  EXPECT_EQ(story.count<ModelRequested>(), 0);
}

TEST(Briefing, WithoutAVerdictTheRunWaitsForAPerson) {
  RunStory story(with_hook());
  story.begin();
  EXPECT_EQ(story.is_briefed(unanswered()), "run.paused");
  EXPECT_TRUE(wanted(story).empty());
  EXPECT_THAT(story.latest<RunPaused>().error, HasSubstr("hook 1: it did not answer"));
  EXPECT_EQ(story.recovers(), "") << "a restart does not ask on its own";
  EXPECT_EQ(story.resumes(), "run.resumed");
  EXPECT_EQ(wanted(story), (Effects{BriefEffect{1, 1}})) << "asked anew";
  EXPECT_EQ(story.is_briefed(), "model.requested");
}

TEST(Briefing, IsAskedAgainForARepeatedAttemptOnceItsTimeHasCome) {
  RunStory story(with_hook());
  story.begin();
  story.is_briefed();
  story.fails(FailureClass::transient, 1'000);
  EXPECT_TRUE(wanted(story).empty());
  EXPECT_EQ(next_due(story.state(), story.now()), story.state().model.retry_at);
  story.pass_ms(1'000);
  EXPECT_EQ(story.is_due(), "");
  EXPECT_EQ(wanted(story), (Effects{BriefEffect{1, 2}}));
  EXPECT_EQ(next_due(story.state(), story.now()), seconds_warning_at(story.state()))
      << "or it would be due for ever";
  EXPECT_EQ(story.is_briefed(telling("now")), "model.requested");
  EXPECT_EQ(story.latest<ModelRequested>().attempt, 2u);
}

TEST(Briefing, IsAskedAgainAfterACrash) {
  RunStory story(with_hook());
  story.begin();
  EXPECT_EQ(story.recovers(), "");
  EXPECT_EQ(wanted(story), (Effects{BriefEffect{1, 1}}));
  story.is_briefed();
  EXPECT_EQ(story.recovers(), "model.failed") << "the attempt is lost; the next one is asked about";
  EXPECT_EQ(wanted(story), (Effects{BriefEffect{1, 2}}));
}

TEST(Briefing, OfAnotherAttemptMeansNothing) {
  RunStory story(with_hook());
  story.begin();
  for (const BriefEffect other : {BriefEffect{1, 2}, BriefEffect{2, 1}, BriefEffect{}})
    EXPECT_EQ(story.give(input::Briefed{other, {}}), "");
  story.is_briefed();
  EXPECT_EQ(story.give(input::Briefed{BriefEffect{1, 1}, denied()}), "") << "it was heard already";
  story.is_cancelled();
  EXPECT_EQ(story.give(input::Briefed{BriefEffect{1, 1}, denied()}), "");
}

TEST(Briefing, DoesNotOutliveTheRunsTime) {
  Setting setting = with_hook();
  setting.budgets.max_seconds = 60;
  RunStory story(setting);
  story.begin();
  story.pass_ms(60'000);
  EXPECT_EQ(story.is_briefed(), "run.finished");
  EXPECT_TRUE(story.finished(StopReason::time_limit));
}

TEST(Briefing, OfAnInteractiveRunFollowsTheMessage) {
  Setting setting = with_hook();
  setting.interactive = true;
  RunStory story(setting);
  story.begin();
  story.is_briefed();
  EXPECT_EQ(story.replies({said("hello")}), "model.completed run.paused");
  EXPECT_TRUE(wanted(story).empty());
  EXPECT_EQ(story.is_told("go on"), "message.received run.resumed");
  EXPECT_EQ(wanted(story), (Effects{BriefEffect{2, 1}}));
  EXPECT_EQ(story.is_briefed(), "model.requested");
}

}  // namespace
}  // namespace ratchet::stories
