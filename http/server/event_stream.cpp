#include "http/server/event_stream.hpp"

#include <deque>
#include <mutex>
#include <variant>

#include <fmt/format.h>

#include "runtime/event/json.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"
#include "runtime/redact/stream_redactor.hpp"

namespace ratchet {

namespace {

constexpr std::string_view end_of_frame = "\n\n";
constexpr std::size_t entry_bytes = 128;  // what an entry costs beside its text

/// Live events that wait for the client. Without a batch none of them is wanted.
struct QueuedEvents {
  std::uint64_t first_seq = 0, last_seq = 0;
  EventSink::Batch batch;
  std::size_t bytes = 0;
};

/// A preview of the reply to one attempt.
struct QueuedDelta {
  std::uint32_t step = 0, attempt = 0;
  std::uint64_t index = 0;
  std::string text;

  std::pair<std::uint32_t, std::uint32_t> call() const { return {step, attempt}; }
};

using Entry = std::variant<QueuedEvents, QueuedDelta>;

std::size_t cost(const Entry& entry) {
  if (const auto* events = std::get_if<QueuedEvents>(&entry)) return entry_bytes + events->bytes;
  return entry_bytes + std::get<QueuedDelta>(entry).text.size();
}

std::string frame(const QueuedDelta& delta) {
  std::string out = "event: model.delta\ndata: {\"step\":";
  append_json_number(out, std::uint64_t{delta.step});
  out += ",\"attempt\":";
  append_json_number(out, std::uint64_t{delta.attempt});
  out += ",\"index\":";
  append_json_number(out, delta.index);
  out += ",\"text\":";
  append_json_string(out, delta.text);
  out += '}';
  out += end_of_frame;
  return out;
}

/// What one read of the journal found.
struct Slice {
  std::string frames;
  std::uint64_t next_seq = 0;                                  ///< the first that was not read
  bool at_end = false;                                         ///< there were no more
  bool finished = false;                                       ///< nor will there be
  std::pair<std::uint32_t, std::uint32_t> settled_call{0, 0};  ///< the newest model call that has its outcome
};

/// The outcome of the model call that `event` is, if it is one.
std::uint32_t settled_attempt(const Event& event) {
  if (const auto* completed = std::get_if<ModelCompleted>(&event.payload)) return completed->attempt;
  if (const auto* failed = std::get_if<ModelFailed>(&event.payload)) return failed->attempt;
  return 0;
}

Result<Slice> read_slice(JournalReader& journal, const EventSelection& selection, std::uint64_t seq) {
  Slice slice;
  slice.next_seq = seq;
  const auto row = journal.row(selection.run);
  if (!row) return tl::unexpected(row.error());
  if (seq <= row->last_seq) {
    const auto records = journal.records(selection.run, seq, limits::stream_slice_bytes);
    if (!records) return tl::unexpected(records.error());
    for (const auto& record : *records) {
      for (const auto& event : record.events) {
        if (event.seq < seq) continue;
        slice.next_seq = event.seq + 1;
        if (const auto attempt = settled_attempt(event)) slice.settled_call = std::pair(event.step, attempt);
        if (!selection.wants(type_name(event))) continue;
        slice.frames += frame_head(event.seq, type_name(event));
        const std::size_t at = slice.frames.size();
        write_json(event, slice.frames);
        if (selection.view)
          if (auto shown = selection.view->json(std::string_view(slice.frames).substr(at)))
            slice.frames.replace(at, std::string::npos, *shown);
        slice.frames += end_of_frame;
      }
    }
  }
  slice.at_end = slice.next_seq > row->last_seq;
  slice.finished = slice.at_end && row->status == RunStatus::finished;
  return slice;
}

class EventStream final : public BodyStream,
                          public EventSink,
                          public std::enable_shared_from_this<EventStream> {
 public:
  EventStream(EventSources sources, EventSelection selection)
      : sources_(sources), selection_(std::move(selection)), next_seq_(selection_.after + 1) {}

  // --- on the server's thread

  void start(std::function<void()> wake) override {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
    request_slice();
  }

  bool take(std::size_t bytes_max, Pieces& out) override {
    const std::lock_guard lock(mutex_);
    if (slice_) take_slice(out);
    if (phase_ == Phase::live) take_queue(bytes_max, out);
    if (draining_ && phase_ != Phase::ended) {
      out.add(fmt::format("retry: {}\n\n", limits::stream_retry_ms));
      end();
    }
    waits_ = out.size() == 0;
    return phase_ != Phase::ended;
  }

  std::string_view heartbeat() const override { return ":\n"; }

  void drain() override {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }

  void stop() override {
    bool listening = false;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      end();
      listening = std::exchange(listening_, false);
    }
    if (listening) sources_.feed.unsubscribe(selection_.run, this);
  }

  // --- on threads of the node

  bool wants(std::string_view type) const override { return selection_.wants(type); }

  void on_events(const RunId&, Batch batch) override {
    if (batch->empty()) return;
    QueuedEvents events{batch->front().seq, batch->back().seq, nullptr, 0};
    for (const auto& event : *batch)
      if (selection_.wants(event.type)) events.bytes += event.json.size() + entry_bytes;
    if (events.bytes > 0 || batch->back().type == RunFinished::type) events.batch = std::move(batch);
    add(std::move(events));
  }

  void on_delta(const RunId&,
                std::uint32_t step,
                std::uint32_t attempt,
                std::uint64_t index,
                std::string_view text) override {
    if (selection_.wants("model.delta")) add(QueuedDelta{step, attempt, index, std::string(text)});
  }

 private:
  /// reading: the journal, slice by slice. live: from the queue. ended: nothing more is shown.
  enum class Phase { reading, live, ended };

  void add(Entry entry) {
    std::function<void()> wake;
    {
      const std::lock_guard lock(mutex_);
      if (phase_ == Phase::ended || passed(entry)) return;
      if (queue_bytes_ > 0 && queue_bytes_ + cost(entry) > sources_.queue_bytes_max) {
        overflow();
      } else if (!joined(entry)) {
        queue_bytes_ += cost(entry);
        queue_.push_back(std::move(entry));
      }
      if (phase_ != Phase::reading && std::exchange(waits_, false)) wake = wake_;
    }
    if (wake) wake();
  }

  /// Whether these are events of which none is wanted and nothing waits before them: then the server's thread
  /// need not hear of them.
  bool passed(const Entry& entry) {
    const auto* events = std::get_if<QueuedEvents>(&entry);
    if (!events || events->batch || phase_ != Phase::live || !queue_.empty()) return false;
    if (events->first_seq > next_seq_) return false;
    next_seq_ = std::max(next_seq_, events->last_seq + 1);
    return true;
  }

  /// While the journal is read nothing is lost: it is read once more. Live, the reader is too slow.
  void overflow() {
    if (phase_ == Phase::live) {
      ++sources_.counters.overflows;
      return end();
    }
    drop_queue();
    lost_ = true;
  }

  /// Appends a delta to the one before, if that still waits.
  bool joined(const Entry& entry) {
    const auto* delta = std::get_if<QueuedDelta>(&entry);
    auto* before = delta && !queue_.empty() ? std::get_if<QueuedDelta>(&queue_.back()) : nullptr;
    if (!before || before->call() != delta->call() || before->index + before->text.size() != delta->index)
      return false;
    before->text += delta->text;
    queue_bytes_ += delta->text.size();
    return true;
  }

  void drop_queue() {
    queue_.clear();
    queue_bytes_ = position_ = 0;
  }

  void end() {
    phase_ = Phase::ended;
    drop_queue();
    slice_.reset();
  }

  // --- from the journal

  void request_slice() {
    phase_ = Phase::reading;
    lost_ = false;  // what is lost from here on may not be in the slice
    const bool posted =
        sources_.workers.post([self = shared_from_this(), seq = next_seq_] { self->read(seq); });
    if (!posted) end();
  }

  /// On a worker.
  void read(std::uint64_t seq) {
    if (!listen()) return;
    auto slice = read_slice(sources_.journal, selection_, seq);
    std::function<void()> wake;
    {
      const std::lock_guard lock(mutex_);
      if (phase_ == Phase::ended) return;
      if (slice)
        slice_ = std::move(*slice);
      else
        end();  // the client asks again, and is then told what is wrong
      waits_ = false;
      wake = wake_;
    }
    wake();
  }

  /// Subscribes, once and before the first read. False: the client has gone.
  bool listen() {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_ || listening_) return !stopped_;
    }
    sources_.feed.subscribe(selection_.run, shared_from_this());
    {
      const std::lock_guard lock(mutex_);
      listening_ = !stopped_;
      if (listening_) return true;
    }
    sources_.feed.unsubscribe(selection_.run, this);
    return false;
  }

  void take_slice(Pieces& out) {
    out.add(std::move(slice_->frames));
    next_seq_ = slice_->next_seq;
    settled_call_ = std::max(settled_call_, slice_->settled_call);
    const bool finished = slice_->finished, at_end = slice_->at_end;
    slice_.reset();
    if (finished) return end();
    if (at_end && !lost_)
      phase_ = Phase::live;
    else
      request_slice();
  }

  // --- from the queue

  void take_queue(std::size_t bytes_max, Pieces& out) {
    while (!queue_.empty() && phase_ == Phase::live && out.size() < bytes_max) {
      if (auto* events = std::get_if<QueuedEvents>(&queue_.front())) {
        if (!take_events(*events, bytes_max, out)) return;
      } else {
        take_delta(std::get<QueuedDelta>(queue_.front()), out);
      }
      if (queue_.empty()) return;  // ended meanwhile
      queue_bytes_ -= cost(queue_.front());
      queue_.pop_front();
    }
  }

  /// False: some of them still wait, or do not continue what was shown.
  bool take_events(const QueuedEvents& events, std::size_t bytes_max, Pieces& out) {
    if (events.first_seq > next_seq_) {
      request_slice();
      return false;
    }
    if (!events.batch) {
      next_seq_ = std::max(next_seq_, events.last_seq + 1);
      return true;
    }
    const auto batch = events.batch;  // `events` goes when the stream ends
    for (; position_ < batch->size(); ++position_) {
      if (out.size() >= bytes_max) return false;
      const auto& event = (*batch)[position_];
      const bool news = event.seq >= next_seq_;
      next_seq_ = std::max(next_seq_, event.seq + 1);
      if (news && selection_.wants(event.type)) {
        out.add(frame_head(event.seq, event.type));
        auto shown = selection_.view ? selection_.view->json(event.json) : std::nullopt;
        if (shown)
          out.add(std::move(*shown));
        else
          out.add_shared(event.json, batch);
        out.add_shared(end_of_frame, nullptr);
      }
      if (event.type == RunFinished::type) {
        end();
        return true;
      }
    }
    position_ = 0;
    return true;
  }

  /// A delta is shown if it belongs to a call under way and leaves no hole after what was shown of it.
  void take_delta(const QueuedDelta& delta, Pieces& out) {
    if (delta.call() <= settled_call_) return;
    if (delta.call() != shown_call_) {
      shown_call_ = delta.call();
      shown_bytes_ = 0;
      preview_.reset();
    }
    if (delta.index > shown_bytes_) return;
    if (selection_.view) return take_redacted(delta, out);
    shown_bytes_ = delta.index + delta.text.size();
    out.add(frame(delta));
  }

  /// What is hidden makes a text of another length, so its offsets are those of what was shown of it. What is
  /// held back to the end of the reply comes with the event that has it whole.
  void take_redacted(const QueuedDelta& delta, Pieces& out) {
    const std::uint64_t known = shown_bytes_ - delta.index;
    if (delta.text.size() <= known) return;
    if (!preview_) preview_.emplace(selection_.view->redactor());
    QueuedDelta shown{delta.step, delta.attempt, preview_->shown_bytes(), {}};
    shown.text = preview_->feed(std::string_view(delta.text).substr(known));
    shown_bytes_ = delta.index + delta.text.size();
    if (!shown.text.empty()) out.add(frame(shown));
  }

  const EventSources sources_;
  const EventSelection selection_;

  std::mutex mutex_;  ///< guards all below
  Phase phase_ = Phase::reading;
  std::function<void()> wake_;
  bool waits_ = false;  ///< the server has nothing to write and waits for `wake_`
  bool draining_ = false, stopped_ = false, listening_ = false;
  bool lost_ = false;  ///< the queue overflowed since the last slice was asked for
  std::uint64_t next_seq_;
  std::optional<Slice> slice_;
  std::deque<Entry> queue_;
  std::size_t queue_bytes_ = 0;
  std::size_t position_ = 0;  ///< in the batch at the front of the queue
  std::pair<std::uint32_t, std::uint32_t> settled_call_{0, 0}, shown_call_{0, 0};
  std::uint64_t shown_bytes_ = 0;          ///< of the reply under way, as the model wrote it
  std::optional<StreamRedactor> preview_;  ///< of the same, where secrets are hidden
};

}  // namespace

std::string frame_head(std::uint64_t seq, std::string_view type) {
  return fmt::format("id: {}\nevent: {}\ndata: ", seq, type);
}

std::shared_ptr<BodyStream> make_event_stream(EventSources sources, EventSelection selection) {
  return std::make_shared<EventStream>(sources, std::move(selection));
}

}  // namespace ratchet
