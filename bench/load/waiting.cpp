#include <algorithm>

#include <fmt/format.h>

#include "bench/load/scenarios.hpp"

namespace ratchet::bench {

namespace {

constexpr std::int64_t settle_ms = 1'000;
constexpr std::int64_t timeout_ms = 1'800'000;
constexpr std::uint64_t posts_max = 128;

/// Waits until memory and CPU time have stopped moving: what is left to do after the last reply is done.
ProcessSample sample_at_rest(Testbed& testbed) {
  constexpr int samples_max = 30;
  auto last = testbed.sample();
  for (int i = 0; i < samples_max; ++i) {
    testbed.pass_ms(settle_ms);
    const auto now = testbed.sample();
    if (now.anonymous_bytes == last.anonymous_bytes && now.cpu_seconds - last.cpu_seconds < 0.05) return now;
    last = now;
  }
  return last;
}

void put_to_sleep(Testbed& testbed, Fleet& fleet, std::uint64_t runs) {
  fleet.start();
  wait_until(testbed, "every run waits", timeout_ms, [&] {
    return fleet.accepted() == runs &&
           stat(testbed.mock_stats(), "/model_replies") >= static_cast<double>(runs);
  });
}

Row measure_waiting(const TestbedOptions& options, std::uint64_t runs) {
  Testbed testbed(options);
  const auto idle = sample_at_rest(testbed);
  const auto idle_disk_bytes = testbed.data_bytes();
  Fleet fleet(testbed, {.concurrency = runs, .runs_max = runs, .watch = Watch::none, .posts_max = posts_max});
  const auto from_ns = now_ns();
  put_to_sleep(testbed, fleet, runs);
  const auto asleep_ns = now_ns();
  const auto asleep = sample_at_rest(testbed);
  const auto disk = testbed.data_bytes();
  const auto stats = testbed.mock_stats();
  auto troubles = fleet.troubles();
  if (const int status = testbed.stop_server(); status != 0)
    ++troubles[fmt::format("server's exit status {}", status)];
  const auto start_ns = now_ns();
  testbed.start_server();
  const auto ready_ns = now_ns();
  const auto restarted = sample_at_rest(testbed);
  if (const auto repeated = stat(stats, "/repeated_model_requests"); repeated > 0)
    troubles["model calls repeated"] += static_cast<std::uint64_t>(repeated);
  if (stat(testbed.mock_stats(), "/model_requests") > stat(stats, "/model_requests"))
    ++troubles["runs woke up with the restart"];

  const auto per_run = [&](std::uint64_t now, std::uint64_t before) {
    return (static_cast<double>(now) - static_cast<double>(before)) / static_cast<double>(runs);
  };
  Row row;
  row.add("waiting runs", static_cast<double>(runs), 0);
  row.add("started/s", static_cast<double>(runs) * 1e9 / static_cast<double>(asleep_ns - from_ns), 0);
  row.add("idle anonymous MB", static_cast<double>(idle.anonymous_bytes) / 1048576, 1);
  row.add("anonymous MB", static_cast<double>(asleep.anonymous_bytes) / 1048576, 1);
  row.add("bytes/run", per_run(asleep.anonymous_bytes, idle.anonymous_bytes), 0);
  row.add("restart ready ms", static_cast<double>(ready_ns - start_ns) / 1e6, 0);
  row.add("restarted MB", static_cast<double>(restarted.anonymous_bytes) / 1048576, 1);
  row.add("restarted bytes/run", per_run(restarted.anonymous_bytes, idle.anonymous_bytes), 0);
  row.add("disk KB/run", per_run(disk, idle_disk_bytes) / 1024, 1);
  row.add("troubles", describe_troubles(troubles));
  return row;
}

}  // namespace

Report waiting(const TestbedOptions& testbed, const WaitingOptions& options) {
  auto conditions = conditions_of(testbed);
  conditions.add("memory", "anonymous, when nothing moves any more; then after a restart on the same data");
  Report report("waiting", std::move(conditions));
  for (const auto runs : options.runs) {
    fmt::print(stderr, "waiting: {} runs\n", runs);
    report.add(measure_waiting(testbed, runs));
  }
  return report;
}

}  // namespace ratchet::bench
