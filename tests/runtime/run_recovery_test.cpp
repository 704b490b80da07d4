// What is done with what was under way when the server stopped, or when a request got no answer: the recovery
// table, row by row.

#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

/// A story in which the model has called these tools.
class Called : public RunStory {
 public:
  explicit Called(std::vector<ReplyBlock> calls, Setting setting = {}) : RunStory(std::move(setting)) {
    begin();
    replies(std::move(calls), ModelStop::tool_use);
  }
};

TEST(Recovery, BeginsARunThatWasOnlyAccepted) {
  RunStory story;
  EXPECT_EQ(story.recovers(), "model.requested");
}

TEST(Recovery, ChargesALostModelCallAsReservedAndAsksAgain) {
  RunStory story;
  story.begin();
  const Amount reserved = story.latest<ModelRequested>().reserved;
  EXPECT_EQ(story.recovers(), "model.failed model.requested");
  const ModelFailed& failed = story.latest<ModelFailed>();
  EXPECT_EQ(failed.kind, FailureClass::lost);
  EXPECT_EQ(failed.charged.total(), reserved.tokens);
  EXPECT_EQ(failed.charged_usd, reserved.usd);
  EXPECT_EQ(story.latest<ModelRequested>().attempt, 2u);
  EXPECT_EQ(story.state().step, 1u) << "the step is the same one";
}

TEST(Recovery, DoesNotBlameTheProviderForRestarts) {
  RunStory story;
  story.begin();
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(story.recovers(), "model.failed model.requested") << "restart " << i;
}

TEST(Recovery, StopsWhenRestartsHaveUsedTheBudget) {
  Setting setting;
  setting.budgets.max_tokens = 3'500;
  RunStory story(setting);
  story.begin();
  for (int i = 0; i < 10 && !story.state().finished(); ++i)
    story.recovers();
  EXPECT_TRUE(story.finished(StopReason::token_limit));
}

TEST(Recovery, RunsAReadToolAgain) {
  Called story({call_of("read")});
  EXPECT_EQ(story.recovers(), "tool.planned");
  EXPECT_EQ(story.latest<ToolPlanned>().attempt, 2u);
  EXPECT_EQ(story.latest<ToolPlanned>().execution, Execution::call);
}

TEST(Recovery, RunsAToolWithAKeyAgainUnderTheSameKey) {
  Called story({call_of("send")});
  const std::string key = story.latest<ToolPlanned>().idempotency_key;
  EXPECT_EQ(key, to_string(story.state().run_id) + "/1/call_1_1");
  EXPECT_EQ(story.recovers(), "tool.planned");
  EXPECT_EQ(story.latest<ToolPlanned>().idempotency_key, key);
}

TEST(Recovery, AsksAPersonOnceTheKeyMayBeForgotten) {
  // What is sent now may arrive as late as the tool's timeout allows, and must find the key remembered.
  const std::int64_t ttl_ms = 86'400'000, timeout_ms = 10'000;
  Setting setting;
  setting.budgets.max_seconds = 10'000'000;
  for (const std::int64_t passed_ms : {ttl_ms - timeout_ms - 1, ttl_ms - timeout_ms, ttl_ms + 1}) {
    Called story({call_of("send")}, setting);
    story.pass_ms(passed_ms);
    const bool known = passed_ms < ttl_ms - timeout_ms;
    EXPECT_EQ(story.recovers(), known ? "tool.planned" : "call.unknown run.paused") << passed_ms;
  }
}

TEST(Recovery, CountsTheLifeOfAKeyFromTheFirstAttempt) {
  Setting setting;
  setting.budgets.max_seconds = 10'000'000;
  Called story({call_of("send")}, setting);
  story.pass_ms(80'000'000);
  EXPECT_EQ(story.recovers(), "tool.planned");
  story.pass_ms(80'000'000);
  EXPECT_EQ(story.recovers(), "call.unknown run.paused");
}

TEST(Recovery, AsksForTheStatusOnceTheCallCannotBeOnItsWayAnyMore) {
  Called story({call_of("transfer")});
  const Timestamp planned_at = story.now();
  story.pass_ms(4'000);
  EXPECT_EQ(story.recovers(), "tool.planned");
  const ToolPlanned& planned = story.latest<ToolPlanned>();
  EXPECT_EQ(planned.execution, Execution::status_check);
  EXPECT_EQ(planned.not_before, planned_at.plus_ms(10'000));
  EXPECT_TRUE(outstanding(story.state(), story.now()).empty());
  EXPECT_EQ(next_due(story.state(), story.now()), planned_at.plus_ms(10'000));
  story.pass_ms(6'000);
  EXPECT_EQ(outstanding(story.state(), story.now()).size(), 1u);
}

TEST(Recovery, AsksForTheStatusAtOnceWhenTheTimeHasPassedAnyway) {
  Called story({call_of("transfer")});
  story.pass_ms(60'000);
  story.recovers();
  EXPECT_EQ(story.latest<ToolPlanned>().not_before, std::nullopt);
}

TEST(Recovery, TakesTheResultOfAStatusCheck) {
  Called story({call_of("transfer")});
  story.recovers();
  story.pass_ms(10'000);
  EXPECT_EQ(story.ends("call_1_1", "transferred"), "tool.result model.requested");
}

TEST(Recovery, CallsAgainWhatTheStatusSaysDidNotHappen) {
  Called story({call_of("transfer")});
  story.recovers();
  story.pass_ms(10'000);
  EXPECT_EQ(story.did_not_happen("call_1_1"), "tool.planned");
  EXPECT_EQ(story.latest<ToolPlanned>().execution, Execution::call);
  EXPECT_EQ(story.latest<ToolPlanned>().attempt, 3u);
}

TEST(Recovery, AsksAPersonAboutAToolWithoutAnyOfThese) {
  Called story({call_of("publish")});
  EXPECT_EQ(story.recovers(), "call.unknown run.paused");
  EXPECT_EQ(story.latest<RunPaused>().reasons, std::vector{PauseReason::unknown_outcome});
  EXPECT_EQ(story.latest<RunPaused>().call_ids, std::vector<std::string>{"call_1_1"});
  EXPECT_TRUE(outstanding(story.state(), story.now()).empty());
  EXPECT_EQ(story.recovers(), "") << "it waits on";
}

TEST(Recovery, AppliesTheTableToEachCallOfABatch) {
  Called story(
      {call_of("read"), call_of("send"), call_of("publish"), call_of("notes_write", R"({"text":"x"})")});
  EXPECT_EQ(story.recovers(), "tool.planned tool.planned call.unknown");
  story.ends("call_1_1");
  EXPECT_EQ(story.ends("call_1_2"), "tool.result run.paused")
      << "once everything else of the batch is settled";
}

TEST(Recovery, LeavesAWaitAlone) {
  Called story({call_of("wait", R"({"seconds":60})")});
  EXPECT_EQ(story.recovers(), "");
  story.pass_ms(60'000);
  EXPECT_EQ(story.recovers(), "tool.result model.requested");
}

TEST(Recovery, GoesOnWithACancel) {
  Called story({call_of("publish")});
  story.is_cancelled();
  EXPECT_EQ(story.recovers(), "call.unknown tool.result run.finished");
  EXPECT_TRUE(story.finished(StopReason::cancelled));
  EXPECT_EQ(story.latest<ToolResult>().status, ToolStatus::cancelled);
}

TEST(Recovery, EndsAPauseThatExpiredMeanwhile) {
  Called story({call_of("publish")});
  story.recovers();
  story.pass_ms(7ll * 86'400'000);
  EXPECT_EQ(story.recovers(), "tool.result run.finished");
  EXPECT_TRUE(story.finished(StopReason::pause_expired));
}

TEST(Recovery, StopsARunWhoseTimePassedMeanwhile) {
  Called story({call_of("read")});
  story.pass_ms(600'000);
  EXPECT_EQ(story.recovers(), "tool.planned budget.warning tool.result run.finished");
  EXPECT_TRUE(story.finished(StopReason::time_limit)) << "time spent crashed counts";
}

TEST(Recovery, CountsARestartLessThanAServerThatDoesNotAnswer) {
  Called story({call_of("send")});
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(story.recovers(), "tool.planned") << "restart " << i;
}

// --- the same table for a request that got no answer

TEST(LostCall, TriesAReadToolAgainAfterAWhile) {
  Called story({call_of("read")});
  const Timestamp then = story.now();
  EXPECT_EQ(story.gets_lost("call_1_1"), "tool.planned");
  EXPECT_EQ(story.latest<ToolPlanned>().not_before, then.plus_ms(250));
}

TEST(LostCall, AsksAPersonAfterThreeAttemptsUnderAKey) {
  Called story({call_of("send")});
  EXPECT_EQ(story.gets_lost("call_1_1"), "tool.planned");
  EXPECT_EQ(story.gets_lost("call_1_1"), "tool.planned");
  EXPECT_EQ(story.gets_lost("call_1_1"), "call.unknown run.paused");
}

TEST(LostCall, AsksAPersonAtOnceWithoutAKey) {
  Called story({call_of("publish")});
  EXPECT_EQ(story.gets_lost("call_1_1"), "call.unknown run.paused");
}

/// The first attempt may have had its effect and only its answer was lost. That the second one failed says
/// nothing about the first: told as an error, it would invite the model to act again under another key.
TEST(LostCall, IsNotCalledFailedWhileAnEarlierAttemptIsInDoubt) {
  Called story({call_of("send")});
  story.gets_lost("call_1_1");
  EXPECT_EQ(story.ends("call_1_1", "HTTP 503", ToolStatus::error), "tool.planned");
  EXPECT_EQ(story.ends("call_1_1", "connection refused", ToolStatus::error), "call.unknown run.paused");
}

TEST(LostCall, MaySucceedAtALaterAttempt) {
  Called story({call_of("send")});
  story.gets_lost("call_1_1");
  EXPECT_EQ(story.ends("call_1_1", "sent"), "tool.result model.requested");
}

TEST(LostCall, MayFailPlainlyOnceTheEarlierAttemptDidNotHappen) {
  Called story({call_of("transfer")});
  story.gets_lost("call_1_1");
  story.did_not_happen("call_1_1");
  EXPECT_EQ(story.ends("call_1_1", "HTTP 422", ToolStatus::error), "tool.result model.requested");
}

TEST(LostCall, MayFailPlainlyWhereNothingCanHaveHappened) {
  Called story({call_of("read")});
  story.gets_lost("call_1_1");
  EXPECT_EQ(story.ends("call_1_1", "HTTP 503", ToolStatus::error), "tool.result model.requested");
}

TEST(LostCall, IgnoresTheLateAnswerOfAnEarlierAttempt) {
  Called story({call_of("send")});
  story.gets_lost("call_1_1");
  EXPECT_EQ(story.give(input::CallEnded{"call_1_1", 1, {CallEnd::Kind::ended, ToolStatus::ok, "late", 9}}),
            "");
  EXPECT_EQ(story.ends("call_1_1", "sent"), "tool.result model.requested");
  EXPECT_EQ(story.give(input::CallEnded{"call_1_1", 2, {CallEnd::Kind::ended, ToolStatus::ok, "sent", 9}}),
            "")
      << "a repeated completion";
}

// --- a person's word

TEST(Resolve, WithAResultSettlesTheCall) {
  Called story({call_of("publish")});
  story.recovers();
  EXPECT_EQ(story.resolves("call_1_1", CallOutcome::happened, "It is online."),
            "call.resolved tool.result run.resumed model.requested");
  EXPECT_EQ(story.latest<ToolResult>().content, text_content("It is online."));
}

TEST(Resolve, AsNotHappenedRunsTheCallAgainUnderTheSameKey) {
  Called story({call_of("publish")});
  const std::string key = story.latest<ToolPlanned>().idempotency_key;
  story.recovers();
  EXPECT_EQ(story.resolves("call_1_1", CallOutcome::did_not_happen),
            "call.resolved tool.planned run.resumed");
  EXPECT_EQ(story.latest<ToolPlanned>().idempotency_key, key);
  EXPECT_EQ(story.latest<ToolPlanned>().attempt, 2u);
  EXPECT_EQ(outstanding(story.state(), story.now()).size(), 1u);
}

TEST(Resolve, StartsNothingUntilTheLastCallIsResolved) {
  Called story({call_of("publish"), call_of("publish")});
  story.recovers();
  EXPECT_EQ(story.resolves("call_1_1", CallOutcome::did_not_happen), "call.resolved tool.planned");
  EXPECT_TRUE(outstanding(story.state(), story.now()).empty());
  EXPECT_EQ(story.resolves("call_1_2", CallOutcome::happened), "call.resolved tool.result run.resumed");
  EXPECT_EQ(outstanding(story.state(), story.now()).size(), 1u);
}

TEST(Resolve, TwiceTheSameIsTheSameAndOtherwiseRefused) {
  Called story({call_of("publish")});
  story.recovers();
  story.resolves("call_1_1", CallOutcome::happened);
  const std::uint64_t seq = story.last().accepted_seq;
  EXPECT_EQ(story.resolves("call_1_1", CallOutcome::happened), "");
  EXPECT_EQ(story.last().accepted_seq, seq);
  EXPECT_EQ(story.refuses(input::Resolve{"call_1_1", CallOutcome::did_not_happen, {}, "x"}),
            ErrorCode::already_resolved);
}

TEST(Resolve, RefusesACallThatIsNotInDoubtOrNotThere) {
  Called story({call_of("publish")});
  EXPECT_EQ(story.refuses(input::Resolve{"call_1_1", CallOutcome::happened, {}, "x"}), ErrorCode::not_paused);
  EXPECT_EQ(story.refuses(input::Resolve{"call_7_7", CallOutcome::happened, {}, "x"}),
            ErrorCode::unknown_call);
}

TEST(Resolve, MayBeNeededAgainForTheNextAttempt) {
  Called story({call_of("publish")});
  story.recovers();
  story.resolves("call_1_1", CallOutcome::did_not_happen);
  EXPECT_EQ(story.recovers(), "call.unknown run.paused");
  EXPECT_EQ(story.resolves("call_1_1", CallOutcome::did_not_happen),
            "call.resolved tool.planned run.resumed");
}

}  // namespace
}  // namespace ratchet::stories
