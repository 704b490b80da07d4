#pragma once
// What one measurement needs: a mock, a server of its own in a fresh data directory, the tool and the agent.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "bench/common/event_loop.hpp"
#include "bench/load/http_client.hpp"
#include "bench/load/measure.hpp"
#include "bench/load/process.hpp"

namespace ratchet::bench {

struct TestbedOptions {
  std::filesystem::path ratchet, mock;  ///< the programs
  std::filesystem::path base;           ///< where the data directories are made
  std::string durability = "fsync";
  std::string protocol = "anthropic";
  std::string tool = "lookup";
  std::int64_t latency_ms = 100;
  std::int64_t tool_latency_ms = 0;
  unsigned chunks = 5;
  unsigned steps = 12;
  unsigned model_concurrent_max = 2'000;  ///< `max_concurrent` of the model: what a provider would grant
  std::size_t prefix_tokens = 3'000;      ///< system prompt and tools
  std::size_t task_tokens = 200;
  bool mix = false;   ///< sandboxes, sub-agents and approvals, see common/mix.hpp
  bool keep = false;  ///< leave the data directory behind
};

class Testbed {
 public:
  /// Throws std::runtime_error where a program does not start or refuses what it is told.
  explicit Testbed(TestbedOptions options);
  ~Testbed();
  Testbed(const Testbed&) = delete;
  Testbed& operator=(const Testbed&) = delete;

  const TestbedOptions& options() const { return options_; }

  EventLoop& loop() { return loop_; }

  HttpClient& server() { return *server_client_; }

  HttpClient& mock() { return *mock_client_; }

  /// Samples the server.
  ProcessSample sample() const { return sample_process(server_->pid()); }

  double mock_cpu_seconds() const { return sample_process(mock_->pid()).cpu_seconds; }

  std::uint64_t data_bytes() const { return disk_bytes(data_); }

  std::optional<std::uint64_t> device_written_bytes() const { return bench::device_written_bytes(data_); }

  bool server_alive() { return server_->alive(); }

  std::string mock_stats();
  void reset_mock_stats();

  /// SIGKILL.
  void kill_server();
  /// Starts it (again) on the same data and returns when it says that it is ready.
  void start_server();
  /// SIGTERM; the exit status.
  int stop_server();

  /// The first element of a list of runs exists: `query` as in `GET /v1/runs?query`. Throws on any reply but
  /// 200.
  bool any_run(const std::string& query);
  /// True when no run is queued, running or paused.
  bool all_runs_finished();

  /// Runs the loop for this long.
  void pass_ms(std::int64_t duration_ms);

 private:
  void write_config() const;
  void register_agent();

  TestbedOptions options_;
  std::filesystem::path home_, data_;
  EventLoop loop_;
  std::unique_ptr<Process> mock_, server_;
  std::unique_ptr<HttpClient> mock_client_, server_client_;
};

}  // namespace ratchet::bench
