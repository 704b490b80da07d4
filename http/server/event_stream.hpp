#pragma once
// A run's events as server-sent events (HTML living standard, "Server-sent events"): what the journal holds
// from a seq on, then what is committed, without a gap and without repetition; and among them what the runs
// below it do (docs/subagents.md says when they are shown).
//
// Each run of the tree is followed by a `RunStream` of its own; the stream of the tree takes from them by
// turns. A run begins to be shown with its parent's `subagent.started`, and the parent's `subagent.finished`
// waits until all of it was shown. So the end of the run that was asked for is the end of the stream.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "http/server/message.hpp"
#include "http/server/workers.hpp"
#include "runtime/journal.hpp"
#include "runtime/limits.hpp"
#include "runtime/node.hpp"
#include "runtime/redact/run_view.hpp"

namespace ratchet {

struct StreamCounters {
  std::atomic<std::uint64_t> overflows{0};  ///< ended because the reader was too slow
};

/// Where streams get events from. All are borrowed.
struct EventSources {
  EventFeed& feed;
  JournalReader& journal;
  Workers& workers;
  StreamCounters& counters;
  std::size_t queue_bytes_max = limits::stream_queue_bytes_max;  ///< of all runs of a stream together
};

/// How a run is shown; null: every byte. Called on a worker. Errors: those of finding the run's version.
using ViewOf = std::function<Result<std::shared_ptr<const RunView>>(const RunRow&)>;

struct EventSelection {
  RunId run;
  std::uint64_t after = 0;      ///< the newest seq that the client has
  std::set<std::string> types;  ///< empty: all of them
  bool children = false;        ///< the runs below it too; otherwise of those only their `approval.*`
  ViewOf view_of = nullptr;     ///< null: every byte is shown
  bool output = false;          ///< previews of what running commands write too (`tool.output`)

  bool wants(std::string_view type) const { return types.empty() || types.contains(std::string(type)); }

  /// What is wanted of the runs below; nothing: they need not be followed.
  std::optional<std::set<std::string>> types_below() const;
};

std::shared_ptr<BodyStream> make_event_stream(EventSources sources, EventSelection selection);

}  // namespace ratchet
