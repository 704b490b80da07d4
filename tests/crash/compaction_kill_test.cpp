// SIGKILL at every event boundary of a run whose context is compacted: the run ends as if nothing had
// happened, its context is compacted as often, and every request can be derived again.

#include <map>
#include <set>

#include <fmt/format.h>

#include "tests/crash/world.hpp"

namespace ratchet::crashing {
namespace {

constexpr int steps_count = 8;

/// Each step says so much that a few of them bring the context above its bound.
std::string scenario() {
  const std::string page(4'500, '1');
  std::string text = "note: \"## Goal\\nAll of it.\\n## Next\\nGo on.\"\nsteps:\n";
  for (int step = 1; step <= steps_count; ++step)
    text += fmt::format(
        "  - say: \"page {} {}\"\n    latency_ms: 5\n    call: [{{tool: keyed, args: {{n: {}}}}}]\n",
        step,
        page,
        step);
  return text + "  - say: All is done.\n";
}

class CompactionKill : public World {
 protected:
  CompactionKill()
      : World(
            scenario(), without_sandboxes, "    context_window_tokens: 8000\n    max_output_tokens: 1000\n") {
  }

  void SetUp() override {
    server_.start();
    add_tool({.name = "keyed", .idempotency = "key"});
    add_agent("worker", R"("keyed","notes_write")");
  }

  void finish(const std::string& id) {
    for (;;) {
      const auto now = run(id);
      if (text_at(now, "status") == "finished") return;
      ASSERT_NE(text_at(now, "status"), "paused") << "nothing here may need a person";
      server_.follow(id, static_cast<std::uint64_t>(now.at("last_seq").as_int64()) + 1);
    }
  }

  /// How often the run's context was compacted; every request of it is derived again on the way.
  int compactions(const std::string& id) {
    int count = 0;
    for (const auto& event : events(id)) {
      count += text_at(event, "type") == "context.compacted";
      if (text_at(event, "type") != "model.requested") continue;
      const Answer request = server_.get(fmt::format("/v1/runs/{}/steps/{}/request?attempt={}",
                                                     id,
                                                     event.at("step").as_int64(),
                                                     event.at("attempt").as_int64()));
      EXPECT_EQ(request.status, 200) << request.body;
    }
    return count;
  }
};

TEST_F(CompactionKill, AtEveryEventBoundaryChangesNothing) {
  const std::string whole = start_run("worker");
  finish(whole);
  const std::string expected = outcome(whole);
  const int expected_compactions = compactions(whole);
  ASSERT_GE(expected_compactions, 2) << expected;
  const auto last_seq = static_cast<std::uint64_t>(run(whole).at("last_seq").as_int64());
  std::set<std::string> runs = {whole};
  for (std::uint64_t seq = 1; seq < last_seq; ++seq) {
    SCOPED_TRACE(fmt::format("killed after event {}", seq));
    const std::string id = start_run("worker");
    runs.insert(id);
    server_.follow(id, seq);
    restart();
    finish(id);
    EXPECT_EQ(outcome(id), expected);
    EXPECT_EQ(compactions(id), expected_compactions);
    if (HasFailure()) break;
  }
  std::map<std::string, int> of_run;
  for (const auto& [key, count] : effects_.effects()) {
    EXPECT_EQ(count, 1) << key;
    ++of_run[key.substr(0, key.find('/'))];
  }
  for (const std::string& id : runs)
    EXPECT_EQ(of_run[id], steps_count) << id;
  expect_whole_journal();
}

}  // namespace
}  // namespace ratchet::crashing
