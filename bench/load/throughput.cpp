#include <algorithm>

#include <fmt/format.h>

#include "bench/load/prefix.hpp"
#include "bench/load/scenarios.hpp"

namespace ratchet::bench {

namespace {

constexpr std::int64_t settle_ms = 500;
constexpr std::int64_t memory_sample_ms = 2'000;
constexpr std::int64_t drain_timeout_ms = 120'000;

/// What the window of full load showed.
struct Window {
  ProcessSample from, to;
  std::uint64_t anonymous_bytes_max = 0;
  double seconds = 0;
  double mock_cpu_seconds = 0;
  std::uint64_t runs_ended = 0;
  std::string stats;  ///< the mock's
};

Window measure_window(Testbed& testbed, const Fleet& fleet, std::int64_t window_ms) {
  Window window;
  testbed.reset_mock_stats();
  window.from = testbed.sample();
  const auto mock_cpu_from = testbed.mock_cpu_seconds();
  const auto ended_from = fleet.ended();
  const auto from_ns = now_ns();
  for (std::int64_t passed_ms = 0; passed_ms < window_ms; passed_ms += memory_sample_ms) {
    testbed.pass_ms(std::min(memory_sample_ms, window_ms - passed_ms));
    window.to = testbed.sample();
    window.anonymous_bytes_max = std::max(window.anonymous_bytes_max, window.to.anonymous_bytes);
  }
  window.stats = testbed.mock_stats();
  window.seconds = static_cast<double>(now_ns() - from_ns) / 1e9;
  window.mock_cpu_seconds = testbed.mock_cpu_seconds() - mock_cpu_from;
  window.runs_ended = fleet.ended() - ended_from;
  return window;
}

void add_overhead(Row& row, const std::string& stats) {
  for (const char* quantile : {"p50", "p95", "p99"})
    row.add(fmt::format("overhead {} ms", quantile),
            stat(stats, fmt::format("/overhead/step/{}_us", quantile)) / 1e3,
            1);
}

Row measure_point(TestbedOptions options, const LoadOptions& load, std::uint64_t concurrency) {
  Testbed testbed(options);
  testbed.pass_ms(settle_ms);
  const auto idle = testbed.sample();
  const auto idle_disk_bytes = testbed.data_bytes();
  const auto written_before = testbed.device_written_bytes();

  const auto run_ms = options.steps * (options.latency_ms + options.tool_latency_ms);
  Fleet fleet(testbed, {.concurrency = concurrency, .watch = load.watch, .ramp_ms = run_ms});
  fleet.start();
  testbed.pass_ms(run_ms + load.warmup_ms);
  const auto window = measure_window(testbed, fleet, load.window_ms);
  fleet.stop_launching();
  wait_until(testbed, "the last runs have ended", drain_timeout_ms, [&] { return fleet.idle(); });
  auto troubles = fleet.troubles();
  check_all_finished(testbed, troubles);
  const double prefix = prefix_percent(testbed);
  const auto at_end = testbed.sample();
  const auto end_disk_bytes = testbed.data_bytes();
  const auto written_after = testbed.device_written_bytes();
  if (const int status = testbed.stop_server(); status != 0)
    ++troubles[fmt::format("server's exit status {}", status)];

  const auto steps = stat(window.stats, "/model_replies");
  const auto runs = static_cast<double>(std::max<std::uint64_t>(fleet.ended(), 1));
  const auto kilobytes_more = [](std::uint64_t now, std::uint64_t before) {
    return (static_cast<double>(now) - static_cast<double>(before)) / 1024;
  };
  Row row;
  row.add("model ms", static_cast<double>(options.latency_ms), 0);
  row.add("runs in flight", static_cast<double>(concurrency), 0);
  row.add("steps/s", steps / window.seconds, 0);
  row.add("runs/s", static_cast<double>(window.runs_ended) / window.seconds, 1);
  add_overhead(row, window.stats);
  row.add("mock lag p99 ms", stat(window.stats, "/round/p99_us") / 1e3, 1);
  row.add("202 p95 ms", static_cast<double>(fleet.accept_times().quantile_ns(0.95)) / 1e6, 1);
  row.add(
      "CPU s/1000 steps", (window.to.cpu_seconds - window.from.cpu_seconds) * 1000 / std::max(steps, 1.0), 3);
  row.add("mock CPU s/1000 steps", window.mock_cpu_seconds * 1000 / std::max(steps, 1.0), 3);
  row.add("peak RSS MB", static_cast<double>(at_end.rss_peak_bytes) / 1048576, 0);
  row.add("anonymous KB/run",
          kilobytes_more(window.anonymous_bytes_max, idle.anonymous_bytes) / static_cast<double>(concurrency),
          1);
  row.add("disk KB/run", kilobytes_more(end_disk_bytes, idle_disk_bytes) / runs, 1);
  if (written_before && written_after)
    row.add("device written KB/run", kilobytes_more(*written_after, *written_before) / runs, 1);
  else
    row.add("device written KB/run", "unknown");
  row.add("prompt prefix %", prefix, 1);
  row.add("runs", runs, 0);
  row.add("effects twice", stat(testbed.mock_stats(), "/duplicates"), 0);
  row.add("troubles", describe_troubles(troubles));
  return row;
}

std::string_view describe(Watch watch) {
  return watch == Watch::mock ? "a run is over when the mock has sent its final answer"
                              : "a run is over when its event stream (types=run.finished) says so";
}

}  // namespace

Report throughput(const std::string& name, const TestbedOptions& testbed, const LoadOptions& load) {
  auto conditions = conditions_of(testbed);
  conditions.add("window", fmt::format("{:.1f} s of full load", static_cast<double>(load.window_ms) / 1e3));
  conditions.add("closed loop", std::string(describe(load.watch)));
  Report report(name, std::move(conditions));
  for (const auto latency_ms : load.latencies_ms) {
    for (const auto concurrency : load.concurrency) {
      fmt::print(stderr, "{}: {} runs in flight, model {} ms\n", name, concurrency, latency_ms);
      auto options = testbed;
      options.latency_ms = latency_ms;
      report.add(measure_point(options, load, concurrency));
    }
  }
  return report;
}

}  // namespace ratchet::bench
