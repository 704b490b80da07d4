// SIGKILL at every event boundary of a tree of runs, of its root and of a sub-agent: all of it goes on, each
// share comes back once, and nothing was done twice.

#include <map>
#include <set>

#include <fmt/format.h>

#include "tests/crash/world.hpp"

namespace ratchet::crashing {
namespace {

constexpr const char* scenario = R"(scenarios:
  - name: a part
    when: {input_contains: part}
    steps:
      - latency_ms: 15
        call:
          - {tool: keyed, args: {n: 1}}
      - latency_ms: 15
        say: That part is done.
  - name: the whole
    steps:
      - latency_ms: 15
        call:
          - {tool: spawn_agent, args: {agent_id: helper, input: the first part}}
          - {tool: spawn_agent, args: {agent_id: helper, input: the second part}}
      - latency_ms: 15
        call:
          - {tool: keyed, args: {n: 2}}
      - say: All is done.
)";

class TreeKill : public World {
 protected:
  TreeKill() : World(scenario) {}

  void SetUp() override {
    server_.start();
    add_tool({.name = "keyed", .idempotency = "key"});
    add_agent("helper", R"("keyed")");
    add_agent("boss", R"("keyed","spawn_agent")", R"(,"subagents":{"allow":["helper"]})");
  }

  void finish(const std::string& id) {
    for (;;) {
      const auto now = run(id);
      if (text_at(now, "status") == "finished") return;
      server_.follow(id, static_cast<std::uint64_t>(now.at("last_seq").as_int64()) + 1);
    }
  }

  /// The sub-agents of the run, as soon as it has started them.
  std::vector<std::string> children(const std::string& id) {
    for (;;) {
      std::vector<std::string> ids;
      for (const auto& event : events(id))
        if (text_at(event, "type") == "subagent.started") ids.push_back(text_at(event, "child_run_id"));
      if (ids.size() == 2) return ids;
      server_.follow(id, static_cast<std::uint64_t>(run(id).at("last_seq").as_int64()) + 1);
    }
  }

  /// The run ended as it does without a crash, and so did all below it.
  void expect_end(const std::string& id) {
    finish(id);
    EXPECT_EQ(outcome(id), "final_answer: All is done.\ncall_1_1 ok\ncall_1_2 ok\ncall_2_1 ok\n");
    for (const std::string& child : children(id)) {
      EXPECT_EQ(outcome(child), "final_answer: That part is done.\ncall_1_1 ok\n");
      for (const std::string& each : {child, id})
        runs_.insert(each);
    }
    std::set<std::string> ended;
    for (const auto& event : events(id)) {
      if (text_at(event, "type") != "subagent.finished") continue;
      EXPECT_TRUE(ended.insert(text_at(event, "child_run_id")).second) << "a share came back twice";
    }
    EXPECT_EQ(ended.size(), 2u);
  }

  void expect_effects() {
    std::map<std::string, int> of_run;
    for (const auto& [key, count] : effects_.effects()) {
      if (!key.starts_with("run_")) continue;
      EXPECT_EQ(count, 1) << key;
      ++of_run[key.substr(0, key.find('/'))];
    }
    for (const std::string& each : runs_)
      EXPECT_EQ(of_run[each], 1) << "effects of " << each;
  }

  std::set<std::string> runs_;
};

TEST_F(TreeKill, AtEveryEventBoundaryOfTheRootChangesNothing) {
  const std::string whole = start_run("boss");
  expect_end(whole);
  const auto last_seq = static_cast<std::uint64_t>(run(whole).at("last_seq").as_int64());
  ASSERT_GT(last_seq, 15u);
  for (std::uint64_t seq = 1; seq < last_seq && !HasFailure(); ++seq) {
    SCOPED_TRACE(fmt::format("killed after event {} of the root", seq));
    const std::string id = start_run("boss");
    server_.follow(id, seq);
    restart();
    expect_end(id);
  }
  expect_effects();
  expect_whole_journal();
}

TEST_F(TreeKill, AtEveryEventBoundaryOfASubagentChangesNothing) {
  const std::string whole = start_run("boss");
  expect_end(whole);
  const auto last_seq = static_cast<std::uint64_t>(run(children(whole).front()).at("last_seq").as_int64());
  ASSERT_GT(last_seq, 7u);
  for (std::uint64_t seq = 1; seq <= last_seq && !HasFailure(); ++seq) {
    SCOPED_TRACE(fmt::format("killed after event {} of a sub-agent", seq));
    const std::string id = start_run("boss");
    server_.follow(children(id).front(), seq);
    restart();
    expect_end(id);
  }
  expect_effects();
  expect_whole_journal();
}

TEST_F(TreeKill, InACancelEndsAllOfTheTree) {
  for (int round = 0; round < 4 && !HasFailure(); ++round) {
    const std::string id = start_run("boss");
    const auto below = children(id);
    EXPECT_EQ(server_.post("/v1/runs/" + id + "/cancel", "{}").status, 202);
    restart();
    finish(id);
    EXPECT_EQ(text_at(run(id), "stop_reason"), "cancelled");
    for (const std::string& child : below)
      EXPECT_EQ(text_at(run(child), "status"), "finished") << "it outlives its parent";
  }
  expect_whole_journal();
}

}  // namespace
}  // namespace ratchet::crashing
