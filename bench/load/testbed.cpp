#include "bench/load/testbed.hpp"

#include <charconv>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "bench/common/prose.hpp"
#include "bench/load/json.hpp"

namespace ratchet::bench {

namespace {

constexpr int ready_timeout_ms = 300'000;  // a start with 100,000 runs may take its time: it is measured
constexpr int drain_timeout_ms = 60'000;
constexpr std::size_t bytes_per_token = 4;
constexpr std::size_t tool_definition_bytes = 700;

std::filesystem::path make_home(const std::filesystem::path& base) {
  std::filesystem::create_directories(base);
  auto pattern = (base / "ratchet-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw std::runtime_error(fmt::format("cannot make a directory in {}", base.string()));
  return pattern;
}

/// The number after the last colon.
std::uint16_t port_in(std::string_view text) {
  const auto digits = text.substr(text.rfind(':') + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{}) throw std::runtime_error(fmt::format("no port in '{}'", text));
  return port;
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

void expect_created(std::string_view what, const HttpReply& reply) {
  if (reply.status != 201)
    throw std::runtime_error(fmt::format("{} was answered with {}: {}", what, reply.status, reply.body));
}

constexpr std::string_view lookup_schema =
    R"({"type":"object","additionalProperties":false,"required":["run","step","query"],)"
    R"("properties":{"run":{"type":"string"},"step":{"type":"integer"},"query":{"type":"string"}}})";

/// Of the mixed workload: a program in a container, and a call that a person decides.
std::string probe_manifest() {
  return fmt::format(
      R"({{"name":"probe","description":"Looks closer.","input_schema":{},"kind":"command","tier":2,)"
      R"("side_effects":"none","filesystem":"ephemeral","command":{{"argv":["/usr/bin/wc","-c"]}}}})",
      lookup_schema);
}

std::string pay_manifest(std::uint16_t port) {
  return fmt::format(
      R"({{"name":"pay","description":"Pays.","input_schema":{0},"kind":"http","tier":1,"side_effects":"external",)"
      R"("idempotency":"key","approval":"always","network":{{"allow":["127.0.0.1:{1}"]}},)"
      R"("http":{{"method":"POST","url":"http://127.0.0.1:{1}/tool/lookup"}}}})",
      lookup_schema,
      port);
}

/// A tool that acts and takes keys, so that what a crash does to effects shows at the mock.
std::string lookup_manifest(std::uint16_t port) {
  return fmt::format(
      R"({{"name":"lookup","description":"Finds the customer's orders and shipments. Returns one line each.",)"
      R"("input_schema":{{"type":"object","additionalProperties":false,"required":["run","step","query"],)"
      R"("properties":{{"run":{{"type":"string","description":"whose orders"}},"step":{{"type":"integer"}},)"
      R"("query":{{"type":"string","description":"words to look for"}}}}}},)"
      R"("kind":"http","tier":1,"timeout_ms":10000,"side_effects":"internal","idempotency":"key",)"
      R"("network":{{"allow":["127.0.0.1:{0}"]}},"http":{{"method":"POST","url":"http://127.0.0.1:{0}/tool/lookup"}}}})",
      port);
}

std::string agent_definition(const TestbedOptions& options) {
  const auto prompt = filler(7, options.prefix_tokens * bytes_per_token - tool_definition_bytes);
  return fmt::format(
      R"({{"agent_id":"bench","model":{{"name":"bench","max_output_tokens":512}},"system_prompt":{},)"
      R"("tools":["{}"{}],"policy":[{{"tool":"*","then":"allow"}}],)"
      R"("budgets":{{"max_steps":1000,"max_tokens":100000000,"max_seconds":10000000,"max_usd":"1000"}}{}}})",
      json_string(prompt),
      options.tool,
      options.mix ? R"(,"probe","pay","spawn_agent")" : "",
      options.mix ? R"(,"subagents":{"allow":["bench"]})" : "");
}

}  // namespace

Testbed::Testbed(TestbedOptions options)
    : options_(std::move(options)), home_(make_home(options_.base)), data_(home_ / "data") {
  std::vector<std::string> mock_command{options_.mock.string(),
                                        "--latency-ms",
                                        std::to_string(options_.latency_ms),
                                        "--tool-latency-ms",
                                        std::to_string(options_.tool_latency_ms),
                                        "--chunks",
                                        std::to_string(options_.chunks),
                                        "--steps",
                                        std::to_string(options_.steps),
                                        "--tool",
                                        options_.tool};
  if (options_.mix) mock_command.emplace_back("--mix");
  mock_ = std::make_unique<Process>(std::move(mock_command), home_ / "mock.log", ready_timeout_ms);
  mock_client_ = std::make_unique<HttpClient>(loop_, port_in(mock_->ready_line()));
  write_config();
  start_server();
  register_agent();
}

Testbed::~Testbed() {
  // Killed, it would leave its sandboxes to a process that outlives it and clears away while we do.
  if (server_ && server_->alive()) server_->terminate(drain_timeout_ms);
  server_.reset();
  mock_.reset();
  if (options_.keep || std::uncaught_exceptions() > 0) {
    fmt::print(stderr, "kept {}\n", home_.string());
    return;
  }
  std::error_code error;
  std::filesystem::remove_all(home_, error);
  if (error) fmt::print(stderr, "left behind {}: {}\n", home_.string(), error.message());
}

void Testbed::write_config() const {
  const auto base_url =
      fmt::format("http://127.0.0.1:{}{}", mock_client_->port(), options_.protocol == "openai" ? "/v1" : "");
  std::ofstream(home_ / "ratchet.yaml") << fmt::format(
      "listen: 127.0.0.1:0\n"
      "data_dir: {}\n"
      "durability: {}\n"
      "sandbox: {{tier2: {{{}}}, tier3: {{launcher: none}}}}\n"
      "models:\n"
      "  bench:\n"
      "    context_window_tokens: 1000000\n"
      "    max_output_tokens: 1024\n"
      "    prices_usd_per_million: {{input: \"1\", cached_input: \"0.10\", cache_write: \"1.25\", output: "
      "\"5\"}}\n"
      "    max_concurrent: {}\n"
      "    providers:\n"
      "      - {{protocol: {}, base_url: \"{}\", model: mock}}\n"
      "limits: {{concurrent_runs: 1000000, runs_per_team: 1000000}}\n",
      data_.string(),
      options_.durability,
      options_.mix ? "pool: 16" : "launcher: none",
      options_.model_concurrent_max,
      options_.protocol,
      base_url);
}

void Testbed::start_server() {
  server_client_.reset();
  server_ = std::make_unique<Process>(
      std::vector<std::string>{
          options_.ratchet.string(), "serve", "--dev", "--config", (home_ / "ratchet.yaml").string()},
      home_ / "server.log",
      ready_timeout_ms);
  server_client_ = std::make_unique<HttpClient>(loop_, port_in(first_line(data_ / "listen")));
}

void Testbed::register_agent() {
  if (options_.tool == "lookup") {
    expect_created(
        "POST /v1/tools",
        server().ask({.method = "POST", .target = "/v1/tools", .body = lookup_manifest(mock().port())}));
  }
  if (options_.mix) {
    for (const auto& manifest : {probe_manifest(), pay_manifest(mock().port())})
      expect_created("POST /v1/tools",
                     server().ask({.method = "POST", .target = "/v1/tools", .body = manifest}));
  }
  expect_created(
      "POST /v1/agents/bench/versions",
      server().ask(
          {.method = "POST", .target = "/v1/agents/bench/versions", .body = agent_definition(options_)}));
}

std::string Testbed::mock_stats() {
  return mock().ask({.target = "/stats"}).body;
}

void Testbed::reset_mock_stats() {
  mock().ask({.method = "POST", .target = "/stats/reset"});
}

void Testbed::kill_server() {
  server_->kill();
}

int Testbed::stop_server() {
  return server_->terminate(drain_timeout_ms);
}

bool Testbed::any_run(const std::string& query) {
  const auto reply = server().ask({.target = "/v1/runs?limit=1&" + query});
  const auto size = size_at(reply.body, "/items");
  if (reply.status != 200 || !size)
    throw std::runtime_error(
        fmt::format("GET /v1/runs?{} was answered with {}: {}", query, reply.status, reply.body));
  return *size > 0;
}

bool Testbed::all_runs_finished() {
  return !any_run("status=running") && !any_run("status=queued") && !any_run("status=paused");
}

void Testbed::pass_ms(std::int64_t duration_ms) {
  const auto end_ns = now_ns() + duration_ms * 1'000'000;
  loop_.call_at(end_ns, [] {});
  loop_.run_until([end_ns] { return now_ns() >= end_ns; });
}

}  // namespace ratchet::bench
