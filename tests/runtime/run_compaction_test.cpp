// Compactions: when they come, what they keep, and that they never run in circles. Figures of public reports
// (hundreds of attempts that gain nothing, a floor above the window, a granted approval that is asked for
// again) are among the inputs.

#include "runtime/context/inspect.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

constexpr std::int64_t window_tokens = 12'000, reply_tokens = 1'000;

/// A model with a small window, and budgets that do not matter.
Setting small(std::uint32_t compact_at_permille = 700) {
  Setting setting;
  setting.model.context_window_tokens = window_tokens;
  setting.model.max_output_tokens = reply_tokens;
  setting.context.compact_at_permille = compact_at_permille;
  setting.budgets = {100, 10'000'000, 1'000'000, Usd{1'000'000'000'000}};
  setting.input = "Count the open orders.";
  return setting;
}

/// A reply whose reported use agrees with the estimate, so that nothing is calibrated.
std::string answers(RunStory& story, std::vector<ReplyBlock> content, ModelStop stop = ModelStop::end_turn) {
  return story.replies(
      std::move(content), stop, Usage{story.latest<ModelRequested>().estimated_tokens, 0, 0, 50});
}

/// One step that reads about 2,000 tokens, and what followed its result.
std::string read_once(RunStory& story) {
  answers(story, {said("I read."), call_of("read")});
  const std::string call_id = story.state().calls.front().call_id;
  return story.ends(call_id, "result of " + call_id + ": " + std::string(4'000, '1'));
}

/// Reads until a compaction is asked for.
void fill(RunStory& story) {
  for (int steps = 0; steps < 20 && story.state().model.purpose == CallPurpose::step; ++steps)
    EXPECT_EQ(read_once(story), "tool.result model.requested");
  ASSERT_EQ(story.latest<ModelRequested>().purpose, CallPurpose::compaction);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string note = "## Goal\nCount the open orders.\n## State\nTwo pages are read.\n## Next\nRead on.";

TEST(Compaction, ComesWhereTheContextPassesItsBound) {
  RunStory story(small());
  story.begin();
  std::int64_t before = 0;
  while (story.state().model.purpose == CallPurpose::step) {
    before = story.latest<ModelRequested>().estimated_tokens;
    read_once(story);
  }
  EXPECT_LE(before, (window_tokens - reply_tokens) * 7 / 10);
  EXPECT_GT(before + 2'200, (window_tokens - reply_tokens) * 7 / 10) << "and not long before";
  const ModelRequested& asked = story.latest<ModelRequested>();
  EXPECT_EQ(asked.attempt, 2u) << "in the step that was last done";
  EXPECT_LE(asked.max_tokens, reply_tokens);
  EXPECT_TRUE(has(asked.late_text, "## Goal")) << asked.late_text;
  EXPECT_EQ(story.events().back().step, story.state().step);
}

TEST(Compaction, ShowsTheModelWhatItReplacesAndKeepsTheNewestBatch) {
  RunStory story(small());
  story.begin();
  fill(story);
  const std::uint32_t step = story.state().step;
  const std::string newest = "result of call_" + std::to_string(step) + "_1";
  const std::string old = "result of call_1_1";
  const std::string asked = request_of(story);
  EXPECT_TRUE(has(asked, old));
  EXPECT_FALSE(has(asked, newest)) << "it stays, so nobody needs to sum it up";
  EXPECT_EQ(answers(story, {said(note)}), "model.completed context.compacted model.requested");
  const std::string after = request_of(story);
  EXPECT_TRUE(has(after, "Count the open orders.")) << "the user's words";
  EXPECT_TRUE(has(after, "Two pages are read."));
  EXPECT_TRUE(has(after, newest));
  EXPECT_FALSE(has(after, old));
  EXPECT_EQ(story.state().step, step + 1);
  EXPECT_EQ(story.latest<ModelRequested>().attempt, 1u);
  const ContextCompacted& compacted = story.latest<ContextCompacted>();
  EXPECT_EQ(compacted.summary, note);
  EXPECT_LT(compacted.tokens_after, compacted.tokens_before * 6 / 10);
  expect_derivable(story);
}

TEST(Compaction, BeginsWithTheBytesOfTheRequestBefore) {
  RunStory story(small());
  story.begin();
  std::string before;
  while (story.state().model.purpose == CallPurpose::step) {
    before = request_of(story);
    read_once(story);
  }
  const std::string asked = request_of(story);
  const std::size_t common = static_cast<std::size_t>(
      std::mismatch(asked.begin(), asked.end(), before.begin(), before.end()).first - asked.begin());
  EXPECT_GT(common, before.size() / 2) << "the prompt cache serves the compaction too";
  EXPECT_GT(story.latest<ModelRequested>().prefix_tokens,
            story.latest<ModelRequested>().estimated_tokens * 8 / 10);
}

TEST(Compaction, IsNoStepOfTheBudget) {
  Setting setting = small();
  setting.budgets.max_steps = 5;
  RunStory story(setting);
  story.begin();
  fill(story);
  answers(story, {said(note)});
  while (!story.state().finished())
    read_once(story);
  EXPECT_TRUE(story.finished(StopReason::step_limit));
  EXPECT_EQ(story.latest<RunFinished>().steps, 5);
}

TEST(Compaction, HappensAgainAndAgainInALongRun) {
  RunStory story(small());
  story.begin();
  for (int i = 0; i < 60; ++i) {
    if (story.state().model.purpose == CallPurpose::compaction) answers(story, {said(note)});
    read_once(story);
    ASSERT_FALSE(story.state().finished()) << i;
  }
  EXPECT_GE(story.count<ContextCompacted>(), 10);
  EXPECT_LE(story.latest<ModelRequested>().estimated_tokens, window_tokens);
  expect_derivable(story);
}

TEST(Compaction, TellsNotesAndDecisionsFromTheJournal) {
  RunStory story(small());
  story.begin();
  answers(story, {call_of("notes_write", R"({"text":"the customer is Ann"})")});
  answers(story, {call_of("pay", R"({"n":17})"), call_of("order", R"({"n":18})")});
  story.approves("call_2_1");
  story.rejects("call_2_2");
  story.ends("call_2_1", "paid");
  fill(story);
  answers(story, {said(note)});
  const std::string after = request_of(story);
  EXPECT_TRUE(has(after, "the customer is Ann"));
  EXPECT_TRUE(has(after, R"(approved: pay {\"n\":17})")) << after;
  EXPECT_TRUE(has(after, "it ran: ok"));
  EXPECT_TRUE(has(after, R"(rejected: order {\"n\":18})")) << after;
}

TEST(Compaction, TellsEditedArgumentsAsTheyRan) {
  RunStory story(small());
  story.begin();
  answers(story, {call_of("pay", R"({"n":17})")});
  story.approves("call_1_1", R"({"n":5})");
  story.ends("call_1_1", "paid");
  fill(story);
  answers(story, {said(note)});
  EXPECT_TRUE(has(request_of(story), R"(changed to {\"n\":5})"));
}

TEST(Compaction, KeepsMessagesThatNobodyHasAnswered) {
  RunStory story(small());
  story.begin();
  while (story.state().model.purpose == CallPurpose::step) {
    story.is_told("Said during step " + std::to_string(story.state().step) + ".");
    read_once(story);
  }
  story.is_told("Said during the compaction.");
  EXPECT_FALSE(has(request_of(story), "Said during the compaction."));
  answers(story, {said(note)});
  const std::string after = request_of(story);
  EXPECT_TRUE(has(after, "Said during step " + std::to_string(story.state().step - 1) + "."));
  EXPECT_TRUE(has(after, "Said during the compaction."));
  EXPECT_FALSE(has(after, "Said during step 1."));
  expect_derivable(story);
}

TEST(Compaction, ComesBeforeTheNextTurnOfAnInteractiveRun) {
  Setting setting = small();
  setting.interactive = true;
  RunStory story(setting);
  story.begin();
  while (story.latest<ModelRequested>().estimated_tokens < 6'500)
    read_once(story);
  EXPECT_EQ(answers(story, {said("There are seven. " + std::string(2'600, '7'))}),
            "model.completed run.paused");
  EXPECT_EQ(story.is_told("And the closed ones?"), "message.received run.resumed model.requested");
  ASSERT_EQ(story.latest<ModelRequested>().purpose, CallPurpose::compaction);
  answers(story, {said(note)});
  const std::string after = request_of(story);
  EXPECT_TRUE(has(after, "There are seven.")) << "the newest reply stays";
  EXPECT_TRUE(has(after, "And the closed ones?"));
  answers(story, {said("Nine.")});
  EXPECT_EQ(story.state().final_text, "Nine.");
}

TEST(Compaction, TakesTheNewestBatchTooWhereItIsTooLarge) {
  RunStory story(small());
  story.begin();
  read_once(story);
  answers(story, {call_of("read"), call_of("read"), call_of("read")});
  for (const char* call : {"call_2_1", "call_2_2", "call_2_3"})
    story.ends(call, std::string(4'000, '1'));
  ASSERT_EQ(story.latest<ModelRequested>().purpose, CallPurpose::compaction);
  answers(story, {said(note)});
  EXPECT_FALSE(has(request_of(story), "11111"));
  EXPECT_LT(story.latest<ModelRequested>().estimated_tokens, 4'000);
}

// --- what is no note

TEST(Compaction, AsksOnceMoreWhereTheReplyCallsATool) {
  RunStory story(small());
  story.begin();
  fill(story);
  const std::uint32_t step = story.state().step;
  EXPECT_EQ(answers(story, {said(note), call_of("publish")}), "model.completed model.requested");
  EXPECT_EQ(story.latest<ModelCompleted>().content.size(), 1u) << "its call counts for nothing";
  EXPECT_EQ(story.latest<ModelRequested>().attempt, 3u);
  EXPECT_TRUE(has(story.latest<ModelRequested>().late_text, "could not be used"));
  EXPECT_EQ(story.state().step, step);
  EXPECT_EQ(answers(story, {said(note)}), "model.completed context.compacted model.requested");
  EXPECT_EQ(story.state().compaction.no_note, 0u);
}

TEST(Compaction, EndsTheRunWhereTwoRepliesAreNoNote) {
  const std::vector<std::pair<std::vector<ReplyBlock>, ModelStop>> replies = {
      {{call_of("read")}, ModelStop::tool_use},
      {{said(" \n ")}, ModelStop::end_turn},
      {{}, ModelStop::end_turn},
      {{said("I will not.")}, ModelStop::refusal},
      {{said("Half a")}, ModelStop::context_overflow},
      {{said(std::string(20'000, '1'))}, ModelStop::end_turn},  // longer than what it replaces
  };
  for (const auto& [reply, stop] : replies) {
    RunStory story(small());
    story.begin();
    fill(story);
    EXPECT_EQ(answers(story, reply, stop), "model.completed model.requested");
    EXPECT_EQ(answers(story, reply, stop), "model.completed run.finished");
    EXPECT_TRUE(story.finished(StopReason::context_overflow));
    EXPECT_EQ(story.count<ContextCompacted>(), 0);
  }
}

TEST(Compaction, TakesANoteThatWasCutOffAndSaysSo) {
  RunStory story(small());
  story.begin();
  fill(story);
  answers(story, {said(note)}, ModelStop::max_tokens);
  EXPECT_TRUE(has(story.latest<ContextCompacted>().summary, "cut off"));
}

// --- guards

TEST(Compaction, EndsTheRunAfterTwoInVain) {
  RunStory story(small());
  story.begin();
  fill(story);
  // Shorter than what it replaces, but hardly.
  const std::string long_note(7'400, '1');
  EXPECT_EQ(answers(story, {said(long_note)}), "model.completed context.compacted model.requested");
  ASSERT_EQ(story.latest<ModelRequested>().purpose, CallPurpose::compaction);
  EXPECT_EQ(answers(story, {said(long_note.substr(0, 7'200))}),
            "model.completed context.compacted run.finished");
  EXPECT_TRUE(story.finished(StopReason::context_overflow));
}

TEST(Compaction, IsNotAskedForWhereItCouldNotGain) {
  // A floor far above the bound: the head alone is more than a tenth of the window.
  RunStory story(small(100));
  story.begin();
  EXPECT_EQ(read_once(story), "tool.result model.requested");
  int compactions = 0, steps = 0;
  for (; steps < 30; ++steps) {
    if (story.state().model.purpose == CallPurpose::compaction) {
      answers(story, {said(note)});
      ++compactions;
      ASSERT_EQ(story.latest<ModelRequested>().purpose, CallPurpose::step) << "a step follows each";
    }
    read_once(story);
    ASSERT_FALSE(story.state().finished());
  }
  EXPECT_GT(compactions, 0);
  EXPECT_LE(compactions, steps);
}

TEST(Compaction, LeavesAFloorAboveTheWindowToTheEnd) {
  Setting setting = small();
  setting.input = std::string(7'900, '1');
  setting.result_cap_tokens = 4'000;
  setting.model.context_window_tokens = 8'000;
  RunStory story(setting);
  story.begin();
  int calls = 0;
  while (!story.state().finished() && ++calls < 20) {
    if (story.state().model.purpose == CallPurpose::compaction)
      answers(story, {said(note)});
    else
      read_once(story);
  }
  EXPECT_TRUE(story.finished(StopReason::context_overflow)) << calls;
  EXPECT_LE(story.count<ContextCompacted>(), 4);
}

TEST(Compaction, IsNothingForARunOfAVersionThatHadNone) {
  RunStory story(small(0));
  story.begin();
  while (!story.state().finished())
    read_once(story);
  EXPECT_TRUE(story.finished(StopReason::context_overflow));
  EXPECT_EQ(story.count<ContextCompacted>(), 0);
}

TEST(Compaction, GivesWayToTheStepWhereTheBudgetIsNearlySpent) {
  Setting setting = small();
  setting.model.prices = {};
  RunStory probe(setting);
  probe.begin();
  fill(probe);
  // Enough for the compaction's input, but not for a note.
  setting.budgets.max_tokens = probe.state().usage.total() + probe.latest<ModelRequested>().reserved.tokens -
                               probe.latest<ModelRequested>().max_tokens + 100;
  RunStory story(setting);
  story.begin();
  while (!story.state().finished()) {
    ASSERT_EQ(story.state().model.purpose, CallPurpose::step);
    read_once(story);
  }
  EXPECT_TRUE(story.finished(StopReason::token_limit));
}

TEST(Compaction, DoesNotResetTheRuleOfRepeatedCalls) {
  RunStory story(small());
  story.begin();
  while (story.latest<ModelRequested>().estimated_tokens < 5'000)
    read_once(story);
  const ReplyBlock same = call_of("poll");
  const ReplyBlock send = call_of("send", R"({"n":1})");
  for (int i = 0; i < 2; ++i) {
    answers(story, {send});
    story.ends(story.state().calls.front().call_id, std::string(4'000, '1'));
    if (story.state().model.purpose == CallPurpose::compaction) answers(story, {said(note)});
  }
  ASSERT_EQ(story.count<ContextCompacted>(), 1);
  EXPECT_EQ(story.state().loop.repeats("send", sha256(R"({"n":1})")), 2u);
  answers(story, {send});
  EXPECT_TRUE(story.finished(StopReason::repeated_call));
}

// --- a provider that refuses the context

TEST(Compaction, ComesOnceWhereAProviderRefusesTheContext) {
  RunStory story(small());
  story.begin();
  read_once(story);
  read_once(story);
  const std::uint32_t step = story.state().step;
  EXPECT_EQ(story.fails(FailureClass::overflow), "model.failed model.requested");
  EXPECT_EQ(story.latest<ModelRequested>().purpose, CallPurpose::compaction);
  EXPECT_EQ(story.latest<ModelRequested>().attempt, 2u);
  EXPECT_EQ(answers(story, {said(note)}), "model.completed context.compacted model.requested");
  EXPECT_EQ(story.state().step, step) << "the step is still to have its reply";
  EXPECT_EQ(story.latest<ModelRequested>().attempt, 3u);
  EXPECT_EQ(story.fails(FailureClass::overflow), "model.failed run.finished");
  EXPECT_TRUE(story.finished(StopReason::context_overflow));
  EXPECT_EQ(story.latest<RunFinished>().error, "it failed");
  expect_derivable(story);
}

TEST(Compaction, ThatIsRefusedItselfEndsTheRunWithTheFirstRefusal) {
  RunStory story(small());
  story.begin();
  read_once(story);
  read_once(story);
  ModelFailure first;
  first.kind = FailureClass::overflow;
  first.text = "prompt is too long: 243227 tokens";
  story.give(input::ModelEnded{story.state().step, story.state().model.number, {first, 1, 1}});
  ASSERT_EQ(story.latest<ModelRequested>().purpose, CallPurpose::compaction);
  EXPECT_EQ(story.fails(FailureClass::overflow), "model.failed run.finished");
  EXPECT_TRUE(story.finished(StopReason::context_overflow));
  EXPECT_EQ(story.latest<RunFinished>().error, first.text);
}

TEST(Compaction, ComesOnceWhereAReplyFilledTheWindow) {
  RunStory story(small());
  story.begin();
  read_once(story);
  read_once(story);
  EXPECT_EQ(answers(story, {said("It is")}, ModelStop::context_overflow), "model.completed model.requested");
  EXPECT_EQ(story.latest<ModelRequested>().purpose, CallPurpose::compaction);
  answers(story, {said(note)});
  EXPECT_EQ(answers(story, {said("It is")}, ModelStop::context_overflow), "model.completed run.finished");
  EXPECT_TRUE(story.finished(StopReason::context_overflow));
}

// --- failures and crashes

TEST(Compaction, IsTriedAgainLikeAnyCall) {
  RunStory story(small());
  story.begin();
  story.fails(FailureClass::transient, 0);
  story.fails(FailureClass::transient, 0);
  fill(story);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(story.fails(FailureClass::transient, 0), "model.failed model.requested");
    EXPECT_EQ(story.latest<ModelRequested>().purpose, CallPurpose::compaction);
  }
  EXPECT_EQ(story.recovers(), "model.failed model.requested") << "nobody knows how far it got";
  EXPECT_EQ(story.latest<ModelFailed>().kind, FailureClass::lost);
  EXPECT_EQ(story.latest<ModelRequested>().purpose, CallPurpose::compaction);
  answers(story, {said(note)});
  EXPECT_EQ(story.state().model.purpose, CallPurpose::step);
  EXPECT_EQ(story.fails(FailureClass::transient, 0), "model.failed model.requested") << "failures count anew";
  expect_derivable(story);
}

TEST(Compaction, MovesOnToTheNextProvider) {
  Setting setting = small();
  setting.model.providers.push_back(setting.model.providers[0]);
  setting.model.providers[1].protocol = Protocol::openai;
  RunStory story(setting);
  story.begin();
  fill(story);
  EXPECT_EQ(story.fails(FailureClass::permanent), "model.failed | model.requested");
  EXPECT_EQ(story.latest<ModelRequested>().purpose, CallPurpose::compaction);
  EXPECT_EQ(story.latest<ModelRequested>().provider, 1u);
  answers(story, {said(note)});
  EXPECT_EQ(story.latest<ModelRequested>().provider, 1u);
  EXPECT_TRUE(has(request_of(story), "Two pages are read."));
  read_once(story);
  expect_derivable(story);
}

TEST(Compaction, IsChargedAndReservedLikeAnyCall) {
  RunStory story(small());
  story.begin();
  fill(story);
  const ModelRequested asked = story.latest<ModelRequested>();
  EXPECT_EQ(story.state().reserved, asked.reserved);
  EXPECT_GE(asked.reserved.tokens, asked.estimated_tokens + asked.max_tokens);
  const Usage before = story.state().usage;
  story.replies({said(note)}, ModelStop::end_turn, Usage{7'000, 6'000, 0, 300});
  EXPECT_EQ(story.state().usage.total(), before.total() + 7'300);
}

TEST(Compaction, EndsWithTheRun) {
  for (const bool cancelled : {true, false}) {
    RunStory story(small());
    story.begin();
    fill(story);
    if (cancelled) {
      story.is_cancelled();
      EXPECT_EQ(answers(story, {said(note)}), "model.completed");
      EXPECT_EQ(story.has_stopped(), "run.finished");
    } else {
      story.pass_ms(1'000'000'000);
      EXPECT_EQ(story.is_due(), "budget.warning model.failed run.finished");
    }
    EXPECT_TRUE(story.finished(cancelled ? StopReason::cancelled : StopReason::time_limit));
  }
}

TEST(Compaction, AsksTheHooksBeforeItsCallAndBeforeTheStep) {
  Setting setting = small();
  setting.hooks = {{HookPoint::pre_model, "http://hook.example", HookKind::security}};
  RunStory story(setting);
  story.begin();
  story.is_briefed();
  for (int i = 0; i < 20 && story.state().model.purpose == CallPurpose::step; ++i) {
    EXPECT_EQ(read_once(story), "tool.result");
    story.is_briefed();
  }
  ASSERT_EQ(story.latest<ModelRequested>().purpose, CallPurpose::compaction);
  EXPECT_EQ(answers(story, {said(note)}), "model.completed context.compacted");
  EXPECT_EQ(story.is_briefed({ModelFacts::Outcome::clear, {}, "Mind the time."}), "model.requested");
  EXPECT_EQ(story.latest<ModelRequested>().hook_text, "Mind the time.");
  expect_derivable(story);
}

}  // namespace
}  // namespace ratchet::stories
