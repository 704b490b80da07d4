#pragma once
// A run's events as server-sent events (HTML living standard, "Server-sent events"): what the journal holds
// from a seq on, then what is committed, without a gap and without repetition.
//
// The stream listens first and reads the journal second, in slices, one at a time and only when the client
// has taken the slice before. What comes meanwhile waits in a bounded queue. The journal is always the truth:
// where the queue does not continue what was shown, it is read again. A client that keeps up is fed from the
// queue; when it falls too far behind there, the stream ends after a whole event, and the client resumes by
// seq. So a reader costs bounded memory whatever it does.

#include <atomic>
#include <cstdint>
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
  std::size_t queue_bytes_max = limits::stream_queue_bytes_max;
};

struct EventSelection {
  RunId run;
  std::uint64_t after = 0;                        ///< the newest seq that the client has
  std::set<std::string> types;                    ///< empty: all of them
  std::shared_ptr<const RunView> view = nullptr;  ///< how they are shown; null: every byte

  bool wants(std::string_view type) const { return types.empty() || types.contains(std::string(type)); }
};

/// One event as a frame on the wire, without the JSON and the end.
std::string frame_head(std::uint64_t seq, std::string_view type);

std::shared_ptr<BodyStream> make_event_stream(EventSources sources, EventSelection selection);

}  // namespace ratchet
