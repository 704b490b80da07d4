#include "http/routes/event_pages.hpp"

#include <algorithm>
#include <vector>

#include "http/routes/reads.hpp"
#include "http/server/event_frames.hpp"
#include "http/server/run_slice.hpp"
#include "runtime/event/json.hpp"
#include "runtime/json/object.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

using View = std::shared_ptr<const RunView>;

class EventsPage {
 public:
  EventsPage(Api& api, const EventSelection& selection, std::size_t own_max)
      : api_(api), selection_(selection), own_max_(own_max) {}

  Result<void> read() {
    const auto row = api_.journal.row(selection_.run);
    if (!row) return tl::unexpected(row.error());
    return walk(*row, selection_.after + 1);
  }

  Result<Response> answer() {
    // Read after the events, so that no item is newer than it says.
    const auto row = api_.journal.row(selection_.run);
    if (!row) return tl::unexpected(row.error());
    return json_response(200, json_object([&](JsonObject& body) {
                           body.raw("items", items_ + "]").number("last_seq", row->last_seq);
                           if (!selection_.children) return;
                           body.number("next_after", next_after_);
                           append_json_texts(
                               body.key("cut"), cut_, [](const RunId& run) { return to_string(run); });
                         }));
  }

 private:
  bool is_root(const RunRow& row) const { return row.run_id == selection_.run; }

  /// The events from `seq` on, and those of the runs below.
  Result<void> walk(const RunRow& row, std::uint64_t seq) {
    const auto view = selection_.view_of ? selection_.view_of(row) : Result<View>(nullptr);
    if (!view) return tl::unexpected(view.error());
    std::vector<RunId> running;
    if (selection_.children && seq > 1) {
      auto found = running_below(api_.journal, row);
      if (!found) return tl::unexpected(found.error());
      running = std::move(*found);
    }
    bool at_end = true;
    const auto read = each_event(api_.journal, row.run_id, seq, [&](const Event& event) {
      if (selection_.children) look_below(event, running);
      at_end = add(row, event, view->get());
      return at_end;
    });
    if (!read || !at_end) return read;
    for (const RunId& child : running)
      add_below(child);
    return {};
  }

  void look_below(const Event& event, std::vector<RunId>& running) {
    if (const auto* started = std::get_if<SubagentStarted>(&event.payload))
      if (std::find(running.begin(), running.end(), started->child_run_id) == running.end())
        running.push_back(started->child_run_id);
    if (const auto* finished = std::get_if<SubagentFinished>(&event.payload)) {
      std::erase(running, finished->child_run_id);
      add_below(finished->child_run_id);
    }
  }

  /// A run of which something cannot be read is among those that are cut: at its own path it is said why.
  void add_below(const RunId& child) {
    const auto row = api_.journal.row(child);
    if (!has_room() || !row || !walk(*row, 1)) cut(child);
  }

  void cut(const RunId& run) {
    if (std::find(cut_.begin(), cut_.end(), run) == cut_.end()) cut_.push_back(run);
  }

  bool has_room() const {
    return count_ < static_cast<std::size_t>(limits::events_page_max) &&
           items_.size() < limits::events_page_bytes_max;
  }

  /// False: no more of this run.
  bool add(const RunRow& row, const Event& event, const RunView* view) {
    if (!is_root(row) && !has_room()) {
      cut(row.run_id);
      return false;
    }
    if (is_root(row)) next_after_ = event.seq;
    if (!selection_.wants(type_name(event))) return true;
    std::string json = to_json(event);
    if (view)
      if (auto shown = view->json(json)) json = std::move(*shown);
    if (count_ > 0) items_ += ',';
    items_ += is_root(row) ? json : with_run_id(row.run_id, json);
    ++count_;
    if (!is_root(row)) return true;
    return ++own_ < own_max_ && items_.size() < limits::events_page_bytes_max;
  }

  Api& api_;
  const EventSelection& selection_;
  const std::size_t own_max_;
  std::string items_ = "[";
  std::size_t count_ = 0, own_ = 0;
  std::uint64_t next_after_ = selection_.after;
  std::vector<RunId> cut_;  ///< of which not all events are on the page
};

}  // namespace

Result<Response> events_page(Api& api, const EventSelection& selection, std::size_t items_max) {
  EventsPage page(api, selection, items_max);
  if (const auto read = page.read(); !read) return tl::unexpected(read.error());
  return page.answer();
}

}  // namespace ratchet
