#include <algorithm>

#include <fmt/format.h>

#include "bench/load/approver.hpp"
#include "bench/load/scenarios.hpp"

namespace ratchet::bench {

namespace {

constexpr std::int64_t drain_timeout_ms = 300'000;
constexpr std::int64_t sample_ms = 1'000;

Row measure_mix(const TestbedOptions& options, const MixedOptions& load, std::uint64_t concurrency) {
  Testbed testbed(options);
  const auto idle = testbed.sample();
  const auto run_ms = options.steps * (options.latency_ms + options.tool_latency_ms);
  Fleet fleet(testbed, {.concurrency = concurrency, .watch = Watch::stream, .ramp_ms = run_ms});
  Approver approver(testbed);
  approver.look();
  fleet.start();
  testbed.pass_ms(run_ms + load.warmup_ms);
  testbed.reset_mock_stats();
  const auto from = testbed.sample();
  const auto from_ns = now_ns();
  std::uint64_t anonymous_bytes_max = 0;
  for (std::int64_t passed_ms = 0; passed_ms < load.window_ms; passed_ms += sample_ms) {
    testbed.pass_ms(sample_ms);
    anonymous_bytes_max = std::max(anonymous_bytes_max, testbed.sample().anonymous_bytes);
  }
  const auto to = testbed.sample();
  const auto stats = testbed.mock_stats();
  const double seconds = static_cast<double>(now_ns() - from_ns) / 1e9;
  fleet.stop_launching();
  wait_until(testbed, "the last runs have ended", drain_timeout_ms, [&] { return fleet.idle(); });
  approver.stop();
  auto troubles = fleet.troubles();
  for (const auto& [what, count] : approver.troubles())
    troubles[what] += count;
  check_all_finished(testbed, troubles);
  const double steps = stat(stats, "/model_replies");

  Row row;
  row.add("runs in flight", static_cast<double>(concurrency), 0);
  row.add("steps/s", steps / seconds, 0);
  for (const char* quantile : {"p50", "p95", "p99"})
    row.add(fmt::format("overhead {} ms", quantile),
            stat(stats, fmt::format("/overhead/step/{}_us", quantile)) / 1e3,
            1);
  row.add("CPU %", 100 * (to.cpu_seconds - from.cpu_seconds) / seconds, 0);
  row.add("peak RSS MB", static_cast<double>(testbed.sample().rss_peak_bytes) / 1048576, 0);
  row.add("anonymous KB/run",
          (static_cast<double>(anonymous_bytes_max) - static_cast<double>(idle.anonymous_bytes)) / 1024 /
              static_cast<double>(concurrency),
          1);
  row.add("runs", static_cast<double>(fleet.ended()), 0);
  row.add("approved", static_cast<double>(approver.approved()), 0);
  row.add("effects twice", stat(testbed.mock_stats(), "/duplicates"), 0);
  row.add("troubles", describe_troubles(troubles));
  return row;
}

}  // namespace

Report mixed(const TestbedOptions& testbed, const MixedOptions& load) {
  auto options = testbed;
  options.mix = true;
  auto conditions = conditions_of(options);
  conditions.add(
      "mix",
      "of the runs 30 % one call in a container, 10 % a sub-agent of 3 steps, 5 % a call that a person "
      "approves when they see it (looked for every 200 ms)");
  conditions.add("times",
                 fmt::format("model {} ms, tool {} ms", options.latency_ms, options.tool_latency_ms));
  conditions.add("overhead", "with the time in containers, in sub-agents and for people: beyond p95");
  Report report("mixed", std::move(conditions));
  for (const auto concurrency : load.concurrency) {
    fmt::print(stderr, "mixed: {} runs in flight\n", concurrency);
    report.add(measure_mix(options, load, concurrency));
  }
  return report;
}

}  // namespace ratchet::bench
