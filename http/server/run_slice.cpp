#include "http/server/run_slice.hpp"

#include <boost/json/value.hpp>

#include "runtime/event/json.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

/// The outcome of the model call that `event` is, if it is one.
std::uint32_t settled_attempt(const Event& event) {
  if (const auto* completed = std::get_if<ModelCompleted>(&event.payload)) return completed->attempt;
  if (const auto* failed = std::get_if<ModelFailed>(&event.payload)) return failed->attempt;
  return 0;
}

class SliceReader {
 public:
  SliceReader(const RunSelection& selection, const RunView* view, const EventFrames& frames, Slice& slice)
      : selection_(selection), view_(view), frames_(frames), slice_(slice) {}

  /// False: the slice ends before this event.
  bool read(const Event& event, bool past_gate) {
    if (selection_.follows) {
      if (const auto* ended = std::get_if<SubagentFinished>(&event.payload); ended && !past_gate) {
        slice_.gate = ended->child_run_id;
        return false;
      }
      if (const auto* started = std::get_if<SubagentStarted>(&event.payload))
        slice_.started.push_back(started->child_run_id);
    }
    slice_.next_seq = event.seq + 1;
    if (const auto attempt = settled_attempt(event)) slice_.settled_call = std::pair(event.step, attempt);
    if (selection_.wants(type_name(event))) show(event);
    return true;
  }

 private:
  void show(const Event& event) {
    json_.clear();
    write_json(event, json_);
    const auto shown = view_ ? view_->json(json_) : std::nullopt;
    frames_.write(event.seq, type_name(event), shown ? *shown : json_, slice_.frames);
  }

  const RunSelection& selection_;
  const RunView* view_;
  const EventFrames& frames_;
  Slice& slice_;
  std::string json_;
};

}  // namespace

bool RunSelection::looks_at(std::string_view type) const {
  return wants(type) || (follows && (type == SubagentStarted::type || type == SubagentFinished::type));
}

Result<Slice> read_slice(JournalReader& journal,
                         const RunSelection& selection,
                         const RunView* view,
                         const EventFrames& frames,
                         std::uint64_t seq,
                         bool past_gate) {
  Slice slice;
  slice.next_seq = seq;
  const auto row = journal.row(selection.run);
  if (!row) return tl::unexpected(row.error());
  if (seq <= row->last_seq) {
    const auto records = journal.records(selection.run, seq, limits::stream_slice_bytes);
    if (!records) return tl::unexpected(records.error());
    SliceReader reader(selection, view, frames, slice);
    for (const auto& record : *records)
      for (const auto& event : record.events)
        if (event.seq >= seq && !reader.read(event, past_gate && event.seq == seq)) return slice;
  }
  slice.at_end = slice.next_seq > row->last_seq;
  slice.finished = slice.at_end && row->status == RunStatus::finished;
  return slice;
}

Result<std::vector<RunId>> running_below(JournalReader& journal, const RunRow& row) {
  RunQuery query;
  query.team = row.team;
  query.parent_run_id = row.run_id;
  query.limit = static_cast<std::size_t>(limits::children_max);
  const auto children = journal.list(query);
  if (!children) return tl::unexpected(children.error());
  std::vector<RunId> running;
  for (auto child = children->rbegin(); child != children->rend(); ++child)
    if (child->status != RunStatus::finished) running.push_back(child->run_id);
  return running;
}

Result<bool> never_asked(JournalReader& journal, const RunRow& row) {
  if (row.status != RunStatus::finished) return false;
  ApprovalQuery query;
  query.team = row.team;
  query.run_id = row.run_id;
  query.limit = 1;
  const auto asked = journal.approvals(query);
  if (!asked) return tl::unexpected(asked.error());
  return asked->empty();
}

RunId child_named_in(std::string_view event_json) {
  const auto event = parse_json(event_json);
  const auto* named = event && event->is_object() ? event->get_object().if_contains("child_run_id") : nullptr;
  RATCHET_ENSURE(named && named->is_string(), "an event of a sub-agent names it");
  const auto child = parse_id<RunKind>(std::string_view(named->get_string()));
  RATCHET_ENSURE(child.has_value(), "an event of a sub-agent names it by its id");
  return *child;
}

}  // namespace ratchet
