// Trees of runs on a real node: actors below actors, and what a crash leaves of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/hook_judge.hpp"
#include "tests/actors/node_fixture.hpp"

namespace ratchet {
namespace {

std::shared_ptr<const AgentVersion> spawner(std::uint32_t levels) {
  auto agent = std::make_shared<AgentVersion>(*agent_with({*find_builtin("spawn_agent")}));
  agent->definition.subagents = {{"tester"}, levels, 8};
  agent->definition.budgets = {64, 4'000'000, 600, Usd{1'000'000'000}};
  return agent;
}

ModelOutcome spawns(int n = 1) {
  return calls("spawn_agent", R"({"agent_id":"tester","input":"part )" + std::to_string(n) + "\"}");
}

/// The model of a tree: what it says depends on which run asks, and how often it has asked.
class Tree {
 public:
  using Rule = std::function<std::optional<ModelOutcome>(std::size_t depth, std::uint32_t step)>;

  explicit Tree(Rule rule, std::uint32_t levels = 1) : Tree(std::move(rule), spawner(levels), {}) {}

  Tree(Rule rule, std::shared_ptr<const AgentVersion> agent, FakeConnector::Rule connector)
      : models([this, rule](const ModelCall& call) { return rule(depth_of(call.run_id), call.step); }),
        test(models, std::move(agent), std::move(connector)) {}

  RunRow child_of(const RunId& parent) {
    while (true) {
      RunQuery query;
      query.team = "t";
      query.parent_run_id = parent;
      const auto rows = test.journal.list(query);
      if (rows && !rows->empty()) return rows->front();
      std::this_thread::yield();
    }
  }

  FakeModelClient models;
  TestNode test;

 private:
  std::size_t depth_of(const RunId& run) { return test.journal.row(run)->depth; }
};

TEST(Subagents, TheAnswerOfOneIsTheResultOfTheCallThatStartedIt) {
  Tree tree([](std::size_t depth, std::uint32_t step) {
    return depth == 0 && step == 1 ? spawns() : says(depth == 0 ? "done" : "found");
  });
  const RunId root = tree.test.start()->run_id;
  const RunRow row = tree.test.wait_for_end(root);
  EXPECT_EQ(row.stop_reason, StopReason::final_answer);
  EXPECT_EQ(row.subagents.steps, 1);
  EXPECT_EQ(row.subagents.tokens, 110);
  EXPECT_THAT(tree.test.types(root),
              testing::ElementsAre("run.started",
                                   "model.requested",
                                   "model.completed",
                                   "tool.requested",
                                   "tool.planned",
                                   "subagent.started",
                                   "subagent.finished",
                                   "tool.result",
                                   "model.requested",
                                   "model.completed",
                                   "run.finished"));
  const RunRow child = tree.child_of(root);
  EXPECT_EQ(child.root_run_id, root);
  EXPECT_EQ(child.depth, 1u);
  EXPECT_EQ(child.stop_reason, StopReason::final_answer);
}

TEST(Subagents, HooksSeeWhatOneAnsweredBeforeItsParentDoes) {
  auto agent = std::make_shared<AgentVersion>(*spawner(1));
  agent->definition.hooks = {{HookPoint::post_tool, "http://redact.example/", HookKind::security}};
  // Held until the parent rests: the end of its child takes it up again.
  Tree tree(
      [](std::size_t depth, std::uint32_t step) -> std::optional<ModelOutcome> {
        if (depth == 1) return std::nullopt;
        return step == 1 ? spawns() : says("done");
      },
      agent,
      [](const ConnectorCall&) { return answered(200, R"({"verdict":"rewrite","result":"card ****"})"); });
  HookJudge hooks(tree.test.connector, nullptr, nullptr);
  tree.test.reviewer = &hooks;
  tree.test.restart();
  const RunId root = tree.test.start()->run_id;
  tree.models.wait_for_calls(1);
  tree.models.answer(says("card 4111"));
  tree.test.wait_for_end(root);
  const auto records = tree.test.journal.records(root, 1, SIZE_MAX);
  int seen = 0;
  for (const Record& record : *records)
    for (const Event& event : record.events) {
      const auto* finished = std::get_if<SubagentFinished>(&event.payload);
      const auto* result = std::get_if<ToolResult>(&event.payload);
      if (!finished && !result) continue;
      EXPECT_EQ((finished ? finished->result : result->content).at(0).text, "card ****");
      ++seen;
    }
  EXPECT_EQ(seen, 2);
  tree.test.node.reset();
}

TEST(Subagents, AParentThatOnlyWaitsHoldsNoActor) {
  Tree tree([](std::size_t depth, std::uint32_t step) -> std::optional<ModelOutcome> {
    if (depth == 1) return std::nullopt;
    return step == 1 ? spawns() : says("done");
  });
  const RunId root = tree.test.start()->run_id;
  tree.models.wait_for_calls(1);
  while (tree.test.node->stats().active_runs > 1)
    std::this_thread::yield();
  tree.models.answer(says("found"));
  EXPECT_GT(tree.test.wait_for_end(root).lease, 1u) << "it was taken up again by the end of its child";
}

TEST(Subagents, AWholeTreeIsResumedAfterACrash) {
  Tree tree(
      [](std::size_t depth, std::uint32_t step) -> std::optional<ModelOutcome> {
        if (depth == 2) return std::nullopt;
        return step == 1 ? spawns() : says("done");
      },
      2);
  const RunId root = tree.test.start()->run_id;
  const auto rests = [](const RunRow& row) { return row.resumes == 0; };
  for (int crash = 0; crash < 4; ++crash) {
    tree.models.wait_for_calls(1);
    // Until they rest again: who dies three times while being taken up is taken for the cause.
    tree.test.wait_for_row(root, rests);
    tree.test.wait_for_row(tree.child_of(root).run_id, rests);
    tree.test.restart();
  }
  tree.models.answer(says("found"));
  const RunRow row = tree.test.wait_for_end(root);
  EXPECT_EQ(row.stop_reason, StopReason::final_answer);
  const RunRow child = tree.child_of(root), grandchild = tree.child_of(child.run_id);
  EXPECT_EQ(grandchild.depth, 2u);
  EXPECT_EQ(row.subagents.steps, child.step + grandchild.step);
  EXPECT_EQ(row.subagents.usd, child.cost_usd + grandchild.cost_usd);
  EXPECT_EQ(row.subagents.tokens, child.usage.total() + grandchild.usage.total());
}

TEST(Subagents, ACancelReachesAllBelowBeforeTheRootSaysSo) {
  Tree tree(
      [](std::size_t depth, std::uint32_t) -> std::optional<ModelOutcome> {
        if (depth == 2) return std::nullopt;
        return spawns();
      },
      2);
  const RunId root = tree.test.start()->run_id;
  tree.models.wait_for_calls(1);
  ASSERT_TRUE(tree.test.cancel(root));
  EXPECT_EQ(tree.test.wait_for_end(root).stop_reason, StopReason::cancelled);
  const RunRow child = tree.child_of(root), grandchild = tree.child_of(child.run_id);
  EXPECT_EQ(child.stop_reason, StopReason::cancelled) << "read after the root had ended: nothing to wait for";
  EXPECT_EQ(grandchild.stop_reason, StopReason::cancelled);
  EXPECT_EQ(tree.models.waiting(), 0u);
}

TEST(Subagents, ACrashInACancelIsTakenToItsEnd) {
  Tree tree([](std::size_t depth, std::uint32_t) -> std::optional<ModelOutcome> {
    if (depth == 1) return std::nullopt;
    return spawns();
  });
  const RunId root = tree.test.start()->run_id;
  tree.models.wait_for_calls(1);
  ASSERT_TRUE(tree.test.cancel(root));
  tree.test.restart();
  EXPECT_EQ(tree.test.wait_for_end(root).stop_reason, StopReason::cancelled);
  EXPECT_EQ(tree.child_of(root).stop_reason, StopReason::cancelled);
}

TEST(Subagents, AChildThatIsCancelledIsAnErrorOfItsParentsCall) {
  Tree tree([](std::size_t depth, std::uint32_t step) -> std::optional<ModelOutcome> {
    if (depth == 1) return std::nullopt;
    return step == 1 ? spawns() : says("done without it");
  });
  const RunId root = tree.test.start()->run_id;
  tree.models.wait_for_calls(1);
  ASSERT_TRUE(tree.test.cancel(tree.child_of(root).run_id));
  EXPECT_EQ(tree.test.wait_for_end(root).stop_reason, StopReason::final_answer);
}

}  // namespace
}  // namespace ratchet
