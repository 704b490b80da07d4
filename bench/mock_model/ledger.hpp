#pragma once
// What the mock knows of every run: when it last said something to it, which effects its tool calls had, and
// whether the run has gone on since a mark. It never decides what is answered.
//
// Overhead is the time that passes at the mock between the last byte of one answer and the arrival of the
// run's next request, so all of it is the harness's own (and that of loopback and of this loop, see `round`):
//
//   model reply ends ──to_tool──► tool request … tool reply ends ──from_tool──► next model request
//   model reply ends ──────────────── step, built-in tool ─────────────────────► next model request
//   step = to_tool + from_tool

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/common/histogram.hpp"

namespace ratchet::bench {

/// One request, as it arrived.
struct Arrival {
  std::optional<std::uint64_t> run;  ///< absent: the request has no mark, and only the totals count it
  unsigned step = 0;
  std::int64_t at_ns = 0;
  std::int64_t connected_ns = 0;  ///< when its connection was accepted
};

class Ledger {
 public:
  void model_asked(const Arrival& arrival);
  void model_answered(std::optional<std::uint64_t> run, std::int64_t at_ns, bool final);
  /// `idempotency_key` is empty where there is none.
  void tool_asked(const Arrival& arrival, std::string_view idempotency_key);
  void tool_answered(std::optional<std::uint64_t> run, std::int64_t at_ns);
  /// The other side left before its reply was whole.
  void cut_off(std::optional<std::uint64_t> run);

  void round_took(std::int64_t duration_ns) { round_.record(duration_ns); }

  /// From now on only requests over connections accepted later count as progress: what the killed server had
  /// still sent does not. Time across the mark is no overhead.
  void mark(std::int64_t at_ns);
  /// Forgets totals and histograms; what is known of the runs and their effects stays.
  void reset();

  std::string to_json() const;

 private:
  struct RunClock {
    std::int64_t answered_ns = 0;  ///< end of the last answer; 0: nothing to measure from
    std::int64_t to_tool_ns = 0;
    unsigned model_step = 0;  ///< the newest that was asked for
    bool answered_by_tool = false;
    bool progressed = false;  ///< since the mark
  };

  struct Totals {
    std::uint64_t model_requests = 0, model_replies = 0, final_answers = 0, repeated_model_requests = 0;
    std::uint64_t tool_requests = 0, distinct_effects = 0, repeated_keys = 0, duplicate_effects = 0;
    std::uint64_t cut_off_replies = 0, unmarked_requests = 0;
  };

  struct Progress {
    std::int64_t marked_ns = 0, first_ns = 0, last_ns = 0;
    std::uint64_t runs = 0;
  };

  RunClock* clock_of(std::optional<std::uint64_t> run);
  void note_progress(RunClock& clock, const Arrival& arrival);

  std::vector<RunClock> clocks_;  ///< by run number
  std::unordered_map<std::uint64_t, std::uint64_t>
      effects_;  ///< run and step → hash of the key that caused it
  Totals totals_;
  Progress progress_;
  Histogram step_, to_tool_, from_tool_, round_;
};

}  // namespace ratchet::bench
