#pragma once
// What one read of the journal gives to a run's part of an event stream.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/server/event_frames.hpp"
#include "http/server/event_stream.hpp"
#include "runtime/journal.hpp"
#include "runtime/redact/run_view.hpp"

namespace ratchet {

struct RunSelection {
  RunId run;
  std::uint64_t after = 0;      ///< the newest seq that the client has
  std::set<std::string> types;  ///< empty: all of them
  bool below = false;           ///< it is not the run that was asked for
  bool approvals_only = false;  ///< `types` are nothing but those of approvals
  bool follows = false;         ///< the runs that it starts are shown too
  bool output = false;          ///< previews of what running commands write are shown too
  ViewOf view_of = nullptr;

  bool wants(std::string_view type) const { return types.empty() || types.contains(std::string(type)); }

  /// Whether an event of this type is looked at, shown or not.
  bool looks_at(std::string_view type) const;
};

struct Slice {
  std::string frames;
  std::uint64_t next_seq = 0;                                  ///< the first that was not read
  bool at_end = false;                                         ///< there were no more
  bool finished = false;                                       ///< nor will there be
  std::pair<std::uint32_t, std::uint32_t> settled_call{0, 0};  ///< the newest model call that has its outcome
  std::vector<RunId> started;                                  ///< runs below that are to be followed
  std::optional<RunId> gate;                                   ///< `next_seq` tells of the end of this one
};

/// Reads from `seq` on, as the run is shown through `view` (null: every byte). An event that tells of the end
/// of a run below ends the slice before it, but for one at `seq` where `past_gate` is set.
Result<Slice> read_slice(JournalReader& journal,
                         const RunSelection& selection,
                         const RunView* view,
                         const EventFrames& frames,
                         std::uint64_t seq,
                         bool past_gate);

/// What a client that comes back has to be shown beside the slice: the runs below that go on. Those that have
/// ended meanwhile are met at the event that tells of it.
Result<std::vector<RunId>> running_below(JournalReader& journal, const RunRow& row);

/// Whether the run, and all below it, are over without ever having asked for an approval.
Result<bool> never_asked(JournalReader& journal, const RunRow& row);

/// The run that a `subagent.started` or `subagent.finished`, rendered, is about.
RunId child_named_in(std::string_view event_json);

}  // namespace ratchet
