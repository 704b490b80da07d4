// The layered strategy: what shrinks at the end of a turn, what is left out, and what is never touched.

#include "runtime/context/inspect.hpp"
#include "runtime/limits.hpp"
#include "runtime/model/wire.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

Setting layered(std::int64_t window_tokens = 40'000) {
  Setting setting;
  setting.model.context_window_tokens = window_tokens;
  setting.context = {ContextStrategy::layered, limits::layered_compact_at_permille};
  setting.result_cap_tokens = limits::layered_result_cap_tokens;
  setting.budgets = {200, 100'000'000, 1'000'000, Usd{1'000'000'000'000}};
  setting.interactive = true;
  return setting;
}

std::string answers(RunStory& story, std::vector<ReplyBlock> content) {
  return story.replies(std::move(content),
                       ModelStop::end_turn,
                       Usage{story.latest<ModelRequested>().estimated_tokens, 0, 0, 50});
}

std::string result_name(const RunStory& story) {
  return "result of " + story.state().calls.front().call_id;
}

/// Reads `bytes` bytes in one step; what the result begins with.
std::string read_once(RunStory& story, std::size_t bytes = 8'000) {
  answers(story, {call_of("read")});
  const std::string name = result_name(story);
  story.ends(story.state().calls.front().call_id, name + ": " + std::string(bytes, 'r'));
  return name;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Layered, ShowsTenThousandBytesOfAResult) {
  RunStory story(layered());
  story.begin();
  answers(story, {call_of("read")});
  story.ends("call_1_1", std::string(30'000, 'r'));
  EXPECT_EQ(story.latest<ToolResult>().cut_at, 10'000u);
  EXPECT_EQ(story.blobs().size(), 1u) << "the rest is an artifact";
}

TEST(Layered, ChangesNothingWithinATurn) {
  RunStory story(layered());
  story.begin();
  const std::string first = read_once(story);
  for (int i = 0; i < 5; ++i)
    read_once(story);
  EXPECT_TRUE(has(request_of(story), first + ": " + std::string(8'000, 'r')));
}

TEST(Layered, ShrinksOldResultsToStubsAtTheEndOfATurn) {
  RunStory story(layered());
  story.begin();
  const std::string old = read_once(story);
  const std::string newest = read_once(story);
  const std::int64_t before = story.latest<ModelRequested>().estimated_tokens;
  answers(story, {said("It is done.")});
  story.is_told("More?");
  const std::string request = request_of(story);
  EXPECT_TRUE(has(request, old + ": rrr"));
  EXPECT_TRUE(has(request, "[shortened, of "));
  EXPECT_FALSE(has(request, old + ": " + std::string(limits::stub_bytes, 'r')));
  EXPECT_TRUE(has(request, newest + ": " + std::string(8'000, 'r'))) << "the newest two messages stay";
  EXPECT_LT(story.latest<ModelRequested>().prefix_tokens, before / 2)
      << "the prefix breaks, and that is told";
  expect_derivable(story);
}

TEST(Layered, KeepsShortResultsAsTheyAre) {
  RunStory story(layered());
  story.begin();
  answers(story, {call_of("read")});
  story.ends("call_1_1", "forty-two");
  read_once(story);
  answers(story, {said("It is done.")});
  story.is_told("More?");
  EXPECT_TRUE(has(request_of(story), "forty-two"));
}

TEST(Layered, SaysWhereTheWholeOfAStubIs) {
  RunStory story(layered());
  story.begin();
  answers(story, {call_of("read")});
  story.ends("call_1_1", std::string(30'000, 'r'));
  read_once(story);
  answers(story, {said("It is done.")});
  story.is_told("More?");
  EXPECT_TRUE(has(request_of(story), to_string(story.blobs().front().ref.id)));
}

TEST(Layered, CutsStubsBetweenCharacters) {
  RunStory story(layered());
  story.begin();
  answers(story, {call_of("read")});
  std::string text;
  while (text.size() < 5'000)
    text += "🔥현";
  story.ends("call_1_1", text);
  read_once(story);
  answers(story, {said("It is done.")});
  story.is_told("More?");
  EXPECT_FALSE(has(request_of(story), "\xEF\xBF\xBD"));
  EXPECT_TRUE(has(request_of(story), "… [shortened"));
}

TEST(Layered, LeavesTheOldestResultsOutWhereStubsAreNotEnough) {
  RunStory story(layered(9'000));
  story.begin();
  // Many short turns: their stubs alone pass what is allowed after a turn.
  for (int i = 0; i < 60 && !story.state().finished(); ++i) {
    if (story.state().model.purpose == CallPurpose::compaction) break;
    read_once(story, 1'000);
    if (story.state().model.purpose == CallPurpose::compaction) break;
    answers(story, {said("Done.")});
    story.is_told("More?");
    if (has(request_of(story), "[left out]")) break;
  }
  const std::string request = request_of(story);
  EXPECT_TRUE(has(request, "[left out]"));
  EXPECT_FALSE(has(request, "result of call_1_1"));
  EXPECT_EQ(story.count<ContextCompacted>(), 0) << "before anything is summed up";
  expect_derivable(story);
}

TEST(Layered, CompactsDownToAThirdOfTheWindow) {
  Setting setting = layered();
  setting.interactive = false;
  RunStory story(setting);
  story.begin();
  std::vector<std::string> results;
  while (story.state().model.purpose == CallPurpose::step)
    results.push_back(read_once(story));
  const std::int64_t usable = 40'000 - 1'000;
  EXPECT_GT(results.size(), 8u);
  answers(story, {said("## Goal\nGo on.")});
  const std::int64_t after = story.latest<ModelRequested>().estimated_tokens;
  EXPECT_LE(after, usable * 35 / 100);
  EXPECT_GT(after, usable * 20 / 100) << "as much as fits is kept";
  const std::string request = request_of(story);
  EXPECT_TRUE(has(request, results.back()));
  EXPECT_TRUE(has(request, results[results.size() - 2])) << "not only the newest batch";
  EXPECT_FALSE(has(request, results.front()));
  expect_derivable(story);
}

TEST(Layered, StaysDerivableOverManyTurns) {
  RunStory story(layered(20'000));
  story.begin();
  for (int turn = 0; turn < 12; ++turn) {
    for (int step = 0; step < 3; ++step) {
      read_once(story, 6'000);
      if (story.state().model.purpose == CallPurpose::compaction) answers(story, {said("## Goal\nGo on.")});
    }
    answers(story, {said("Turn " + std::to_string(turn) + " is done.")});
    story.is_told("And now?");
    if (story.state().model.purpose == CallPurpose::compaction) answers(story, {said("## Goal\nGo on.")});
    ASSERT_FALSE(story.state().finished());
  }
  expect_derivable(story);
}

}  // namespace
}  // namespace ratchet::stories
