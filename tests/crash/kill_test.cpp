// SIGKILL at every event boundary, and at random times: each run ends as if nothing had happened, and nothing
// was done twice. Effects are counted by a service in the test's own process.

#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "tests/crash/world.hpp"

namespace ratchet::crashing {
namespace {

constexpr const char* scenario = R"(steps:
  - say: First some notes and two keyed calls.
    latency_ms: 20
    chunks: 2
    call:
      - {tool: notes_write, args: {text: "begun"}}
      - {tool: keyed, args: {n: 1}}
      - {tool: keyed, args: {n: 2}}
  - latency_ms: 20
    call:
      - {tool: checked, args: {n: 3}}
      - {tool: lookup, args: {n: 4}}
  - latency_ms: 20
    call:
      - {tool: once, args: {n: 5}}
  - say: All is done.
    latency_ms: 20
    chunks: 2
)";

class Kill : public World {
 protected:
  Kill() : World(scenario) {}

  void SetUp() override {
    server_.start();
    add_tool({.name = "keyed", .idempotency = "key"});
    add_tool({.name = "checked", .idempotency = "status_check"});
    add_tool({.name = "lookup", .side_effects = "none"});
    add_tool({.name = "once", .path = "/act/forgetful"});
    add_agent("worker", R"("keyed","checked","lookup","once","notes_write")");
  }

  /// Waits for the end of the run; where it asks what became of a call, the service is asked for the truth.
  void finish(const std::string& id, int once_before) {
    for (;;) {
      const auto now = run(id);
      const std::string status = text_at(now, "status");
      if (status == "finished") return;
      if (status == "paused")
        resolve(id, now.at("paused"), [&](const std::string&) {
          return effects_.effects()["/act/forgetful"] > once_before;
        });
      else
        server_.follow(id, static_cast<std::uint64_t>(now.at("last_seq").as_int64()) + 1);
    }
  }

  /// Every key has had its effect exactly once; the tool without keys once a run.
  void expect_effects(const std::set<std::string>& runs) {
    std::map<std::string, int> of_run;
    for (const auto& [key, count] : effects_.effects()) {
      if (key == "/act/forgetful") {
        EXPECT_EQ(count, static_cast<int>(runs.size()))
            << "calls without a key, in " << runs.size() << " runs";
        continue;
      }
      if (!key.starts_with("run_")) continue;
      EXPECT_EQ(count, 1) << key;
      ++of_run[key.substr(0, key.find('/'))];
    }
    for (const std::string& id : runs)
      EXPECT_EQ(of_run[id], 3) << "effects under keys of " << id;
  }
};

TEST_F(Kill, AtEveryEventBoundaryChangesNothing) {
  std::set<std::string> runs;
  const std::string whole = start_run("worker");
  runs.insert(whole);
  finish(whole, 0);
  const std::string expected = outcome(whole);
  const auto last_seq = static_cast<std::uint64_t>(run(whole).at("last_seq").as_int64());
  ASSERT_GT(last_seq, 20u) << expected;
  for (std::uint64_t seq = 1; seq < last_seq; ++seq) {
    SCOPED_TRACE(fmt::format("killed after event {}", seq));
    const int once_before = effects_.effects()["/act/forgetful"];
    const std::string id = start_run("worker");
    runs.insert(id);
    server_.follow(id, seq);
    restart();
    finish(id, once_before);
    EXPECT_EQ(outcome(id), expected);
    if (HasFailure()) break;
  }
  expect_effects(runs);
  expect_whole_journal();
}

TEST_F(Kill, AtRandomTimesLosesNoRunAndRepeatsNoEffect) {
  const char* given = std::getenv("RATCHET_CRASH_SEED");
  const unsigned seed = given ? static_cast<unsigned>(std::atoi(given)) : std::random_device{}();
  SCOPED_TRACE(fmt::format("RATCHET_CRASH_SEED={}", seed));
  std::mt19937 random(seed);
  std::set<std::string> runs;
  for (int round = 0; round < 12; ++round) {
    const int once_before = effects_.effects()["/act/forgetful"];
    const std::string id = start_run("worker");
    runs.insert(id);
    for (unsigned kills = 1 + random() % 3; kills > 0; --kills) {
      server_.follow(id, UINT64_MAX, static_cast<long>(1 + random() % 150));
      restart();
    }
    finish(id, once_before);
    EXPECT_EQ(text_at(run(id), "stop_reason"), "final_answer");
  }
  expect_effects(runs);
  expect_whole_journal();
}

}  // namespace
}  // namespace ratchet::crashing
