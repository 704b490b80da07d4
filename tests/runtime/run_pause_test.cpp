// Pauses: they expire, one can lie over another, and what waits for a person costs no time.

#include "runtime/limits.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

/// What the supervisor writes when a run fails whenever it is taken up.
void poison(RunStory& story) {
  RunRow row = row_of(story.state());
  row.lease = 1;
  story.write(poison_pause(row, "it fails", story.now()));
}

TEST(Pause, ForACallInDoubtShowsInTheRow) {
  RunStory story;
  story.begin();
  story.replies({call_of("publish")});
  story.gets_lost("call_1_1");
  const RunRow row = row_of(story.state());
  EXPECT_EQ(row.status, RunStatus::paused);
  EXPECT_FALSE(row.active);
  EXPECT_EQ(row.pause_reasons, std::vector{PauseReason::unknown_outcome});
  EXPECT_EQ(row.pause_call_ids, std::vector<std::string>{"call_1_1"});
  EXPECT_EQ(row.paused_since, story.now());
  EXPECT_EQ(row.due_at, story.now().plus_ms(limits::pause_expires_ms));
}

TEST(Pause, MovesTheDeadlineByTheTimeWaited) {
  RunStory story;
  story.begin();
  story.replies({call_of("publish")});
  story.pass_ms(100'000);
  story.gets_lost("call_1_1");
  story.pass_ms(5'000'000);
  EXPECT_EQ(story.is_due(), "") << "the run's time stands still";
  story.resolves("call_1_1", CallOutcome::happened);
  EXPECT_EQ(story.state().deadline_at, story.state().created_at.plus_ms(600'000 + 5'000'000));
  EXPECT_EQ(row_of(story.state()).seconds_used, 100);
  story.pass_ms(500'000);
  story.is_due();
  EXPECT_TRUE(story.finished(StopReason::time_limit));
}

TEST(Pause, ThatExpiresEndsTheRunTruthfully) {
  RunStory story;
  story.begin();
  story.replies({call_of("publish")});
  story.gets_lost("call_1_1");
  story.pass_ms(limits::pause_expires_ms - 1);
  EXPECT_EQ(story.is_due(), "");
  story.pass_ms(1);
  EXPECT_EQ(story.is_due(), "tool.result run.finished");
  EXPECT_TRUE(story.finished(StopReason::pause_expired));
  EXPECT_EQ(story.latest<ToolResult>().status, ToolStatus::cancelled);
  EXPECT_NE(story.latest<ToolResult>().content.front().text.find("not known"), std::string::npos);
}

TEST(Pause, IsTakenUpWithoutWaking) {
  RunStory story;
  story.begin();
  story.replies({call_of("publish")});
  story.gets_lost("call_1_1");
  EXPECT_EQ(story.recovers(), "");
  EXPECT_TRUE(outstanding(story.state(), story.now()).empty());
}

TEST(OperatorPause, TakesARunOffInMidCallAndGoesOnAsAfterACrash) {
  RunStory story;
  story.begin();
  poison(story);
  EXPECT_EQ(row_of(story.state()).pause_reasons, std::vector{PauseReason::operator_});
  EXPECT_TRUE(outstanding(story.state(), story.now()).empty());
  story.pass_ms(86'400'000);
  EXPECT_EQ(story.resumes(), "run.resumed model.failed model.requested");
}

TEST(OperatorPause, TakesARunOffInMidBatch) {
  RunStory story;
  story.begin();
  story.replies({call_of("send"), call_of("publish")});
  poison(story);
  story.pass_ms(60'000);
  EXPECT_EQ(story.resumes(), "run.resumed tool.planned call.unknown");
}

TEST(OperatorPause, IsLiftedByAnOperatorOnly) {
  RunStory story;
  story.begin();
  poison(story);
  EXPECT_EQ(story.is_told("Hello?"), "message.received");
  EXPECT_TRUE(story.state().pause);
}

TEST(OperatorPause, OverAWaitForAMessageLeavesTheWait) {
  Setting setting;
  setting.interactive = true;
  RunStory story(setting);
  story.begin();
  story.replies({said("What now?")});
  const Timestamp since = story.now();
  story.pass_ms(1'000'000);
  poison(story);
  EXPECT_EQ(row_of(story.state()).paused_since, since) << "it has been waiting since the first pause";
  story.pass_ms(1'000'000);
  EXPECT_EQ(story.resumes(), "run.resumed run.paused") << "nobody has said anything";
  EXPECT_EQ(story.latest<RunPaused>().reasons, std::vector{PauseReason::message});
  EXPECT_EQ(story.state().deadline_at, story.state().created_at.plus_ms(600'000 + 2'000'000));
  EXPECT_EQ(story.is_told("This."), "message.received run.resumed model.requested");
}

TEST(OperatorPause, OverAWaitForAMessageKeepsWhatIsSaidMeanwhile) {
  Setting setting;
  setting.interactive = true;
  RunStory story(setting);
  story.begin();
  story.replies({said("What now?")});
  poison(story);
  EXPECT_EQ(story.is_told("This."), "message.received") << "it does not lift an operator's pause";
  EXPECT_EQ(story.resumes(), "run.resumed model.requested");
}

TEST(OperatorPause, OverACallInDoubtAsksForItAgain) {
  RunStory story;
  story.begin();
  story.replies({call_of("publish")});
  story.gets_lost("call_1_1");
  poison(story);
  EXPECT_EQ(story.resumes(), "run.resumed run.paused");
  EXPECT_EQ(story.latest<RunPaused>().call_ids, std::vector<std::string>{"call_1_1"});
}

TEST(OperatorPause, ThatExpiresEndsTheRun) {
  RunStory story;
  story.begin();
  poison(story);
  story.pass_ms(limits::pause_expires_ms);
  EXPECT_EQ(story.recovers(), "model.failed run.finished");
  EXPECT_TRUE(story.finished(StopReason::pause_expired));
}

TEST(Resume, IsRefusedWhereNoOperatorIsWaitedFor) {
  RunStory story;
  story.begin();
  EXPECT_EQ(story.refuses(input::Resume{"x"}), ErrorCode::not_paused);
  story.replies({call_of("publish")});
  story.gets_lost("call_1_1");
  EXPECT_EQ(story.refuses(input::Resume{"x"}), ErrorCode::not_paused);
}

}  // namespace
}  // namespace ratchet::stories
