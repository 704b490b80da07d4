// Sub-agents: their share, their end, and the end of the run that started them.

#include <gmock/gmock.h>

#include "runtime/run/start.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

using testing::HasSubstr;

Setting with_children(std::uint32_t levels = 1, std::uint32_t children = 8) {
  Setting setting;
  setting.budgets = {20, 100'000, 600, Usd{1'000'000'000}};
  setting.subagents = {{"helper"}, levels, children};
  return setting;
}

ReplyBlock spawn(std::string more = {}, std::string agent = "helper") {
  return call_of("spawn_agent", R"({"agent_id":")" + agent + R"(","input":"Look it up.")" + more + "}");
}

RunStarted helper() {
  RunStarted started;
  started.agent_id = "helper";
  started.agent_version = 3;
  started.model = Setting::default_model();
  started.budgets = {10, 50'000, 300, Usd{1'000'000'000}};
  started.subagent_levels = 4;
  started.interactive = true;
  return started;
}

class Children : public testing::Test {
 protected:
  void tell(Setting setting) {
    story = std::make_unique<RunStory>(std::move(setting));
    story->begin();
  }

  std::string ready(const std::string& call_id, Result<RunStarted> started = helper()) {
    const OpenCall* call = story->state().find_call(call_id);
    const std::string events = story->give(input::ChildReady{call_id, call->attempt, std::move(started)});
    if (!story->last().children.empty()) child = story->last().children.back();
    return events;
  }

  std::string ends(const RunId& run,
                   StopReason reason = StopReason::final_answer,
                   Share used = {2, 3'000, Usd{10'000'000}},
                   std::int64_t waited_us = 0) {
    return story->give(input::ChildEnded{run, reason, used, waited_us, "It is blue."});
  }

  std::unique_ptr<RunStory> story;
  ChildStart child;
};

TEST_F(Children, ACallStartsOneAndItsAnswerIsTheResult) {
  tell(with_children());
  EXPECT_EQ(story->replies({spawn()}), "model.completed tool.requested tool.planned");
  EXPECT_EQ(ready("call_1_1"), "subagent.started");
  EXPECT_TRUE(waits(story->state())) << "a run that only waits for a sub-agent needs no actor";
  EXPECT_TRUE(row_of(story->state()).active) << "a start looks whether it has ended";
  EXPECT_EQ(ends(child.run_id), "subagent.finished tool.result model.requested");
  EXPECT_EQ(story->latest<ToolResult>().status, ToolStatus::ok);
  EXPECT_EQ(story->latest<ToolResult>().content.front().text, "It is blue.");
}

TEST_F(Children, TheChildActsForTheSameUserBelowItsParent) {
  tell(with_children());
  story->replies({spawn()});
  ready("call_1_1");
  const RunStarted& started = child.started;
  EXPECT_EQ(started.parent_run_id, story->state().run_id);
  EXPECT_EQ(started.root_run_id, story->state().started->root_run_id);
  EXPECT_EQ(started.depth, 1u);
  EXPECT_EQ(started.subagent_levels, 0u) << "one level was left to the parent";
  EXPECT_EQ(started.user_id, story->state().started->user_id);
  EXPECT_EQ(started.scopes, story->state().scopes);
  EXPECT_FALSE(started.interactive) << "nobody but its parent waits for its answer";
  EXPECT_EQ(started.input.front().text, "Look it up.");
}

TEST_F(Children, AQuarterOfWhatIsLeftIsItsShareUnlessItAsksForMore) {
  tell(with_children());
  story->replies({spawn(), spawn(R"(,"budgets":{"max_steps":7,"max_usd":"0.5"})")});
  ready("call_1_1");
  EXPECT_EQ(story->latest<SubagentStarted>().share.steps, (20 - 1) / 4);
  EXPECT_EQ(child.started.budgets.max_tokens, (100'000 - 110) / 4);
  ready("call_1_2");
  EXPECT_EQ(child.started.budgets.max_steps, 7);
  EXPECT_EQ(child.started.budgets.max_usd, Usd{500'000'000});
  EXPECT_EQ(story->state().children_held.steps, 4 + 7);
}

TEST_F(Children, NeverMoreThanIsLeftNorThanTheAgentMayUse) {
  tell(with_children());
  story->replies({spawn(R"(,"budgets":{"max_steps":5000,"max_tokens":90000,"max_seconds":100000})")});
  ready("call_1_1");
  EXPECT_EQ(child.started.budgets.max_steps, 10) << "the agent's own bound";
  EXPECT_EQ(child.started.budgets.max_tokens, 50'000);
  EXPECT_EQ(child.started.budgets.max_seconds, 300);
  EXPECT_LE(child.started.deadline_at, story->state().deadline_at);
}

TEST_F(Children, TheDeadlineLiesWithinTheParents) {
  Setting setting = with_children();
  setting.budgets.max_seconds = 100;
  tell(std::move(setting));
  story->pass_ms(60'500);
  story->replies({spawn()});
  ready("call_1_1");
  EXPECT_EQ(child.started.budgets.max_seconds, 39);
  EXPECT_LE(child.started.deadline_at, story->state().deadline_at);
}

TEST_F(Children, WhatItDidNotUseComesBackOnce) {
  tell(with_children());
  story->replies({spawn()});
  ready("call_1_1");
  const std::int64_t held = story->state().tokens_taken();
  ends(child.run_id);
  EXPECT_EQ(story->state().children_held, Share{});
  EXPECT_EQ(story->state().children_used, (Share{2, 3'000, Usd{10'000'000}}));
  EXPECT_LT(story->state().tokens_taken(), held);
  EXPECT_EQ(ends(child.run_id), "") << "told a second time";
  EXPECT_EQ(story->state().children_used.steps, 2);
}

TEST_F(Children, ItsStepsAreStepsOfTheParent) {
  Setting setting = with_children();
  setting.budgets.max_steps = 4;
  tell(std::move(setting));
  story->replies({spawn(R"(,"budgets":{"max_steps":3})")});
  ready("call_1_1");
  EXPECT_EQ(ends(child.run_id, StopReason::final_answer, {3, 1'000, Usd{1}}),
            "subagent.finished tool.result run.finished");
  EXPECT_TRUE(story->finished(StopReason::step_limit));
  EXPECT_EQ(story->latest<RunFinished>().steps, 1);
  EXPECT_EQ(story->latest<RunFinished>().subagents.steps, 3);
}

TEST_F(Children, AParentWithNothingLeftStartsNone) {
  Setting setting = with_children();
  setting.budgets.max_steps = 1;
  tell(std::move(setting));
  story->replies({spawn()});
  EXPECT_THAT(ready("call_1_1"), HasSubstr("tool.result"));
  EXPECT_EQ(story->count<SubagentStarted>(), 0);
  EXPECT_EQ(story->latest<ToolResult>().status, ToolStatus::error);
  EXPECT_THAT(story->latest<ToolResult>().content.front().text, HasSubstr("no steps are left"));
}

TEST_F(Children, AnAgentThatIsNotAllowedIsDenied) {
  tell(with_children());
  EXPECT_EQ(story->replies({spawn({}, "stranger")}),
            "model.completed tool.requested tool.result model.requested");
  EXPECT_EQ(story->latest<ToolResult>().status, ToolStatus::denied);
  EXPECT_THAT(story->latest<ToolResult>().content.front().text, HasSubstr("helper"));
}

TEST_F(Children, TheDeepestLevelStartsNone) {
  tell(with_children(0));
  story->replies({spawn()});
  EXPECT_EQ(story->latest<ToolResult>().status, ToolStatus::denied);
}

TEST_F(Children, TheirNumberIsBoundedOverTheWholeLifeOfTheRun) {
  tell(with_children(1, 2));
  story->replies({spawn(), spawn(R"(,"budgets":{"max_steps":2})"), spawn(R"(,"budgets":{"max_steps":3})")});
  ready("call_1_1");
  const RunId first = child.run_id;
  ready("call_1_2");
  EXPECT_EQ(ready("call_1_3"), "tool.result") << "all three were planned before the first counted";
  EXPECT_EQ(story->latest<ToolResult>().status, ToolStatus::error);
  ends(first);
  ends(child.run_id);
  story->replies({spawn(R"(,"budgets":{"max_steps":4})")});
  EXPECT_EQ(story->latest<ToolResult>().status, ToolStatus::denied);
}

TEST_F(Children, AnAgentThatIsGoneIsAnErrorOfTheCall) {
  tell(with_children());
  story->replies({spawn()});
  EXPECT_EQ(ready("call_1_1", fail(ErrorCode::unknown_agent, "there is no agent helper")),
            "tool.result model.requested");
  EXPECT_EQ(story->latest<ToolResult>().status, ToolStatus::error);
}

TEST_F(Children, OneThatFailsIsAnErrorOfItsParentsCall) {
  tell(with_children());
  story->replies({spawn()});
  ready("call_1_1");
  ends(child.run_id, StopReason::cost_limit);
  EXPECT_EQ(story->latest<ToolResult>().status, ToolStatus::error);
  EXPECT_THAT(story->latest<ToolResult>().content.front().text,
              HasSubstr("helper ended without an answer (cost_limit)"));
}

TEST_F(Children, ACancelEndsThemFirst) {
  tell(with_children());
  story->replies({spawn(), call_of("read")});
  ready("call_1_1");
  EXPECT_EQ(story->is_cancelled(), "run.cancel_requested");
  EXPECT_EQ(story->has_stopped(), "") << "not before the sub-agent has ended";
  EXPECT_EQ(story->recovers(), "") << "nor after a crash";
  EXPECT_EQ(ends(child.run_id, StopReason::cancelled), "subagent.finished tool.result");
  EXPECT_EQ(story->has_stopped(), "tool.result run.finished");
  EXPECT_TRUE(story->finished(StopReason::cancelled));
}

TEST_F(Children, AnOverrunOfOneEndsTheOthersAndThenTheRun) {
  tell(with_children());
  story->replies({spawn(), spawn(R"(,"budgets":{"max_steps":2})")});
  ready("call_1_1");
  const RunId first = child.run_id;
  ready("call_1_2");
  EXPECT_EQ(ends(first, StopReason::token_limit, {1, 200'000, Usd{1}}),
            "subagent.finished tool.result run.cancel_requested");
  EXPECT_EQ(story->latest<RunCancelRequested>().stop_reason, StopReason::token_limit);
  EXPECT_EQ(ends(child.run_id, StopReason::cancelled), "subagent.finished tool.result");
  EXPECT_EQ(story->has_stopped(), "run.finished");
  EXPECT_TRUE(story->finished(StopReason::token_limit));
}

TEST_F(Children, TheLongestWaitForPeopleMovesTheDeadlineOnce) {
  tell(with_children());
  const Timestamp before = story->state().deadline_at;
  story->replies({spawn(), spawn(R"(,"budgets":{"max_steps":2})")});
  ready("call_1_1");
  const RunId first = child.run_id;
  ready("call_1_2");
  ends(first, StopReason::final_answer, {1, 1'000, Usd{1}}, 5'000'000);
  EXPECT_EQ(story->state().deadline_at.us, before.us + 5'000'000);
  ends(child.run_id, StopReason::final_answer, {1, 1'000, Usd{1}}, 7'000'000);
  EXPECT_EQ(story->state().deadline_at.us, before.us + 7'000'000) << "they waited side by side";
}

TEST_F(Children, TheDeadlineDoesNotCutThemOff) {
  tell(with_children());
  story->replies({spawn()});
  ready("call_1_1");
  story->pass_ms(700'000);
  EXPECT_EQ(story->is_due(), "") << "a sub-agent has its own, and may wait for a person past it";
  EXPECT_EQ(ends(child.run_id, StopReason::time_limit), "subagent.finished tool.result run.finished");
  EXPECT_TRUE(story->finished(StopReason::time_limit));
}

TEST_F(Children, ACrashBeforeTheStartPreparesItAgain) {
  tell(with_children());
  story->replies({spawn()});
  EXPECT_EQ(story->recovers(), "tool.planned");
  EXPECT_EQ(story->state().find_call("call_1_1")->attempt, 2u);
  EXPECT_EQ(ready("call_1_1"), "subagent.started");
  EXPECT_EQ(story->recovers(), "") << "it is waited for, not started again";
}

TEST_F(Children, ALongAnswerIsAnArtifactOfTheParent) {
  Setting setting = with_children();
  setting.result_cap_tokens = 10;
  tell(std::move(setting));
  story->replies({spawn()});
  ready("call_1_1");
  story->give(input::ChildEnded{child.run_id, StopReason::final_answer, {}, 0, std::string(500, 'x')});
  ASSERT_TRUE(story->latest<ToolResult>().content.front().artifact);
  EXPECT_EQ(story->latest<ToolResult>().content, story->latest<SubagentFinished>().result);
  EXPECT_EQ(story->blobs().size(), 1u);
}

}  // namespace
}  // namespace ratchet::stories
