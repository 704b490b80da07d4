// Cancelling: durable at once, ended when everything under way has been stopped, and every open call settled.

#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

TEST(Cancel, StopsAModelCallAndChargesIt) {
  RunStory story;
  story.begin();
  const Amount reserved = story.latest<ModelRequested>().reserved;
  EXPECT_EQ(story.is_cancelled(), "run.cancel_requested");
  EXPECT_TRUE(outstanding(story.state(), story.now()).empty());
  EXPECT_FALSE(waits(story.state())) << "it ends by itself, nobody has to come";
  EXPECT_EQ(story.has_stopped(), "model.failed run.finished");
  EXPECT_TRUE(story.finished(StopReason::cancelled));
  EXPECT_EQ(story.latest<ModelFailed>().charged_usd, reserved.usd);
}

TEST(Cancel, BeforeTheFirstStep) {
  RunStory story;
  EXPECT_EQ(story.is_cancelled(), "run.cancel_requested");
  EXPECT_EQ(story.has_stopped(), "run.finished");
}

TEST(Cancel, BetweenAttempts) {
  RunStory story;
  story.begin();
  story.fails(FailureClass::transient);
  story.is_cancelled();
  EXPECT_EQ(next_due(story.state(), story.now()), std::nullopt) << "there is no next attempt";
  EXPECT_EQ(story.is_due(), "");
  EXPECT_EQ(story.has_stopped(), "run.finished");
}

TEST(Cancel, SettlesEachOpenCall) {
  RunStory story;
  story.begin();
  story.replies({call_of("read"), call_of("publish"), call_of("wait", R"({"seconds":9})"), call_of("read")});
  story.ends("call_1_4");
  story.is_cancelled();
  EXPECT_EQ(story.has_stopped(), "tool.result call.unknown tool.result tool.result run.finished");
  const auto& report = story.latest<RunFinished>().report;
  ASSERT_TRUE(report);
  EXPECT_EQ(report->calls.size(), 4u);
}

TEST(Cancel, TakesResultsThatComeWhileItStops) {
  RunStory story;
  story.begin();
  story.replies({call_of("publish"), call_of("send")});
  story.is_cancelled();
  EXPECT_EQ(story.ends("call_1_1", "published"), "tool.result") << "what is known is kept";
  EXPECT_EQ(story.has_stopped(), "call.unknown tool.result run.finished");
}

TEST(Cancel, PlansNoOtherAttempt) {
  RunStory story;
  story.begin();
  story.replies({call_of("send")});
  story.is_cancelled();
  EXPECT_EQ(story.gets_lost("call_1_1"), "");
  EXPECT_EQ(story.has_stopped(), "call.unknown tool.result run.finished");
}

TEST(Cancel, TakesAReplyThatComesWhileItStopsAndRunsNothingOfIt) {
  RunStory story;
  story.begin();
  story.is_cancelled();
  EXPECT_EQ(story.replies({call_of("publish"), call_of("read")}),
            "model.completed tool.requested tool.requested");
  EXPECT_EQ(story.has_stopped(), "tool.result tool.result run.finished");
  EXPECT_EQ(story.latest<ToolResult>().status, ToolStatus::cancelled);
}

TEST(Cancel, EndsAsCancelledWhateverTheReplySays) {
  RunStory story;
  story.begin();
  story.is_cancelled();
  EXPECT_EQ(story.replies({said("Done.")}), "model.completed");
  EXPECT_EQ(story.has_stopped(), "run.finished");
  EXPECT_TRUE(story.finished(StopReason::cancelled));
}

TEST(Cancel, EndsAFailedAttemptToo) {
  for (const FailureClass kind : {FailureClass::transient, FailureClass::rejected, FailureClass::overflow}) {
    RunStory story;
    story.begin();
    story.is_cancelled();
    EXPECT_EQ(story.fails(kind), "model.failed") << name(kind);
    EXPECT_EQ(story.has_stopped(), "run.finished");
  }
}

TEST(Cancel, OfAPausedRun) {
  RunStory story;
  story.begin();
  story.replies({call_of("publish")});
  story.gets_lost("call_1_1");
  EXPECT_EQ(story.is_cancelled(), "run.cancel_requested");
  EXPECT_EQ(story.has_stopped(), "tool.result run.finished");
  EXPECT_EQ(row_of(story.state()).status, RunStatus::finished);
}

TEST(Cancel, OfAPausedRunGoesOnAfterACrash) {
  RunStory story;
  story.begin();
  story.replies({call_of("publish")});
  story.gets_lost("call_1_1");
  story.is_cancelled();
  EXPECT_TRUE(row_of(story.state()).active);
  EXPECT_EQ(story.recovers(), "tool.result run.finished");
}

TEST(Cancel, TwiceIsOnce) {
  RunStory story;
  story.begin();
  story.is_cancelled();
  const std::uint64_t seq = story.last().accepted_seq;
  EXPECT_EQ(story.is_cancelled(), "");
  EXPECT_EQ(story.last().accepted_seq, seq);
  story.has_stopped();
  EXPECT_EQ(story.is_cancelled(), "");
  EXPECT_EQ(story.last().accepted_seq, seq) << "it was cancelled, and that is what was asked for";
}

TEST(Cancel, OfAFinishedRunIsRefused) {
  RunStory story;
  story.begin();
  story.replies({said("Done.")});
  EXPECT_EQ(story.refuses(input::Cancel{"somebody", ""}), ErrorCode::run_finished);
}

TEST(Cancel, RefusesWhatComesAfterIt) {
  RunStory story;
  story.begin();
  story.replies({call_of("publish")});
  story.gets_lost("call_1_1");
  story.is_cancelled();
  EXPECT_EQ(story.refuses(input::Resolve{"call_1_1", CallOutcome::happened, {}, "x"}),
            ErrorCode::run_finished);
  EXPECT_EQ(story.refuses(input::Resume{"x"}), ErrorCode::run_finished);
}

}  // namespace
}  // namespace ratchet::stories
