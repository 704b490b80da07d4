#pragma once
// What is measured. Each scenario starts its own servers and prints nothing but its progress, on standard
// error.

#include <cstdint>
#include <string>
#include <vector>

#include "bench/load/fleet.hpp"
#include "bench/load/report.hpp"
#include "bench/load/testbed.hpp"

namespace ratchet::bench {

struct LoadOptions {
  Watch watch = Watch::stream;
  std::int64_t warmup_ms = 3'000;
  std::int64_t window_ms = 10'000;
  std::vector<std::uint64_t> concurrency;
  std::vector<std::int64_t> latencies_ms;
};

/// Closed loop: a row for each latency and each concurrency, over a window of full load after a warm-up.
Report throughput(const std::string& name, const TestbedOptions& testbed, const LoadOptions& load);

struct RecoveryOptions {
  std::uint64_t runs = 1'000;
  unsigned kills = 1;  ///< rows; each on a fresh server
};

/// SIGKILL with runs in flight, and what it takes until all of them have gone on.
Report recovery(const TestbedOptions& testbed, const RecoveryOptions& options);

struct WaitingOptions {
  std::vector<std::uint64_t> runs{1'000, 10'000, 100'000};
};

/// Memory of runs that wait for a time, in the process that put them to sleep and in one that started with
/// them.
Report waiting(const TestbedOptions& testbed, const WaitingOptions& options);

struct StreamsOptions {
  std::uint64_t runs = 1'000;
  unsigned stalled_percent = 10;
};

/// The same load without streams, with a stream a run, and with some of them stalled.
Report streams(const TestbedOptions& testbed, const StreamsOptions& options);

struct MixedOptions {
  std::vector<std::uint64_t> concurrency{1'040};
  std::int64_t warmup_ms = 3'000, window_ms = 20'000;
};

/// The workload of a busy day: of the runs three in ten use a sandbox, one in ten a sub-agent, one in twenty
/// waits for a person, who approves as soon as they see it.
Report mixed(const TestbedOptions& testbed, const MixedOptions& options);

struct ReplayOptions {
  std::uint64_t runs = 1'000;
};

/// Recorded runs, taken out as files, decided again by this build, and run again from their last and from
/// their first step.
Report replay(const TestbedOptions& testbed, const ReplayOptions& options);

// --- what they share
// -----------------------------------------------------------------------------------------

/// Machine and set-up, for the head of a report.
Row conditions_of(const TestbedOptions& testbed);

/// `2 refused, 1 cut`, or `none`.
std::string describe_troubles(const std::map<std::string, std::uint64_t>& troubles);

/// A number of the mock's statistics. Throws std::runtime_error if it is not there.
double stat(const std::string& stats, std::string_view pointer);

/// Runs the loop until `done()`. Throws std::runtime_error, naming `what`, when it takes longer or the server
/// ends.
void wait_until(Testbed& testbed,
                const std::string& what,
                std::int64_t timeout_ms,
                const std::function<bool()>& done);

/// Waits for the API to say that all runs have finished, and counts what did not end in a final answer.
void check_all_finished(Testbed& testbed, std::map<std::string, std::uint64_t>& troubles);

}  // namespace ratchet::bench
