// bench_mock: a fast model server of no intelligence, in both protocols, with a tool to call.

#include <csignal>
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/mock_model/conversation.hpp"
#include "bench/mock_model/server.hpp"

namespace ratchet::bench {

namespace {

int serve(MockOptions options) {
  if (options.arguments.empty()) {
    const auto arguments = default_arguments(options.tool);
    if (!arguments) {
      fmt::print(stderr, "--args is needed: nothing is known of the tool '{}'\n", options.tool);
      return 2;
    }
    options.arguments = *arguments;
  }
  MockServer server(std::move(options));
  fmt::print("mock model on http://127.0.0.1:{}\n", server.port());
  std::fflush(stdout);
  server.run();
  return 0;
}

int run(int argc, char** argv) {
  MockOptions options;
  CLI::App app{"A mock model server for benchmarks: stateless, streaming, both protocols"};
  app.add_option("--port", options.port, "0: any free one, which is printed")->capture_default_str();
  app.add_option("--latency-ms", options.latency_ms, "from a request to the end of its reply")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--chunks", options.chunks, "pieces of a reply, spread over the latency")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_flag("--burst", options.burst, "all pieces at the end of the latency");
  app.add_option("--steps", options.steps, "the reply of this step is the final answer")
      ->check(CLI::Range(1, 60'000))
      ->capture_default_str();
  app.add_option("--tool", options.tool, "what every other reply calls")->capture_default_str();
  app.add_option("--args", options.arguments, "of the call, with {run} {step} {offset} {artifact}");
  app.add_option("--tool-latency-ms", options.tool_latency_ms, "of POST /tool/lookup")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--mix", options.mix, "the mixed workload: sandboxes, sub-agents, approvals");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return serve(std::move(options));
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_mock: {}\n", error.what());
    return 1;
  }
}

}  // namespace

}  // namespace ratchet::bench

int main(int argc, char** argv) {
  return ratchet::bench::run(argc, argv);
}
