#include "bench/load/scenarios.hpp"

#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "bench/load/json.hpp"

namespace ratchet::bench {

namespace {

constexpr std::int64_t finish_timeout_ms = 120'000;
constexpr std::int64_t poll_ms = 20;

constexpr std::array<std::string_view, 12> unwanted_ends{"step_limit",
                                                         "token_limit",
                                                         "time_limit",
                                                         "cost_limit",
                                                         "repeated_call",
                                                         "cancelled",
                                                         "refused",
                                                         "model_length",
                                                         "context_overflow",
                                                         "model_error",
                                                         "pause_expired",
                                                         "internal_error"};

}  // namespace

Row conditions_of(const TestbedOptions& testbed) {
  const auto machine = look_at_machine(testbed.base);
  Row row;
  row.add("machine",
          fmt::format("{} cores ({}), Linux {}; mock model, tool and load generator on the same machine",
                      machine.cores,
                      machine.cpu,
                      machine.kernel));
  row.add("disk",
          fmt::format("{}, a durable write of 4 KB takes {:.0f} us when idle",
                      machine.file_system,
                      machine.fdatasync_us));
  row.add("durability", testbed.durability);
  row.add("model",
          fmt::format("{} protocol, {} chunks a reply, {} steps a run, at most {} calls at once",
                      testbed.protocol,
                      testbed.chunks,
                      testbed.steps,
                      testbed.model_concurrent_max));
  row.add("tool",
          fmt::format("{} ({} ms)", testbed.tool, testbed.tool == "lookup" ? testbed.tool_latency_ms : 0));
  row.add(
      "context",
      fmt::format(
          "prefix {} tokens, task {}, then 150 + 700 a step", testbed.prefix_tokens, testbed.task_tokens));
  return row;
}

std::string describe_troubles(const std::map<std::string, std::uint64_t>& troubles) {
  std::string out;
  for (const auto& [what, count] : troubles)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  return out.empty() ? "none" : out;
}

double stat(const std::string& stats, std::string_view pointer) {
  const auto number = number_at(stats, pointer);
  if (!number) throw std::runtime_error(fmt::format("the mock's statistics have no {}: {}", pointer, stats));
  return *number;
}

void wait_until(Testbed& testbed,
                const std::string& what,
                std::int64_t timeout_ms,
                const std::function<bool()>& done) {
  const auto deadline_ns = now_ns() + timeout_ms * 1'000'000;
  while (!done()) {
    if (!testbed.server_alive())
      throw std::runtime_error(fmt::format("the server ended while waiting until {}", what));
    if (now_ns() > deadline_ns)
      throw std::runtime_error(fmt::format("waited {} ms until {}", timeout_ms, what));
    testbed.pass_ms(poll_ms);
  }
}

void check_all_finished(Testbed& testbed, std::map<std::string, std::uint64_t>& troubles) {
  wait_until(
      testbed, "all runs have finished", finish_timeout_ms, [&] { return testbed.all_runs_finished(); });
  for (const auto end : unwanted_ends) {
    if (testbed.any_run(fmt::format("stop_reason={}", end)))
      ++troubles[fmt::format("runs ended with {}", end)];
  }
}

}  // namespace ratchet::bench
