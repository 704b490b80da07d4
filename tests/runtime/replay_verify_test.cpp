// Recorded runs, decided again: the same where the rules are, and a difference where a rule has changed.

#include <gmock/gmock.h>

#include "runtime/replay/verify.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

using testing::HasSubstr;

std::shared_ptr<const AgentVersion> version_of(const RunStory& story) {
  const auto book = story.book();
  return {book, &book->agent()};
}

RecordedRun recorded(const RunStory& story) {
  RecordedRun run;
  run.run_id = story.state().run_id;
  run.records = story.records();
  for (const Blob& blob : story.blobs())
    run.artifacts[blob.ref.id] = blob.bytes;
  return run;
}

void expect_same(const RunStory& story) {
  const auto again = decide_again(version_of(story), recorded(story));
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_FALSE(*again) << "event " << (*again)->seq << ": " << (*again)->text;
}

TEST(DecideAgain, WritesCallsRetriesAndAnswersTheSame) {
  Setting setting;
  setting.input = std::string(20'000, 'i');
  RunStory story(setting);
  story.begin();
  story.fails(FailureClass::transient);
  story.pass_ms(10'000);
  story.is_due();
  story.replies({said("I look."), call_of("read"), call_of("send"), call_of("secret"), call_of("nothing")});
  story.is_told("Also this.", "key");
  story.ends("call_1_2", std::string(20'000, 'r'));
  story.ends("call_1_1");
  story.replies({call_of("notes_write", R"({"text":"n"})")});
  story.replies({said("Done.")});
  ASSERT_TRUE(story.state().finished());
  expect_same(story);
}

TEST(DecideAgain, WritesCrashesAndDoubtsTheSame) {
  RunStory story;
  story.begin();
  story.recovers();
  story.replies({call_of("read"), call_of("publish"), call_of("transfer")});
  story.recovers();
  story.did_not_happen("call_1_3");
  story.ends("call_1_3");
  story.ends("call_1_1");
  story.resolves("call_1_2", CallOutcome::happened);
  story.replies({said("Done.")});
  ASSERT_TRUE(story.state().finished());
  expect_same(story);
}

TEST(DecideAgain, WritesApprovalsAndTheirEndsTheSame) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay", R"({"n":1})"), call_of("pay", R"({"n":2})"), call_of("pay", R"({"n":3})")});
  story.pass_ms(1'000);
  story.approves("call_1_1", R"({"n":9})");
  story.rejects("call_1_2");
  story.pass_ms(4'000'000);
  story.is_due();
  story.ends("call_1_1");
  story.replies({said("Done.")});
  ASSERT_TRUE(story.state().finished());
  expect_same(story);
}

TEST(DecideAgain, WritesCancelsAndLimitsTheSame) {
  RunStory cancelled;
  cancelled.begin();
  cancelled.replies({call_of("send")});
  cancelled.is_cancelled();
  cancelled.has_stopped();
  expect_same(cancelled);
  Setting setting;
  setting.budgets.max_steps = 1;
  RunStory limited(setting);
  limited.begin();
  limited.replies({call_of("read")});
  limited.ends("call_1_1");
  ASSERT_TRUE(limited.finished(StopReason::step_limit));
  expect_same(limited);
}

/// The record as another set of rules would have written it.
template <class T>
RecordedRun written_otherwise(const RunStory& story, void (*change)(T&)) {
  RecordedRun run = recorded(story);
  for (Record& record : run.records)
    for (Event& event : record.events)
      if (T* payload = std::get_if<T>(&event.payload)) {
        change(*payload);
        return run;
      }
  return run;
}

TEST(DecideAgain, AChangedRuleShowsAtItsEvent) {
  RunStory story;
  story.begin();
  story.replies({call_of("read"), call_of("secret")});
  story.ends("call_1_1");
  story.replies({said("Done.")});
  const auto differs = [&](const RecordedRun& run) {
    const auto again = decide_again(version_of(story), run);
    return again && *again;
  };
  EXPECT_FALSE(differs(recorded(story)));
  EXPECT_TRUE(differs(written_otherwise<ModelRequested>(story, [](auto& r) { r.reserved.tokens += 1; })));
  EXPECT_TRUE(differs(written_otherwise<ModelRequested>(story, [](auto& r) { r.late_text += '.'; })));
  EXPECT_TRUE(differs(written_otherwise<ModelRequested>(story, [](auto& r) { r.request_hash = Hash{}; })));
  EXPECT_TRUE(differs(written_otherwise<ToolPlanned>(story, [](auto& p) { p.idempotency_key += 'x'; })));
  EXPECT_TRUE(differs(written_otherwise<ToolResult>(story, [](auto& r) { r.status = ToolStatus::error; })));
  EXPECT_TRUE(differs(written_otherwise<RunFinished>(story, [](auto& f) { f.steps += 1; })));
  RecordedRun other = recorded(story);
  other.records[2].events.pop_back();
  EXPECT_TRUE(differs(other));
}

TEST(DecideAgain, ADifferenceNamesBothSides) {
  RunStory story;
  story.begin();
  const auto run = written_otherwise<ModelRequested>(story, [](auto& r) { r.max_tokens = 7; });
  const auto again = decide_again(version_of(story), run);
  ASSERT_TRUE(again && *again);
  EXPECT_EQ((*again)->seq, 2u);
  EXPECT_THAT((*again)->text, HasSubstr("\"max_tokens\":7"));
  EXPECT_THAT((*again)->text, HasSubstr("now: "));
}

}  // namespace
}  // namespace ratchet::stories
