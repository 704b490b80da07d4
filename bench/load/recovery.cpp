#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "bench/load/json.hpp"
#include "bench/load/scenarios.hpp"

namespace ratchet::bench {

namespace {

constexpr std::int64_t launch_timeout_ms = 120'000;
constexpr std::int64_t progress_timeout_ms = 120'000;
constexpr std::uint64_t steps_before_kill = 4;  // of the average run

/// Times in nanoseconds of the machine's monotonic clock.
struct Restart {
  std::int64_t started_ns = 0, ready_ns = 0;
  double in_flight = 0;
  std::string stats;  ///< the mock's, once every run has gone on
};

/// All runs are under way and none has had its final answer.
void bring_to_the_middle(Testbed& testbed, const Fleet& fleet, std::uint64_t runs) {
  wait_until(testbed, "all runs are in flight", launch_timeout_ms, [&] {
    return fleet.accepted() == runs &&
           stat(testbed.mock_stats(), "/model_replies") >= static_cast<double>(runs * steps_before_kill);
  });
}

Restart kill_and_restart(Testbed& testbed, std::uint64_t runs) {
  Restart restart;
  testbed.kill_server();
  const auto before = testbed.mock().ask({.method = "POST", .target = "/mark"}).body;
  restart.in_flight = static_cast<double>(runs) - stat(before, "/final_answers");
  restart.started_ns = now_ns();
  testbed.start_server();
  restart.ready_ns = now_ns();
  // A run whose final answer had left without being committed asks once more: more may go on than are waited
  // for.
  wait_until(testbed, "every run has gone on", progress_timeout_ms, [&] {
    restart.stats = testbed.mock_stats();
    return stat(restart.stats, "/progress/runs") >= restart.in_flight;
  });
  return restart;
}

Row measure_restart(const TestbedOptions& options, std::uint64_t runs) {
  Testbed testbed(options);
  Fleet fleet(testbed, {.concurrency = runs, .runs_max = runs, .watch = Watch::none});
  fleet.start();
  bring_to_the_middle(testbed, fleet, runs);
  const auto restart = kill_and_restart(testbed, runs);
  auto troubles = fleet.troubles();
  check_all_finished(testbed, troubles);
  const auto stats = testbed.mock_stats();
  const auto after_ms = [&](double at_ns) { return (at_ns - static_cast<double>(restart.started_ns)) / 1e6; };

  Row row;
  row.add("runs in flight", restart.in_flight, 0);
  row.add("ready ms", after_ms(static_cast<double>(restart.ready_ns)), 0);
  row.add("first went on ms", after_ms(stat(restart.stats, "/progress/first_ns")), 0);
  row.add("last went on ms", after_ms(stat(restart.stats, "/progress/last_ns")), 0);
  row.add("model calls repeated", stat(stats, "/repeated_model_requests"), 0);
  row.add("tool keys repeated", stat(stats, "/repeated_keys"), 0);
  row.add("effects twice", stat(stats, "/duplicates"), 0);
  row.add("effects", stat(stats, "/distinct_keys"), 0);
  row.add("troubles", describe_troubles(troubles));
  return row;
}

}  // namespace

Report recovery(const TestbedOptions& testbed, const RecoveryOptions& options) {
  auto conditions = conditions_of(testbed);
  conditions.add("model latency", fmt::format("{} ms", testbed.latency_ms));
  conditions.add("times", "from the start of the new process; progress as the mock sees it");
  conditions.add(
      "tool keys repeated",
      "calls sent again under their key, which the tool does not carry out again; effects twice are "
      "calls of the same step under another key or under none");
  Report report("recovery", std::move(conditions));
  for (unsigned i = 0; i < options.kills; ++i) {
    fmt::print(stderr, "recovery: {} runs in flight, SIGKILL {} of {}\n", options.runs, i + 1, options.kills);
    report.add(measure_restart(testbed, options.runs));
  }
  return report;
}

}  // namespace ratchet::bench
