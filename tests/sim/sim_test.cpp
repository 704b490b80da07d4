#include <cstdlib>
#include <optional>

#include <gtest/gtest.h>

#include "tests/sim/simulation.hpp"

namespace ratchet::sim {
namespace {

/// How many seeds each of the blocks below tries. RATCHET_SIM_SEEDS sets another number.
constexpr std::uint64_t seeds_default = 300;
/// One seed in so many is run a second time, to see the same bytes.
constexpr std::uint64_t repeat_every = 16;

std::optional<std::uint64_t> environment(const char* name) {
  const char* text = std::getenv(name);
  if (!text) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

std::string describe(std::uint64_t seed, const Outcome& outcome) {
  std::string text = fmt::format(
      "RATCHET_SIM_SEED={} test_sim --gtest_filter=Simulation.OneSeed    reproduces it, with a trace\n",
      seed);
  for (std::size_t i = 0; i < outcome.complaints.size() && i < 8; ++i)
    text += "  " + outcome.complaints[i] + "\n";
  return text;
}

TEST(Simulation, OneSeed) {
  const auto seed = environment("RATCHET_SIM_SEED");
  if (!seed) GTEST_SKIP() << "RATCHET_SIM_SEED names a seed to look at";
  const Outcome outcome = simulate(*seed, true);
  EXPECT_TRUE(outcome.complaints.empty()) << describe(*seed, outcome);
}

/// What each block must have seen at least once.
constexpr const char* wanted[] = {
    "a child ended unheard",
    "approval.reminded",
    "approval: approve",
    "approval: cancelled",
    "approval: edited",
    "approval: expired",
    "approval: reject",
    "artifact",
    "budget.warning",
    "call again",
    "call.unknown",
    "compaction",
    "compaction: after a refusal",
    "compaction: again",
    "compaction: gained little",
    "completion told twice",
    "context.compacted",
    "context of another provider",
    "crash",
    "denied by a hook",
    "denied by the decision point",
    "denied for want of a scope",
    "drain",
    "end: cancelled",
    "end: context_overflow",
    "end: cost_limit",
    "end: final_answer",
    "end: model_error",
    "end: model_length",
    "end: pause_expired",
    "end: refused",
    "end: repeated_call",
    "end: step_limit",
    "end: time_limit",
    "end: token_limit",
    "context shrunk after a turn",
    "failure: lost",
    "failure: money",
    "failure: overflow",
    "failure: overloaded",
    "failure: permanent",
    "failure: rejected",
    "failure: transient",
    "files of an earlier call",
    "gives up: stale_lease",
    "message.received",
    "no room",
    "pause: approval",
    "pause: message",
    "pause: operator",
    "pause: reauth",
    "pause: unknown_outcome",
    "resolved: did_not_happen",
    "resolved: happened",
    "result: cancelled",
    "result: denied",
    "result: error",
    "result: expired",
    "result: invalid",
    "result: ok",
    "result: rejected",
    "result: timeout",
    "rewritten",
    "run.resumed",
    "sandbox broke down",
    "status check",
    "subagent.finished",
    "subagent.started",
    "take-over",
    "token too late",
    "told by a hook",
    "user_token.received",
};

/// A block of seeds, so that blocks can run side by side.
class Seeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Seeds, KeepEveryInvariantThroughCrashesAndFaults) {
  const std::uint64_t count = environment("RATCHET_SIM_SEEDS").value_or(seeds_default);
  const std::uint64_t first = environment("RATCHET_SIM_FIRST").value_or(1) + GetParam() * count;
  int failed = 0;
  std::map<std::string, int> seen;
  for (std::uint64_t seed = first; seed < first + count && failed < 3; ++seed) {
    const Outcome outcome = simulate(seed, false);
    for (const auto& [what, times] : outcome.seen)
      seen[what] += times;
    if (!outcome.complaints.empty()) {
      ++failed;
      ADD_FAILURE() << describe(seed, outcome);
    }
    if (seed % repeat_every != 0) continue;
    EXPECT_EQ(to_string(simulate(seed, false).journal), to_string(outcome.journal))
        << describe(seed, outcome);
  }
  // A simulation that does not reach the odd places proves nothing of them.
  for (const char* what : wanted)
    EXPECT_TRUE(failed > 0 || count < seeds_default || seen[what] > 0) << "no seed has seen: " << what;
  if (std::getenv("RATCHET_SIM_COUNTS"))
    for (const auto& [what, times] : seen)
      fmt::print("{:8} {}\n", times, what);
}

INSTANTIATE_TEST_SUITE_P(Block, Seeds, testing::Range<std::uint64_t>(0, 10));

}  // namespace
}  // namespace ratchet::sim
