// Calls that share the run's workspace: one after the other, each from the files that the one before left.

#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

ReplyBlock bash(int n) {
  return call_of("bash", "{\"command\":\"echo " + std::to_string(n) + "\"}");
}

std::string leaves(RunStory& story, const std::string& call_id, std::string_view files) {
  const OpenCall* call = story.state().find_call(call_id);
  input::CallEnded ended{call_id, call ? call->attempt : 1, {}};
  ended.end.text = "done";
  ended.end.workspace = sha256(files);
  return story.give(ended);
}

std::vector<std::string> running(const RunStory& story) {
  std::vector<std::string> calls;
  for (const Effect& effect : outstanding(story.state(), story.now()))
    if (const auto* call = std::get_if<CallEffect>(&effect)) calls.push_back(call->call_id);
  return calls;
}

using Calls = std::vector<std::string>;

TEST(Workspace, CallsThatShareItRunInTheOrderOfTheReply) {
  RunStory story;
  story.begin();
  EXPECT_EQ(story.replies({bash(1), call_of("read"), bash(2), bash(3)}),
            "model.completed tool.requested tool.requested tool.requested tool.requested tool.planned "
            "tool.planned");
  EXPECT_EQ(running(story), (Calls{"call_1_1", "call_1_2"})) << "others run beside it";
  EXPECT_EQ(leaves(story, "call_1_1", "one"), "tool.result tool.planned");
  EXPECT_EQ(story.state().workspace, sha256("one"));
  EXPECT_EQ(running(story), (Calls{"call_1_2", "call_1_3"}));
  story.ends("call_1_2");
  EXPECT_EQ(leaves(story, "call_1_3", "two"), "tool.result tool.planned");
  EXPECT_EQ(leaves(story, "call_1_4", "three"), "tool.result model.requested");
  EXPECT_EQ(story.state().workspace, sha256("three"));
}

TEST(Workspace, ACallThatChangedNothingLeavesTheSnapshotOfTheOneBefore) {
  RunStory story;
  story.begin();
  story.replies({bash(1)});
  leaves(story, "call_1_1", "one");
  story.replies({bash(2)});
  story.ends("call_2_1");
  EXPECT_EQ(story.state().workspace, sha256("one"));
  EXPECT_FALSE(story.latest<ToolResult>().workspace);
}

TEST(Workspace, ACrashRunsTheOneUnderWayAgainAndTheNextOnlyThen) {
  RunStory story;
  story.begin();
  story.replies({bash(1), bash(2)});
  EXPECT_EQ(story.recovers(), "tool.planned");
  EXPECT_EQ(story.latest<ToolPlanned>().attempt, 2u);
  EXPECT_EQ(running(story), Calls{"call_1_1"});
  EXPECT_EQ(leaves(story, "call_1_1", "one"), "tool.result tool.planned");
  EXPECT_EQ(story.latest<ToolPlanned>().attempt, 1u) << "the second had not been started";
  leaves(story, "call_1_2", "two");
}

TEST(Workspace, ACancelSettlesTheOneThatWaitedAsNotExecuted) {
  RunStory story;
  story.begin();
  story.replies({bash(1), bash(2)});
  story.is_cancelled();
  EXPECT_EQ(story.has_stopped(), "tool.result tool.result run.finished");
}

TEST(Workspace, ACallInDoubtHoldsTheFilesUntilAPersonHasDecided) {
  RunStory story;
  story.begin();
  story.replies({call_of("build"), bash(1)});
  EXPECT_EQ(running(story), Calls{"call_1_1"});
  EXPECT_EQ(story.gets_lost("call_1_1"), "call.unknown run.paused") << "the next call has not been started";
  EXPECT_EQ(story.resolves("call_1_1", CallOutcome::did_not_happen),
            "call.resolved tool.planned run.resumed");
  EXPECT_EQ(running(story), Calls{"call_1_1"}) << "it runs again, and alone";
  EXPECT_EQ(leaves(story, "call_1_1", "one"), "tool.result tool.planned");
  EXPECT_EQ(running(story), Calls{"call_1_2"});
  leaves(story, "call_1_2", "two");
}

TEST(Workspace, ADenialBetweenTwoCallsHoldsNothingBack) {
  RunStory story;
  story.begin();
  story.replies({bash(1), call_of("secret"), bash(2)});
  EXPECT_EQ(running(story), Calls{"call_1_1"});
  leaves(story, "call_1_1", "one");
  EXPECT_EQ(running(story), Calls{"call_1_3"});
}

TEST(Workspace, FactsThatAreStillOutKeepTheOrder) {
  Setting setting;
  setting.decision_point = true;
  RunStory story(setting);
  story.begin();
  story.replies({bash(1), bash(2)});
  CallFacts yes;
  yes.authorizer = AuthorizerFacts{true, {}};
  story.is_judged("call_1_2", yes);
  EXPECT_EQ(running(story), Calls{}) << "the first is still being judged";
  story.is_judged("call_1_1", yes);
  EXPECT_EQ(running(story), Calls{"call_1_1"});
  leaves(story, "call_1_1", "one");
  EXPECT_EQ(running(story), Calls{"call_1_2"});
}

}  // namespace
}  // namespace ratchet::stories
