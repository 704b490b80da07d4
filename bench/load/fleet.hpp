#pragma once
// Keeps a number of runs in flight: as soon as one has ended, the next is started.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/common/histogram.hpp"
#include "bench/load/event_reader.hpp"
#include "bench/load/testbed.hpp"

namespace ratchet::bench {

/// How the end of a run is noticed.
///   stream   one event stream a run, `types=run.finished`, as a client would: the server pays for it, the
///   figures
///            hold it
///   mock     the mock tells when it has sent the final answer: the server pays nothing, and a run counts as
///   over
///            about one commit before it is; used where nothing but the harness is to be measured
///   all      one event stream a run with every event and preview
///   none     not at all
enum class Watch { stream, mock, all, none };

struct FleetOptions {
  std::uint64_t concurrency = 1;
  std::uint64_t runs_max = 0;  ///< 0: until `stop_launching`
  Watch watch = Watch::stream;
  std::int64_t ramp_ms = 0;       ///< the first `concurrency` runs are spread over this time
  std::uint64_t posts_max = 256;  ///< `POST /v1/runs` under way at once
  unsigned stalled_percent = 0;   ///< of the streams of `Watch::all`: they never read
};

class Fleet {
 public:
  /// `testbed` must outlive it, and its loop must not run after the fleet is gone.
  Fleet(Testbed& testbed, FleetOptions options);

  void start();

  void stop_launching() { launching_ = false; }

  bool idle() const { return in_flight_ == 0; }

  std::uint64_t accepted() const { return accepted_; }

  std::uint64_t ended() const { return ended_; }

  /// From `POST /v1/runs` to its 202, and to the end of the run as the watch shows it.
  const Histogram& accept_times() const { return accept_times_; }

  const Histogram& run_times() const { return run_times_; }

  /// Streams that never read and that the server gave up, as the API says it does.
  std::uint64_t stalled_closed() const { return stalled_closed_; }

  /// What else was seen: refusals, streams that broke, stop reasons other than `final_answer`. Empty: all
  /// went well.
  const std::map<std::string, std::uint64_t>& troubles() const { return troubles_; }

  const std::vector<std::unique_ptr<EventReader>>& readers() const { return readers_; }

 private:
  struct Run {
    std::int64_t launched_ns = 0;
    bool accepted = false, answered = false, ended = false;
  };

  void fill();
  void fill_later();
  void launch();
  void post(std::uint64_t run);
  void on_accepted(std::uint64_t run, const HttpReply& reply);
  void follow_end(std::uint64_t run, const std::string& run_id);
  void follow_all(std::uint64_t run, const std::string& run_id);
  void ask_mock();
  void on_end(std::uint64_t run, const std::string& stop_reason);
  bool within_ramp() const;

  Testbed& testbed_;
  FleetOptions options_;
  std::string task_, nonce_;
  bool launching_ = true;
  bool fill_is_set_ = false;
  std::int64_t started_ns_ = 0;
  std::uint64_t in_flight_ = 0, posting_ = 0, accepted_ = 0, ended_ = 0, answers_seen_ = 0,
                stalled_closed_ = 0;
  std::vector<Run> runs_;  ///< by number, the first is 0
  Histogram accept_times_, run_times_;
  std::map<std::string, std::uint64_t> troubles_;
  std::vector<std::unique_ptr<EventReader>> readers_;
};

}  // namespace ratchet::bench
