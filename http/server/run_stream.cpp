#include "http/server/run_stream.hpp"

#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::size_t entry_bytes = 128;  // what an entry costs beside its text

/// What there is to show of a run of which nothing is shown.
Slice end_of(const RunRow& row) {
  Slice slice;
  slice.next_seq = row.last_seq + 1;
  slice.at_end = slice.finished = true;
  return slice;
}

}  // namespace

RunStream::RunStream(const EventSources& sources, RunSelection selection, std::shared_ptr<QueueSpace> space)
    : sources_(sources),
      selection_(std::move(selection)),
      frames_(selection_.below ? std::optional(selection_.run) : std::nullopt),
      space_(std::move(space)),
      next_seq_(selection_.after + 1) {}

// --- on the server's thread
// -------------------------------------------------------------------------------------------

void RunStream::start(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
  request_slice(false);
}

RunStream::Taken RunStream::take(std::size_t bytes_max, const std::set<RunId>& shown, Pieces& out) {
  const std::lock_guard lock(mutex_);
  Taken taken;
  const std::size_t before = out.size();
  if (slice_) take_slice(shown, taken, out);
  if (may_pass_gate(shown) && phase_ == Phase::live) take_queue(bytes_max, shown, taken, out);
  waits_ = out.size() == before;
  taken.state = state_;
  taken.waits_for = gate_;
  return taken;
}

void RunStream::stop() {
  bool listening = false;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    end(State::over);
    listening = std::exchange(listening_, false);
  }
  if (listening) sources_.feed.unsubscribe(selection_.run, this);
}

// --- on threads of the node
// -------------------------------------------------------------------------------------------

bool RunStream::wants(std::string_view type) const {
  return selection_.looks_at(type);
}

void RunStream::on_events(const RunId&, Batch batch) {
  if (batch->empty()) return;
  QueuedEvents events{batch->front().seq, batch->back().seq, nullptr, 0};
  for (const auto& event : *batch)
    if (selection_.looks_at(event.type)) events.bytes += event.json.size() + entry_bytes;
  if (events.bytes > 0 || batch->back().type == RunFinished::type) events.batch = std::move(batch);
  add(std::move(events));
}

void RunStream::on_delta(
    const RunId&, std::uint32_t step, std::uint32_t attempt, std::uint64_t index, std::string_view text) {
  if (selection_.wants("model.delta")) add(Delta{step, attempt, index, std::string(text)});
}

void RunStream::on_output(const RunId&, const ToolOutput& output) {
  if (selection_.output) add(QueuedOutput{0, output});
}

std::size_t RunStream::cost(const Entry& entry) {
  if (const auto* queued = std::get_if<QueuedOutput>(&entry)) return entry_bytes + queued->output.text.size();
  if (const auto* events = std::get_if<QueuedEvents>(&entry)) return entry_bytes + events->bytes;
  return entry_bytes + std::get<Delta>(entry).text.size();
}

void RunStream::add(Entry entry) {
  std::function<void()> wake;
  {
    const std::lock_guard lock(mutex_);
    if (const auto* events = std::get_if<QueuedEvents>(&entry)) told_seq_ = events->last_seq;
    if (auto* queued = std::get_if<QueuedOutput>(&entry)) queued->after = told_seq_;
    if (phase_ == Phase::ended || passed(entry)) return;
    // One that waits for another run leaves room for those that do not: the reader may be quick enough.
    const std::size_t used = space_->load(), room = sources_.queue_bytes_max / (gate_ ? 2 : 1);
    // What a command writes is in its result too: it takes no room that the run's events need.
    if (std::holds_alternative<QueuedOutput>(entry) && used + cost(entry) > room / 2) return;
    if (used > 0 && used + cost(entry) > room) {
      overflow();
    } else if (!joined(entry)) {
      queue_bytes_ += cost(entry);
      *space_ += cost(entry);
      queue_.push_back(std::move(entry));
    }
    if (phase_ != Phase::reading && std::exchange(waits_, false)) wake = wake_;
  }
  if (wake) wake();
}

/// Whether these are events of which none is wanted and nothing waits before them: then the server's thread
/// need not hear of them.
bool RunStream::passed(const Entry& entry) {
  const auto* events = std::get_if<QueuedEvents>(&entry);
  if (!events || events->batch || phase_ != Phase::live || !queue_.empty()) return false;
  if (events->first_seq > next_seq_) return false;
  next_seq_ = std::max(next_seq_, events->last_seq + 1);
  return true;
}

/// While the journal is read, or another run is waited for, nothing is lost: it is read once more. Live, the
/// reader is too slow.
void RunStream::overflow() {
  if (phase_ == Phase::live && !gate_) {
    ++sources_.counters.overflows;
    return end(State::over);
  }
  drop_queue();
  lost_ = true;
}

/// Appends a delta to the one before, if that still waits.
bool RunStream::joined(const Entry& entry) {
  const auto* delta = std::get_if<Delta>(&entry);
  auto* before = delta && !queue_.empty() ? std::get_if<Delta>(&queue_.back()) : nullptr;
  if (!before || before->call() != delta->call() || before->index + before->text.size() != delta->index)
    return false;
  before->text += delta->text;
  queue_bytes_ += delta->text.size();
  *space_ += delta->text.size();
  return true;
}

void RunStream::drop_queue() {
  queue_.clear();
  *space_ -= queue_bytes_;
  queue_bytes_ = position_ = 0;
}

void RunStream::end(State state) {
  if (phase_ != Phase::ended) state_ = state;
  phase_ = Phase::ended;
  gate_.reset();
  drop_queue();
  slice_.reset();
}

// --- from the journal
// -------------------------------------------------------------------------------------------------

void RunStream::request_slice(bool past_gate) {
  phase_ = Phase::reading;
  lost_ = false;  // what is lost from here on may not be in the slice
  const bool posted = sources_.workers.post(
      [self = shared_from_this(), seq = next_seq_, past_gate] { self->read(seq, past_gate); });
  if (!posted) end(State::over);
}

/// On a worker.
void RunStream::read(std::uint64_t seq, bool past_gate) {
  if (!listen()) return;
  auto slice = read_next(seq, past_gate);
  std::function<void()> wake;
  {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::ended) return;
    if (slice)
      slice_ = std::move(*slice);
    else  // of the run that was asked for the client is told when it asks again
      end(selection_.below && slice.error().code != ErrorCode::store_unavailable ? State::unreadable
                                                                                 : State::over);
    waits_ = false;
    wake = wake_;
  }
  wake();
}

/// On a worker. The first time it also finds out how the run is shown, and what there is below it.
Result<Slice> RunStream::read_next(std::uint64_t seq, bool past_gate) {
  std::vector<RunId> running;
  if (!has_view_) {  // only ever one read is under way, so nobody else writes it
    const auto row = sources_.journal.row(selection_.run);
    if (!row) return tl::unexpected(row.error());
    if (selection_.approvals_only) {
      const auto nothing = never_asked(sources_.journal, *row);
      if (!nothing) return tl::unexpected(nothing.error());
      if (*nothing) return end_of(*row);
    }
    if (selection_.follows && selection_.after > 0) {
      auto found = running_below(sources_.journal, *row);
      if (!found) return tl::unexpected(found.error());
      running = std::move(*found);
    }
    using View = std::shared_ptr<const RunView>;
    auto view = selection_.view_of ? selection_.view_of(*row) : Result<View>(nullptr);
    if (!view) return tl::unexpected(view.error());
    const std::lock_guard lock(mutex_);
    view_ = std::move(*view);
    has_view_ = true;
  }
  auto slice = read_slice(sources_.journal, selection_, view_.get(), frames_, seq, past_gate);
  if (slice) slice->started.insert(slice->started.begin(), running.begin(), running.end());
  return slice;
}

/// Subscribes, once and before the first read. False: the client has gone.
bool RunStream::listen() {
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

void RunStream::take_slice(const std::set<RunId>& shown, Taken& taken, Pieces& out) {
  Slice slice = std::move(*slice_);
  slice_.reset();
  if (!slice.frames.empty()) out.add(std::move(slice.frames));
  taken.started = std::move(slice.started);
  next_seq_ = slice.next_seq;
  told_seq_ = std::max(told_seq_, next_seq_ - 1);
  outputs_.clear();
  settled_call_ = std::max(settled_call_, slice.settled_call);
  if (slice.finished) return end(State::shown);
  if (slice.gate && !shown.contains(*slice.gate))
    gate_ = slice.gate;
  else if (slice.at_end && !lost_)
    phase_ = Phase::live;
  else
    request_slice(slice.gate.has_value());
}

// --- from the queue
// ---------------------------------------------------------------------------------------------------

/// Whether no other run is waited for any more.
bool RunStream::may_pass_gate(const std::set<RunId>& shown) {
  if (!gate_) return true;
  if (!shown.contains(*gate_)) return false;
  gate_.reset();
  if (phase_ == Phase::reading || lost_) request_slice(true);
  return true;
}

void RunStream::take_queue(std::size_t bytes_max, const std::set<RunId>& shown, Taken& taken, Pieces& out) {
  while (!queue_.empty() && phase_ == Phase::live && out.size() < bytes_max) {
    if (auto* events = std::get_if<QueuedEvents>(&queue_.front())) {
      if (!take_events(*events, bytes_max, shown, taken, out)) return;
    } else if (const auto* delta = std::get_if<Delta>(&queue_.front())) {
      take_delta(*delta, out);
    } else {
      take_output(std::get<QueuedOutput>(queue_.front()), out);
    }
    if (queue_.empty()) return;  // ended meanwhile
    const std::size_t freed = cost(queue_.front());
    queue_bytes_ -= freed;
    *space_ -= freed;
    queue_.pop_front();
  }
}

/// False: some of them still wait, or do not continue what was shown.
bool RunStream::take_events(const QueuedEvents& events,
                            std::size_t bytes_max,
                            const std::set<RunId>& shown,
                            Taken& taken,
                            Pieces& out) {
  if (events.first_seq > next_seq_) {
    request_slice(false);
    return false;
  }
  if (!events.batch) {
    next_seq_ = std::max(next_seq_, events.last_seq + 1);
    return true;
  }
  const auto batch = events.batch;  // `events` goes when the stream ends
  for (; position_ < batch->size(); ++position_) {
    if (out.size() >= bytes_max) return false;
    const Rendered& event = (*batch)[position_];
    if (event.seq >= next_seq_) {
      if (!look_below(event, shown, taken)) return false;
      next_seq_ = event.seq + 1;
      if (selection_.wants(event.type)) show(event, batch, out);
    }
    if (event.type == RunFinished::type) {
      end(State::shown);
      return true;
    }
  }
  position_ = 0;
  return true;
}

/// False: the event tells of the end of a run of which not all was shown.
bool RunStream::look_below(const Rendered& event, const std::set<RunId>& shown, Taken& taken) {
  if (!selection_.follows) return true;
  if (event.type == SubagentStarted::type) taken.started.push_back(child_named_in(event.json));
  if (event.type != SubagentFinished::type) return true;
  const RunId child = child_named_in(event.json);
  if (shown.contains(child)) return true;
  gate_ = child;
  return false;
}

void RunStream::show(const Rendered& event, const Batch& owner, Pieces& out) {
  if (event.type == ModelRequested::type) outputs_.clear();
  const auto shown = view_ ? view_->json(event.json) : std::nullopt;
  if (!shown) return frames_.write(event.seq, event.type, event.json, owner, out);
  std::string frame;
  frames_.write(event.seq, event.type, *shown, frame);
  out.add(std::move(frame));
}

/// A delta is shown if it belongs to a call under way and leaves no hole after what was shown of it.
void RunStream::take_delta(const Delta& delta, Pieces& out) {
  if (delta.call() <= settled_call_) return;
  if (delta.call() != shown_call_) {
    shown_call_ = delta.call();
    shown_bytes_ = 0;
    preview_.reset();
  }
  if (delta.index > shown_bytes_) return;
  if (view_) return take_redacted(delta, out);
  shown_bytes_ = delta.index + delta.text.size();
  out.add(frames_.frame(delta));
}

/// Not what waited while the journal was read: the results in it may be newer.
void RunStream::take_output(const QueuedOutput& queued, Pieces& out) {
  if (queued.after + 1 < next_seq_) return;
  const auto shown = outputs_.shown(queued.output, view_ ? view_->redactor() : nullptr);
  if (shown) out.add(frames_.frame(*shown));
}

/// What is hidden makes a text of another length, so its offsets are those of what was shown of it. What is
/// held back to the end of the reply comes with the event that has it whole.
void RunStream::take_redacted(const Delta& delta, Pieces& out) {
  const std::uint64_t known = shown_bytes_ - delta.index;
  if (delta.text.size() <= known) return;
  if (!preview_) preview_.emplace(view_->redactor());
  Delta shown{delta.step, delta.attempt, preview_->shown_bytes(), {}};
  shown.text = preview_->feed(std::string_view(delta.text).substr(known));
  shown_bytes_ = delta.index + delta.text.size();
  if (!shown.text.empty()) out.add(frames_.frame(shown));
}

}  // namespace ratchet
