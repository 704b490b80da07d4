// Two runs side by side: where they part, and what is the same all the same.

#include "runtime/replay/diff.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

RunSteps steps_of(const RunStory& story) {
  RunSteps steps;
  for (const Event& event : story.events())
    steps.add(event);
  return steps;
}

/// Two steps: a call of `read`, and an answer.
void play(RunStory& story, const std::string& result = "seven", const std::string& answer = "It is seven.") {
  story.begin();
  story.replies({call_of("read", R"({"n":7})")});
  story.ends("call_1_1", result);
  story.replies({said(answer)});
}

TEST(Diff, FindsNoneBetweenEqualRunsAtOtherTimes) {
  RunStory first, second;
  second.pass_ms(120'000);  // another minute in the late text
  play(first);
  play(second);
  const RunSteps a = steps_of(first), b = steps_of(second);
  ASSERT_NE(a.all().at(0).request_hash, b.all().at(0).request_hash);
  const RunDiff diff = compare(a.all(), b.all());
  EXPECT_FALSE(diff.first_divergent_step);
  EXPECT_EQ(diff.steps.size(), 2u);
}

TEST(Diff, AnotherResultIsOfItsStepAndChangesTheNextRequest) {
  RunStory first, second;
  play(first);
  play(second, "eight");
  const RunSteps a = steps_of(first), b = steps_of(second);
  const RunDiff diff = compare(a.all(), b.all());
  EXPECT_EQ(diff.first_divergent_step, 1u);
  EXPECT_TRUE(diff.steps.at(0).same_request);
  EXPECT_TRUE(diff.steps.at(0).same_reply);
  EXPECT_FALSE(diff.steps.at(0).same_calls);
  EXPECT_FALSE(diff.steps.at(1).same_request);
  EXPECT_TRUE(diff.steps.at(1).same_reply);
}

TEST(Diff, TellsReplyAndCallApart) {
  RunStory first, second;
  play(first);
  play(second, "seven", "Seven, I think.");
  const RunSteps a = steps_of(first), b = steps_of(second);
  const RunDiff diff = compare(a.all(), b.all());
  EXPECT_EQ(diff.first_divergent_step, 2u);
  EXPECT_TRUE(diff.steps.at(0).same());
  EXPECT_FALSE(diff.steps.at(1).same_reply);
}

TEST(Diff, AStepThatOnlyOneRunHasIsADifference) {
  RunStory first, second;
  play(first);
  second.begin();
  second.replies({call_of("read", R"({"n":7})")});
  second.is_cancelled();
  second.has_stopped();
  const RunSteps a = steps_of(first), b = steps_of(second);
  const RunDiff diff = compare(a.all(), b.all());
  EXPECT_EQ(diff.first_divergent_step, 1u) << "its call was given up";
  EXPECT_EQ(diff.steps.at(1).against, nullptr);
  EXPECT_FALSE(diff.steps.at(1).same());
}

TEST(Diff, ReasoningAndKeptTextsMakeNoDifference) {
  RunStory first;
  Setting setting;
  setting.result_cap_tokens = 10;
  RunStory second(setting);
  const std::string result(100, 'x');  // an artifact in the second run
  play(first, result);
  second.begin();
  ReplyBlock thought = said("{}");
  thought.type = ReplyBlockType::reasoning;
  second.replies({thought, call_of("read", R"({"n":7})")});
  second.ends("call_1_1", result);
  ASSERT_TRUE(second.latest<ToolResult>().content.front().artifact);
  const RunSteps a = steps_of(first), b = steps_of(second);
  EXPECT_TRUE(compare(a.all(), b.all()).steps.at(0).same());
}

}  // namespace
}  // namespace ratchet::stories
