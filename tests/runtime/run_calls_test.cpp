// Tool calls that come to no harm: what is asked for, planned and answered, and in which order.

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

TEST(Calls, RunSideBySideAndAreAnsweredTogether) {
  RunStory story;
  story.begin();
  EXPECT_EQ(story.replies({said("I look."), call_of("read"), call_of("send")}),
            "model.completed tool.requested tool.requested tool.planned tool.planned");
  EXPECT_EQ(outstanding(story.state(), story.now()).size(), 2u);
  EXPECT_EQ(story.ends("call_1_2", "sent"), "tool.result") << "a slow sibling does not hold it back";
  EXPECT_EQ(story.ends("call_1_1", "read"), "tool.result model.requested");
  EXPECT_EQ(result_of(story, "call_1_2").order, 1u);
  EXPECT_EQ(result_of(story, "call_1_1").order, 2u) << "the order in which they completed is recorded";
}

TEST(Calls, AreNumberedByStepAndPlace) {
  RunStory story;
  story.begin();
  story.replies({call_of("read")});
  story.ends("call_1_1");
  story.replies({call_of("read"), call_of("read")});
  EXPECT_EQ(story.latest<ToolPlanned>().call_id, "call_2_2");
  EXPECT_EQ(story.latest<ToolPlanned>().idempotency_key, to_string(story.state().run_id) + "/2/call_2_2");
}

TEST(Calls, AreIsolatedFromBadSiblings) {
  RunStory story;
  story.begin();
  ReplyBlock broken = call_of("send", R"({"n":)");
  broken.args_error = "the arguments end too early";
  story.replies({broken,
                 call_of("no_such_tool"),
                 call_of("secret"),
                 call_of("send", R"({"n":"one"})"),
                 call_of("read")});
  EXPECT_EQ(result_of(story, "call_1_1").status, ToolStatus::invalid);
  EXPECT_EQ(result_of(story, "call_1_2").status, ToolStatus::denied);
  EXPECT_EQ(result_of(story, "call_1_3").status, ToolStatus::denied);
  EXPECT_EQ(result_of(story, "call_1_4").status, ToolStatus::invalid);
  EXPECT_EQ(story.count<ToolPlanned>(), 1) << "only the sound one runs";
  EXPECT_EQ(story.ends("call_1_5"), "tool.result model.requested");
}

TEST(Calls, ThatAreRefusedSayWhatToDoInstead) {
  RunStory story;
  story.begin();
  EXPECT_EQ(story.replies({call_of("no_such_tool"), call_of("send", R"({"n":"one"})")}),
            "model.completed tool.requested tool.requested tool.result tool.result model.requested");
  EXPECT_NE(result_of(story, "call_1_1").content.front().text.find("no_such_tool"), std::string::npos);
  EXPECT_NE(result_of(story, "call_1_2").content.front().text.find("/n"), std::string::npos);
}

TEST(Calls, BeyondSixtyFourInOneReplyAreInvalid) {
  RunStory story;
  story.begin();
  std::vector<ReplyBlock> calls;
  for (std::size_t i = 0; i < limits::calls_per_reply_max + 1; ++i)
    calls.push_back(call_of("read"));
  story.replies(std::move(calls));
  EXPECT_EQ(story.count<ToolPlanned>(), static_cast<int>(limits::calls_per_reply_max));
  EXPECT_EQ(result_of(story, "call_1_65").status, ToolStatus::invalid);
}

TEST(Calls, OfNotesAndTodosAreAnsweredOnTheSpot) {
  RunStory story;
  story.begin();
  EXPECT_EQ(story.replies({call_of("notes_write", R"({"text":"remember"})"), call_of("notes_read", "{}")}),
            "model.completed tool.requested tool.requested tool.result tool.result model.requested");
  EXPECT_EQ(story.state().memory.notes, "remember");
  EXPECT_EQ(result_of(story, "call_1_2").content.front().text, "remember") << "in the order of the calls";
}

TEST(Calls, OfTodosAreShownWithEachRequest) {
  RunStory story;
  story.begin();
  story.replies({call_of("todo_write", R"({"items":[{"text":"cook","status":"doing"}]})")});
  EXPECT_NE(story.latest<ModelRequested>().late_text.find("[doing] cook"), std::string::npos);
}

TEST(Calls, OfWaitHoldNothing) {
  RunStory story;
  story.begin();
  EXPECT_EQ(story.replies({call_of("wait", R"({"seconds":60})")}),
            "model.completed tool.requested tool.planned");
  EXPECT_TRUE(outstanding(story.state(), story.now()).empty());
  EXPECT_TRUE(waits(story.state()));
  const RunRow row = row_of(story.state());
  EXPECT_FALSE(row.active);
  EXPECT_EQ(row.due_at, story.now().plus_ms(60'000));
  EXPECT_EQ(row.status, RunStatus::running);
  story.pass_ms(60'000);
  EXPECT_EQ(story.is_due(), "tool.result model.requested");
}

TEST(Calls, OfWaitEndWithTheRunsTime) {
  RunStory story;
  story.begin();
  story.replies({call_of("wait", R"({"seconds":100000})")});
  EXPECT_EQ(next_due(story.state(), story.now()), seconds_warning_at(story.state()));
  story.pass_ms(480'000);
  EXPECT_EQ(story.is_due(), "budget.warning");
  EXPECT_EQ(next_due(story.state(), story.now()), story.state().deadline_at);
  story.pass_ms(120'000);
  EXPECT_EQ(story.is_due(), "tool.result run.finished");
  EXPECT_TRUE(story.finished(StopReason::time_limit));
}

// --- large content

TEST(LargeContent, OfAResultBecomesAnArtifactWithAHead) {
  RunStory story;
  story.begin();
  story.replies({call_of("read")});
  std::string text(7'999, 'x');
  while (text.size() < 70'000)
    text += "🔥";
  story.ends("call_1_1", text);
  const ToolResult& result = result_of(story, "call_1_1");
  ASSERT_TRUE(result.content.front().artifact);
  const ArtifactRef& artifact = *result.content.front().artifact;
  EXPECT_EQ(artifact.head.size(), 7'999u) << "cut between code points";
  EXPECT_TRUE(is_valid_utf8(artifact.head));
  EXPECT_EQ(artifact.bytes, text.size());
  EXPECT_EQ(artifact.sha256, sha256(text));
  EXPECT_EQ(artifact.n, 1u);
  EXPECT_EQ(result.bytes, text.size());
  EXPECT_EQ(result.cut_at, 7'999u);
  ASSERT_EQ(story.blobs().size(), 1u);
  EXPECT_EQ(story.blobs()[0].bytes, text) << "journaled values are never truncated";
  EXPECT_EQ(row_of(story.state()).blobs, 1u);
}

TEST(LargeContent, OfTheInputToo) {
  Setting setting;
  setting.input = std::string(20'000, 'i');
  RunStory story(setting);
  EXPECT_TRUE(story.latest<RunStarted>().input.front().artifact);
  story.begin();
  story.replies({call_of("read")});
  story.ends("call_1_1", std::string(9'000, 'r'));
  ASSERT_EQ(story.blobs().size(), 2u);
  EXPECT_EQ(story.blobs()[1].ref.n, 2u) << "artifacts of a run are numbered";
}

TEST(LargeContent, IsWhatTheCapOfTheAgentSays) {
  Setting setting;
  setting.result_cap_tokens = 10;
  RunStory story(setting);
  story.begin();
  story.replies({call_of("read"), call_of("read")});
  story.ends("call_1_1", std::string(40, 'x'));
  story.ends("call_1_2", std::string(41, 'x'));
  EXPECT_FALSE(result_of(story, "call_1_1").content.front().artifact);
  EXPECT_TRUE(result_of(story, "call_1_2").content.front().artifact);
}

TEST(LargeContent, IsStoredOnceWhereAPersonResolvesWithIt) {
  RunStory story;
  story.begin();
  story.replies({call_of("publish")});
  story.gets_lost("call_1_1");
  story.resolves("call_1_1", CallOutcome::happened, std::string(30'000, 'p'));
  EXPECT_EQ(story.blobs().size(), 1u);
  EXPECT_EQ(story.latest<CallResolved>().result, story.latest<ToolResult>().content);
}

// --- the repeated-call rule, from end to end

class Repeating : public RunStory {
 public:
  explicit Repeating(std::string tool) : tool_(std::move(tool)) { begin(); }

  /// The model makes the very same call.
  std::string again() {
    std::string types = replies({call_of(tool_, R"({"n":7})")});
    if (!state().calls.empty() && !state().finished())
      types += " " + ends(state().calls.front().call_id, "the same");
    return types;
  }

 private:
  std::string tool_;
};

TEST(RepeatedCall, IsNotedAtTheSecondAndStoppedAtTheThird) {
  Repeating story("read");
  story.again();
  EXPECT_EQ(story.latest<ToolResult>().content.size(), 1u) << "nothing is said of a first call";
  story.again();
  ASSERT_EQ(story.latest<ToolResult>().content.size(), 2u);
  const std::string note = story.latest<ToolResult>().content[1].text;
  EXPECT_NE(note.find("it returned: the same"), std::string::npos) << note;
  EXPECT_EQ(story.again(), "model.completed tool.requested tool.result run.finished");
  EXPECT_TRUE(story.finished(StopReason::repeated_call));
  EXPECT_EQ(story.latest<ToolRequested>().repeats, 2u);
  EXPECT_EQ(story.count<ToolPlanned>(), 2) << "the third is not executed";
}

TEST(RepeatedCall, IsCountedPerToolWhateverComesBetween) {
  Repeating story("read");
  for (int i = 0; i < 2; ++i) {
    story.again();
    story.replies({call_of("send")});
    story.ends(story.state().calls.front().call_id);
  }
  story.again();
  EXPECT_TRUE(story.finished(StopReason::repeated_call));
}

TEST(RepeatedCall, DoesNotConcernPollingTools) {
  Repeating story("poll");
  for (int i = 0; i < 10; ++i)
    story.again();
  EXPECT_FALSE(story.state().finished());
  EXPECT_EQ(story.latest<ToolResult>().content.size(), 1u) << "and they get no note";
}

TEST(RepeatedCall, StopsWithinOneReplyToo) {
  RunStory story;
  story.begin();
  const ReplyBlock same = call_of("publish", R"({"n":1})");
  EXPECT_EQ(
      story.replies({call_of("read"), same, same, same}),
      "model.completed tool.requested tool.requested tool.requested tool.requested tool.result tool.result "
      "tool.result tool.result run.finished");
  EXPECT_EQ(story.count<ToolPlanned>(), 0) << "nothing of that reply runs";
}

TEST(RepeatedCall, MayBeOneThatWasRefused) {
  RunStory story;
  story.begin();
  for (int i = 0; i < 3; ++i)
    story.replies({call_of("no_such_tool", "{}")});
  EXPECT_TRUE(story.finished(StopReason::repeated_call));
}

TEST(RepeatedCall, IsRememberedOverARestart) {
  Repeating story("read");
  story.again();
  story.recovers();
  story.again();
  story.recovers();
  story.again();
  EXPECT_TRUE(story.finished(StopReason::repeated_call));
}

}  // namespace
}  // namespace ratchet::stories
