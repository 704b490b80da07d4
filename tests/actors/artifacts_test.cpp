// Which artifacts a run may read: those of its own tree.

#include <gmock/gmock.h>

#include "tests/actors/node_fixture.hpp"
#include "tests/store/story.hpp"

namespace ratchet {
namespace {

using stories::artifact_id;
using stories::Story;
using testing::HasSubstr;

TEST(Artifacts, AreReadWithinATreeAndByNobodyElse) {
  const std::string reads[] = {"artifact_read", "artifact_search"};
  TestNode* node = nullptr;
  Story below(2, "t"), stranger(3, "t"), foreigner(4, "other");
  const auto args_of = [](std::uint64_t artifact, const std::string& tool) {
    return R"({"artifact_id":")" + to_string(artifact_id(artifact)) +
           (tool == "artifact_search" ? R"(","pattern":"words"})" : R"("})");
  };
  FakeModelClient models([&](const ModelCall& call) -> std::optional<ModelOutcome> {
    if (call.step == 1) {
      below.row().parent_run_id = below.row().root_run_id = call.run_id;
      for (auto [story, artifact] :
           {std::pair(&below, 2), std::pair(&stranger, 3), std::pair(&foreigner, 4)}) {
        const Commit commit = story->commit_with_blob(artifact, "words of " + to_string(story->id()));
        EXPECT_TRUE(node->journal.commit({&commit, 1})->front());
      }
    }
    if (call.step > 6) return says("done");
    const std::string& tool = reads[call.step % 2];
    return calls(tool, args_of(2 + (call.step - 1) / 2, tool));
  });
  TestNode test(models, agent_with({*find_builtin("artifact_read"), *find_builtin("artifact_search")}));
  node = &test;
  const RunId run = test.start()->run_id;
  test.wait_for_end(run);
  std::vector<ToolResult> results;
  const auto records = test.journal.records(run, 1, SIZE_MAX);
  for (const Record& record : *records)
    for (const Event& event : record.events)
      if (const auto* result = std::get_if<ToolResult>(&event.payload)) results.push_back(*result);
  ASSERT_EQ(results.size(), 6u);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& text = results[i].content.at(0).text;
    if (i < 2) {
      EXPECT_EQ(results[i].status, ToolStatus::ok) << text;
      EXPECT_THAT(text, HasSubstr("words of " + to_string(below.id())));
    } else {
      EXPECT_EQ(results[i].status, ToolStatus::error) << text;
      EXPECT_EQ(text, "There is no artifact of this id in this run.") << "as if there were none";
    }
  }
}

}  // namespace
}  // namespace ratchet
