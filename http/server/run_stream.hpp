#pragma once
// One run's part of an event stream.
//
// It listens first and reads the journal second, in slices, one at a time and only when the client has taken
// the slice before. What comes meanwhile waits in a bounded queue. The journal is always the truth: where the
// queue does not continue what was shown, it is read again. A client that keeps up is fed from the queue;
// when it falls too far behind there, the stream ends after a whole event, and the client resumes by seq. So
// a reader costs bounded memory whatever it does.

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "http/server/event_frames.hpp"
#include "http/server/event_stream.hpp"
#include "http/server/output_view.hpp"
#include "http/server/run_slice.hpp"
#include "runtime/redact/stream_redactor.hpp"

namespace ratchet {

/// What waits in the queues of all runs of one stream.
using QueueSpace = std::atomic<std::size_t>;

class RunStream final : public EventSink, public std::enable_shared_from_this<RunStream> {
 public:
  RunStream(const EventSources& sources, RunSelection selection, std::shared_ptr<QueueSpace> space);

  /// open: there may be more. shown: the run is over, and all of it was shown. unreadable: a run below of
  /// which the journal has lost something. over: the stream of the tree ends (the reader is too slow, the
  /// store does not answer).
  enum class State { open, shown, unreadable, over };

  struct Taken {
    State state = State::open;
    std::vector<RunId> started;      ///< runs below it that are to be followed from here on
    std::optional<RunId> waits_for;  ///< nothing more comes until all of this run was shown
  };

  // On the server's thread.

  /// As `BodyStream::start`.
  void start(std::function<void()> wake);
  /// Appends what is ready, whole events, until `out` has about `bytes_max`. `shown` are the runs of the tree
  /// that are over and were shown.
  Taken take(std::size_t bytes_max, const std::set<RunId>& shown, Pieces& out);
  void stop();

  const RunId& run() const { return selection_.run; }

  // On threads of the node.

  bool wants(std::string_view type) const override;
  void on_events(const RunId& run, Batch batch) override;
  void on_delta(const RunId& run,
                std::uint32_t step,
                std::uint32_t attempt,
                std::uint64_t index,
                std::string_view text) override;
  void on_output(const RunId& run, const ToolOutput& output) override;

 private:
  /// Live events that wait for the client. Without a batch none of them is wanted.
  struct QueuedEvents {
    std::uint64_t first_seq = 0, last_seq = 0;
    Batch batch;
    std::size_t bytes = 0;
  };

  /// A preview that waits behind all events up to `after`.
  struct QueuedOutput {
    std::uint64_t after = 0;
    ToolOutput output;
  };

  using Entry = std::variant<QueuedEvents, Delta, QueuedOutput>;

  /// reading: the journal, slice by slice. live: from the queue. ended: nothing more is shown.
  enum class Phase { reading, live, ended };

  static std::size_t cost(const Entry& entry);
  void add(Entry entry);
  bool passed(const Entry& entry);
  void overflow();
  bool joined(const Entry& entry);
  void drop_queue();
  void end(State state);

  void request_slice(bool past_gate);
  void read(std::uint64_t seq, bool past_gate);
  Result<Slice> read_next(std::uint64_t seq, bool past_gate);
  bool listen();
  void take_slice(const std::set<RunId>& shown, Taken& taken, Pieces& out);

  bool may_pass_gate(const std::set<RunId>& shown);
  void take_queue(std::size_t bytes_max, const std::set<RunId>& shown, Taken& taken, Pieces& out);
  bool take_events(const QueuedEvents& events,
                   std::size_t bytes_max,
                   const std::set<RunId>& shown,
                   Taken& taken,
                   Pieces& out);
  bool look_below(const Rendered& event, const std::set<RunId>& shown, Taken& taken);
  void show(const Rendered& event, const Batch& owner, Pieces& out);
  void take_delta(const Delta& delta, Pieces& out);
  void take_redacted(const Delta& delta, Pieces& out);
  void take_output(const QueuedOutput& queued, Pieces& out);

  const EventSources sources_;
  const RunSelection selection_;
  const EventFrames frames_;
  const std::shared_ptr<QueueSpace> space_;

  std::mutex mutex_;  ///< guards all below
  Phase phase_ = Phase::reading;
  State state_ = State::open;
  std::function<void()> wake_;
  bool waits_ = false;  ///< nothing was there to take, and the server waits for `wake_`
  bool stopped_ = false, listening_ = false;
  bool lost_ = false;  ///< the queue overflowed since the last slice was asked for
  std::uint64_t next_seq_;
  std::optional<RunId> gate_;  ///< the event at `next_seq_` tells of the end of this run, not all of it shown
  std::shared_ptr<const RunView> view_;
  bool has_view_ = false;  ///< it was looked for
  std::optional<Slice> slice_;
  std::deque<Entry> queue_;
  std::size_t queue_bytes_ = 0;
  std::size_t position_ = 0;  ///< in the batch at the front of the queue
  std::pair<std::uint32_t, std::uint32_t> settled_call_{0, 0}, shown_call_{0, 0};
  std::uint64_t shown_bytes_ = 0;          ///< of the reply under way, as the model wrote it
  std::optional<StreamRedactor> preview_;  ///< of the same, where secrets are hidden
  std::uint64_t told_seq_ = 0;             ///< the newest event that is known of
  OutputView outputs_;
};

}  // namespace ratchet
