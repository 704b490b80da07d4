// bench_load: drives a ratchet server over HTTP and reports what it costs.

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/load/scenarios.hpp"

namespace ratchet::bench {

namespace {

struct Arguments {
  TestbedOptions testbed;
  LoadOptions load;
  RecoveryOptions recovery;
  WaitingOptions waiting;
  StreamsOptions streams;
  MixedOptions mixed;
  ReplayOptions replay;
  double window_seconds = 10, warmup_seconds = 3;
  bool json = false;
  // What a scenario sets unless the command line does.
  std::optional<std::int64_t> latency_ms;
  std::optional<unsigned> steps;
};

/// Next to this program, or in the build directory's folder for it.
std::filesystem::path find_program(const std::string& name, const std::string& folder) {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto built = here.parent_path() / folder / name;
  return std::filesystem::exists(here / name) ? here / name : built;
}

/// A connection for each run, and some more.
void allow_many_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

TestbedOptions with_defaults(const Arguments& arguments, std::int64_t latency_ms, unsigned steps) {
  auto testbed = arguments.testbed;
  testbed.latency_ms = arguments.latency_ms.value_or(latency_ms);
  testbed.steps = arguments.steps.value_or(steps);
  return testbed;
}

Report run_throughput(const Arguments& arguments) {
  auto load = arguments.load;
  if (load.concurrency.empty()) load.concurrency = {1, 64, 1'000};
  if (arguments.latency_ms) load.latencies_ms = {*arguments.latency_ms};
  if (load.latencies_ms.empty()) load.latencies_ms = {0, 100};
  return throughput("throughput", with_defaults(arguments, 0, 12), load);
}

Report run_overhead(const Arguments& arguments) {
  auto load = arguments.load;
  if (load.concurrency.empty()) load.concurrency = {1'000};
  load.latencies_ms = {arguments.latency_ms.value_or(250)};
  return throughput("overhead", with_defaults(arguments, 250, 12), load);
}

Report run_recovery(const Arguments& arguments) {
  return recovery(with_defaults(arguments, 200, 12), arguments.recovery);
}

Report run_waiting(const Arguments& arguments) {
  auto testbed = with_defaults(arguments, 0, 12);
  testbed.tool = "wait";
  return waiting(testbed, arguments.waiting);
}

Report run_mixed(const Arguments& arguments) {
  auto options = arguments.mixed;
  if (!arguments.load.concurrency.empty()) options.concurrency = arguments.load.concurrency;
  options.window_ms = arguments.load.window_ms;
  options.warmup_ms = arguments.load.warmup_ms;
  return mixed(with_defaults(arguments, 500, 12), options);
}

Report run_replay(const Arguments& arguments) {
  return replay(with_defaults(arguments, 0, 12), arguments.replay);
}

Report run_streams(const Arguments& arguments) {
  return streams(with_defaults(arguments, 500, 12), arguments.streams);
}

void add_common_options(CLI::App& app, Arguments& arguments) {
  auto& testbed = arguments.testbed;
  app.add_option("--ratchet", testbed.ratchet, "the server program")->capture_default_str();
  app.add_option("--mock", testbed.mock, "the mock's program")->capture_default_str();
  app.add_option("--dir", testbed.base, "where data directories are made: a real disk")
      ->capture_default_str();
  app.add_option("--durability", testbed.durability)
      ->check(CLI::IsMember({"fsync", "os"}))
      ->capture_default_str();
  app.add_option("--protocol", testbed.protocol)
      ->check(CLI::IsMember({"anthropic", "openai"}))
      ->capture_default_str();
  app.add_option("--tool", testbed.tool, "lookup (http), or a built-in one")->capture_default_str();
  app.add_option("--tool-latency-ms", testbed.tool_latency_ms)->capture_default_str();
  app.add_option("--latency-ms", arguments.latency_ms, "of the model; default: the scenario's");
  app.add_option("--steps", arguments.steps, "of a run; default: 12");
  app.add_option("--chunks", testbed.chunks, "pieces of a model's reply")->capture_default_str();
  app.add_option("--model-concurrent", testbed.model_concurrent_max, "calls at once that the server may make")
      ->capture_default_str();
  app.add_option("--prefix-tokens", testbed.prefix_tokens, "system prompt and tools")->capture_default_str();
  app.add_option("--task-tokens", testbed.task_tokens)->capture_default_str();
  app.add_flag("--keep", testbed.keep, "leave data and logs behind");
  app.add_flag("--json", arguments.json, "JSON instead of a table");
}

void add_load_options(CLI::App& command, Arguments& arguments) {
  static const std::map<std::string, Watch> watches{{"stream", Watch::stream}, {"mock", Watch::mock}};
  command.add_option("--concurrency,-c", arguments.load.concurrency, "runs in flight, one row each")
      ->delimiter(',');
  command.add_option("--seconds", arguments.window_seconds, "of measurement")->capture_default_str();
  command
      .add_option("--warmup", arguments.warmup_seconds, "seconds, after the first runs have had time to end")
      ->capture_default_str();
  command
      .add_option(
          "--watch", arguments.load.watch, "how the end of a run is noticed: stream (as clients do) or mock")
      ->transform(CLI::CheckedTransformer(watches));
}

int measure(int argc, char** argv) {
  Arguments arguments;
  arguments.testbed.ratchet = find_program("ratchet", "http");
  arguments.testbed.mock = find_program("bench_mock", "bench");
  arguments.testbed.base = std::filesystem::temp_directory_path();

  CLI::App app{"Load generator: starts its own ratchet server and mock model, and measures"};
  app.require_subcommand(1);
  app.fallthrough();
  add_common_options(app, arguments);
  std::function<Report(const Arguments&)> scenario;
  const auto add = [&](const char* name, const char* text, auto run) {
    auto* command = app.add_subcommand(name, text);
    command->callback([&scenario, run] { scenario = run; });
    return command;
  };
  add_load_options(*add("throughput", "steps/s at 1, 64 and 1,000 runs, model 0 and 100 ms", run_throughput),
                   arguments);
  add_load_options(*add("overhead", "1,000 runs, model 250 ms", run_overhead), arguments);
  add_load_options(*add("mixed", "1,040 runs, some with sandboxes, sub-agents, approvals", run_mixed),
                   arguments);
  auto* recovery = add("recovery", "SIGKILL with 1,000 runs in flight", run_recovery);
  recovery->add_option("--runs", arguments.recovery.runs)->capture_default_str();
  recovery->add_option("--kills", arguments.recovery.kills, "rows")->capture_default_str();
  auto* waiting = add("waiting", "memory of waiting runs", run_waiting);
  waiting->add_option("--runs", arguments.waiting.runs, "one row each")->delimiter(',');
  auto* streams = add("streams", "1,000 event streams on live runs", run_streams);
  streams->add_option("--runs", arguments.streams.runs)->capture_default_str();
  streams->add_option("--stalled", arguments.streams.stalled_percent, "percent")->capture_default_str();
  auto* replay = add("replay", "1,000 recorded runs decided again, and run again", run_replay);
  replay->add_option("--runs", arguments.replay.runs)->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  arguments.load.window_ms = static_cast<std::int64_t>(arguments.window_seconds * 1e3);
  arguments.load.warmup_ms = static_cast<std::int64_t>(arguments.warmup_seconds * 1e3);
  std::signal(SIGPIPE, SIG_IGN);
  allow_many_files();
  try {
    const auto report = scenario(arguments);
    fmt::print("{}", arguments.json ? report.to_json() : report.to_markdown());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_load: {}\n", error.what());
    return 1;
  }
}

}  // namespace

}  // namespace ratchet::bench

int main(int argc, char** argv) {
  return ratchet::bench::measure(argc, argv);
}
