#include <algorithm>

#include <fmt/format.h>

#include "bench/load/scenarios.hpp"

namespace ratchet::bench {

namespace {

constexpr std::int64_t memory_sample_ms = 500;
constexpr std::int64_t timeout_ms = 600'000;

struct Variant {
  std::string_view name;
  Watch watch = Watch::none;
  unsigned stalled_percent = 0;
};

/// What the streams delivered, over all of them.
struct Delivered {
  std::uint64_t events = 0, deltas = 0, gaps = 0, torn = 0, finished = 0;
};

Delivered sum_up(const Fleet& fleet) {
  Delivered all;
  for (const auto& reader : fleet.readers()) {
    all.events += reader->events();
    all.deltas += reader->deltas();
    all.gaps += reader->gaps();
    all.torn += reader->at_event_end() ? 0 : 1;
    all.finished += reader->finished() ? 1 : 0;
  }
  return all;
}

/// Waits for all final answers; the highest anonymous memory on the way.
std::uint64_t watch_memory(Testbed& testbed, std::uint64_t runs) {
  std::uint64_t most = 0;
  std::int64_t next_ns = 0;
  wait_until(testbed, "every run has its final answer", timeout_ms, [&] {
    if (now_ns() >= next_ns) {
      most = std::max(most, testbed.sample().anonymous_bytes);
      next_ns = now_ns() + memory_sample_ms * 1'000'000;
    }
    return stat(testbed.mock_stats(), "/final_answers") >= static_cast<double>(runs);
  });
  return most;
}

Row measure_variant(const TestbedOptions& options, std::uint64_t runs, const Variant& variant) {
  Testbed testbed(options);
  const auto idle = testbed.sample();
  const auto ramp_ms = options.latency_ms;
  Fleet fleet(testbed,
              {.concurrency = runs,
               .runs_max = runs,
               .watch = variant.watch,
               .ramp_ms = ramp_ms,
               .stalled_percent = variant.stalled_percent});
  const auto from_ns = now_ns();
  fleet.start();
  const auto anonymous_bytes = watch_memory(testbed, runs);
  const auto seconds = static_cast<double>(now_ns() - from_ns) / 1e9;
  const auto stats = testbed.mock_stats();
  std::map<std::string, std::uint64_t> troubles;
  check_all_finished(testbed, troubles);
  const auto cpu_seconds = testbed.sample().cpu_seconds - idle.cpu_seconds;
  testbed.server().read_stalled();
  if (variant.watch == Watch::all)
    wait_until(testbed, "every stream has ended", timeout_ms, [&] { return fleet.idle(); });
  for (const auto& [what, count] : fleet.troubles())
    troubles[what] += count;
  const auto delivered = sum_up(fleet);
  const auto steps = stat(stats, "/model_replies");

  Row row;
  row.add("streams", std::string(variant.name));
  row.add("steps/s", steps / seconds, 0);
  for (const char* quantile : {"p50", "p95", "p99"})
    row.add(fmt::format("overhead {} ms", quantile),
            stat(stats, fmt::format("/overhead/step/{}_us", quantile)) / 1e3,
            1);
  row.add("CPU s/1000 steps", cpu_seconds * 1000 / steps, 3);
  row.add("anonymous KB/run",
          (static_cast<double>(anonymous_bytes) - static_cast<double>(idle.anonymous_bytes)) / 1024 /
              static_cast<double>(runs),
          1);
  row.add("events", static_cast<double>(delivered.events), 0);
  row.add("previews", static_cast<double>(delivered.deltas), 0);
  row.add("gaps", static_cast<double>(delivered.gaps), 0);
  row.add("torn", static_cast<double>(delivered.torn), 0);
  row.add("to the end", static_cast<double>(delivered.finished), 0);
  row.add("stalled, closed", static_cast<double>(fleet.stalled_closed()), 0);
  row.add("troubles", describe_troubles(troubles));
  return row;
}

}  // namespace

Report streams(const TestbedOptions& testbed, const StreamsOptions& options) {
  auto conditions = conditions_of(testbed);
  conditions.add("model latency", fmt::format("{} ms", testbed.latency_ms));
  conditions.add(
      "streams",
      "every event and preview of every run; a stalled one reads nothing before all runs are over, with a "
      "receive buffer of 4 KB");
  conditions.add("torn", "streams that ended inside of an event");
  conditions.add("stalled, closed",
                 "streams that the server gave up because their reader was too far behind");
  Report report("streams", std::move(conditions));
  const auto stalled = fmt::format("all, {} % stalled", options.stalled_percent);
  for (const Variant& variant :
       {Variant{"none"}, Variant{"all", Watch::all}, Variant{stalled, Watch::all, options.stalled_percent}}) {
    fmt::print(stderr, "streams: {} runs, {}\n", options.runs, variant.name);
    report.add(measure_variant(testbed, options.runs, variant));
  }
  return report;
}

}  // namespace ratchet::bench
