// Messages to a live run: journaled when they are taken, read at the next step, never lost and never between
// a call and its result.

#include "runtime/limits.hpp"
#include "runtime/model/wire_dialects.hpp"
#include "runtime/run/draft.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

std::string request_text(const RunStory& story) {
  std::string bytes;
  const ModelRequested& requested = story.latest<ModelRequested>();
  for (const auto& piece : story.context().render(requested.max_tokens, requested.late_text))
    bytes += *piece;
  return bytes;
}

TEST(Message, DuringTheLastReplyGivesTheRunAnotherTurn) {
  RunStory story;
  story.begin();
  EXPECT_EQ(story.is_told("Also this."), "message.received");
  EXPECT_EQ(story.replies({said("Done.")}), "model.completed model.requested");
  const std::string request = request_text(story);
  EXPECT_LT(request.find("Done."), request.find("Also this.")) << "after what was said before it arrived";
  EXPECT_EQ(story.replies({said("That too.")}), "model.completed run.finished");
  EXPECT_EQ(story.latest<RunFinished>().result, "That too.");
}

TEST(Message, DuringABatchIsReadAfterTheResults) {
  RunStory story;
  story.begin();
  story.replies({call_of("read"), call_of("read")});
  story.ends("call_1_1", "first result");
  EXPECT_EQ(story.is_told("Hurry."), "message.received") << "calls that were issued go on";
  EXPECT_EQ(story.ends("call_1_2", "second result"), "tool.result model.requested");
  const std::string request = request_text(story);
  EXPECT_LT(request.find("second result"), request.find("Hurry."));
}

TEST(Message, BetweenAttemptsIsReadByTheNextOne) {
  RunStory story;
  story.begin();
  story.fails(FailureClass::transient, 1'000);
  EXPECT_EQ(story.is_told("Wait, no."), "message.received") << "the attempt keeps its time";
  story.pass_ms(1'000);
  EXPECT_EQ(story.is_due(), "model.requested");
  EXPECT_NE(request_text(story).find("Wait, no."), std::string::npos);
}

TEST(Message, DuringAnAttemptThatIsLostIsReadByTheNextOne) {
  RunStory story;
  story.begin();
  story.is_told("Are you there?");
  EXPECT_EQ(request_text(story).find("Are you there?"), std::string::npos) << "that request has been sent";
  story.recovers();
  EXPECT_NE(request_text(story).find("Are you there?"), std::string::npos);
}

TEST(Message, AtTheLastStepIsTakenThoughTheRunStops) {
  Setting setting;
  setting.budgets.max_steps = 1;
  RunStory story(setting);
  story.begin();
  EXPECT_EQ(story.is_told("More!"), "message.received");
  EXPECT_EQ(story.replies({said("Done.")}), "model.completed run.finished");
  EXPECT_TRUE(story.finished(StopReason::step_limit)) << "a hard limit, and not a final answer";
  EXPECT_EQ(story.latest<RunFinished>().result, "Done.") << "and what was answered is not lost";
}

TEST(Message, WithTheSameKeyIsTheSameMessage) {
  RunStory story;
  story.begin();
  story.is_told("Once.", "key");
  const std::uint64_t seq = story.last().accepted_seq;
  EXPECT_GT(seq, 0u);
  EXPECT_EQ(story.is_told("Once.", "key"), "");
  EXPECT_EQ(story.last().accepted_seq, seq);
  EXPECT_EQ(story.is_told("Once.", "other"), "message.received");
  EXPECT_EQ(story.is_told("Once."), "message.received") << "without a key each is another";
  EXPECT_EQ(story.is_told("Twice.", "key"), "refused: idempotency_conflict");
}

TEST(Message, WithAKeyIsKnownAgainAfterTheEnd) {
  RunStory story;
  story.begin();
  story.is_told("Once.", "key");
  const std::uint64_t seq = story.last().accepted_seq;
  story.replies({said("a")});
  story.replies({said("b")});
  ASSERT_TRUE(story.state().finished());
  EXPECT_EQ(story.is_told("Once.", "key"), "");
  EXPECT_EQ(story.last().accepted_seq, seq);
  EXPECT_EQ(story.is_told("New.", "key-2"), "refused: run_finished");
}

TEST(Message, IsKnownByWhatWasSentEvenIfItBecameAnArtifact) {
  RunStory story;
  story.begin();
  const std::string large(50'000, 'x');
  EXPECT_EQ(story.is_told(large, "key"), "message.received");
  ASSERT_TRUE(story.latest<MessageReceived>().content.front().artifact);
  EXPECT_EQ(story.is_told(large, "key"), "");
  EXPECT_EQ(story.is_told(large + "y", "key"), "refused: idempotency_conflict");
}

TEST(Message, AndTheTaskAreShownWholeWhateverTheCapOfResults) {
  Setting setting;
  setting.result_cap_tokens = 10;
  setting.input = std::string(10'000, 'i');
  RunStory story(std::move(setting));
  story.begin();
  EXPECT_NE(request_text(story).find(std::string(10'000, 'i')), std::string::npos);
  story.is_told(std::string(limits::inline_bytes_max, 'm'));
  EXPECT_FALSE(story.latest<MessageReceived>().content.front().artifact);
  // What does not stand inline is read with the tools for it, as a long result is.
  story.is_told(std::string(limits::inline_bytes_max + 1, 'n'));
  EXPECT_EQ(story.latest<MessageReceived>().content.front().artifact->head, std::string(40, 'n'));
}

TEST(Message, IsShownWholeToARunThatCannotReadOn) {
  const auto shown = [](RunStarted started) {
    Stamp stamp{Timestamp{1}, Entropy(std::array<std::uint8_t, 16>{})};
    started.result_cap_tokens = 10;
    Block block{BlockType::text, std::string(100'000, 'x'), {}, {}};
    EXPECT_TRUE(spill(block, 1, shown_of_words(started), stamp));
    return text_of(block);
  };
  RunStarted started;
  EXPECT_EQ(shown(started), std::string(100'000, 'x'));
  started.tools = {{"artifact_read", {}}};
  EXPECT_EQ(shown(started).substr(0, 60), std::string(40, 'x') + "\n[These are the firs");
  started.tools.clear();
  started.rules_version = 1;
  EXPECT_EQ(shown(started).substr(0, 60), std::string(40, 'x') + "\n[These are the firs") << "as it began";
}

TEST(Message, ToARunThatIsBeingCancelledIsRefused) {
  RunStory story;
  story.begin();
  story.is_cancelled();
  EXPECT_EQ(story.is_told("No!"), "refused: run_finished");
}

TEST(Message, ToAPausedRunIsKept) {
  RunStory story;
  story.begin();
  story.replies({call_of("publish")});
  story.gets_lost("call_1_1");
  EXPECT_EQ(story.is_told("Well?"), "message.received") << "it lifts no pause for another reason";
  EXPECT_EQ(story.resolves("call_1_1", CallOutcome::happened, "It is out."),
            "call.resolved tool.result run.resumed model.requested");
  const std::string request = request_text(story);
  EXPECT_LT(request.find("It is out."), request.find("Well?"));
}

TEST(Message, IsRefusedWhenTooManyWait) {
  RunStory story;
  story.begin();
  for (std::size_t i = 0; i < limits::messages_pending_max; ++i)
    ASSERT_EQ(story.is_told("again"), "message.received");
  EXPECT_EQ(story.is_told("again"), "refused: too_many_requests");
}

// --- interactive runs

TEST(Interactive, WaitsForAMessageAfterEachAnswer) {
  Setting setting;
  setting.interactive = true;
  RunStory story(setting);
  story.begin();
  EXPECT_EQ(story.replies({said("What now?")}), "model.completed run.paused");
  EXPECT_EQ(story.latest<RunPaused>().reasons, std::vector{PauseReason::message});
  EXPECT_TRUE(waits(story.state()));
  EXPECT_EQ(story.is_told("This."), "message.received run.resumed model.requested");
  EXPECT_EQ(story.state().step, 2u);
}

TEST(Interactive, GoesOnAtOnceIfSomebodyHasSpokenMeanwhile) {
  Setting setting;
  setting.interactive = true;
  RunStory story(setting);
  story.begin();
  story.is_told("And this.");
  EXPECT_EQ(story.replies({said("Yes?")}), "model.completed model.requested");
}

TEST(Interactive, EndsWithItsAnswerIfNobodySpeaks) {
  Setting setting;
  setting.interactive = true;
  RunStory story(setting);
  story.begin();
  story.replies({said("What now?")});
  story.pass_ms(limits::pause_expires_ms);
  EXPECT_EQ(story.is_due(), "run.finished");
  EXPECT_TRUE(story.finished(StopReason::pause_expired));
  EXPECT_EQ(story.latest<RunFinished>().result, "What now?");
}

TEST(Interactive, DoesNotLoseTimeWhileItWaits) {
  Setting setting;
  setting.interactive = true;
  RunStory story(setting);
  story.begin();
  story.replies({said("What now?")});
  story.pass_ms(3'600'000);
  EXPECT_EQ(story.is_told("This."), "message.received run.resumed model.requested");
  EXPECT_EQ(story.latest<RunResumed>().deadline_at, story.state().created_at.plus_ms(600'000 + 3'600'000));
  EXPECT_EQ(row_of(story.state()).seconds_used, 0);
}

}  // namespace
}  // namespace ratchet::stories
