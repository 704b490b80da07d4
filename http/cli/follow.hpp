#pragma once
// A run's events from where one left off to its end. A broken stream is taken up again after the last event
// that was seen, so that a restart of the server loses none and shows none twice. Events of the runs below it
// are told apart by their `run_id`: without `children` there are only those of their approvals.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "http/cli/api_client.hpp"
#include "http/cli/outcome.hpp"

namespace ratchet::cli {

/// What follows a run is told.
struct Follower {
  /// One event, or a preview (`model.delta`, `tool.output`); `data` is its JSON as the API sent it.
  std::function<void(std::string_view type, const std::string& data)> on_event;
  /// The stream broke, for this reason, and is taken up again after event `after`.
  std::function<void(const std::string& why, std::uint64_t after)> on_break;
};

struct FollowOptions {
  std::uint64_t after = 0;
  bool children = false;               ///< all events of the runs below it, too
  bool output = false;                 ///< previews of what running commands write, too
  bool was_there = false;              ///< the server has answered before: it is worth waiting for
  std::int64_t patience_ms = 300'000;  ///< how long a server may be away before this gives up
};

/// Returns when the run has finished: done after a final answer, otherwise ended_otherwise. Blocks for as
/// long as the run takes. Failures: unreachable, at once where the server was never there, else after the
/// patience; what the API refuses.
Outcome<ExitStatus> follow_run(ApiClient& api,
                               const std::string& run_id,
                               const FollowOptions& options,
                               const Follower& follower);

}  // namespace ratchet::cli
