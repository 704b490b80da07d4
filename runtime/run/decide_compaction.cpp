// Compactions: when one comes before the next step, where it cuts, and what becomes of its reply. A
// compaction is a model call of its own, in the step that was begun last: it is no step of the budget. It
// comes only where everything is settled, and only where it has something to gain, so that it cannot run in
// circles.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/context/handover.hpp"
#include "runtime/context/window.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/model/estimate.hpp"
#include "runtime/run/draft.hpp"

namespace ratchet {

namespace {

constexpr std::uint32_t replies_without_note_max = 2;

/// Bounds of this run, in tokens.
struct Bounds {
  explicit Bounds(const RunStarted& run)
      : window(run.model.context_window_tokens),
        usable(usable_window_tokens(run.model, run.settings)),
        note(note_tokens(run.model, run.settings)),
        compact_at(usable * run.context.compact_at_permille / 1'000),
        layered(run.context.strategy == ContextStrategy::layered),
        target(layered ? std::min(usable * limits::layered_target_permille / 1'000, compact_at)
                       : compact_at) {}

  std::int64_t window, usable, note, compact_at;
  bool layered;
  std::int64_t target;  ///< a compaction comes down to this, if it can

  std::int64_t note_floor() const { return std::min(note, limits::note_tokens_min); }
};

std::string trimmed(std::string text) {
  constexpr const char* blank = " \t\r\n";
  const std::size_t last = text.find_last_not_of(blank);
  text.erase(last == std::string::npos ? 0 : last + 1);
  text.erase(0, std::min(text.find_first_not_of(blank), text.size()));
  return text;
}

/// The note in a reply; empty: there is none.
std::string note_in(const ModelReply& reply) {
  const bool spoke = reply.stop != ModelStop::refusal && reply.stop != ModelStop::context_overflow &&
                     reply.stop != ModelStop::pause_turn;
  std::string note;
  for (const ReplyBlock& block : reply.content) {
    if (block.type == ReplyBlockType::call) return {};
    if (block.type == ReplyBlockType::text) note += block.text;
  }
  if (!spoke) return {};
  note = trimmed(std::move(note));
  if (note.empty()) return {};
  bool cut = reply.stop == ModelStop::max_tokens;
  if (note.size() > limits::summary_bytes_max) {
    note.resize(utf8_cut(note, limits::summary_bytes_max));
    cut = true;
  }
  return cut ? note + "\n[The note was cut off here: it was too long.]" : note;
}

}  // namespace

/// Where to cut: what leaves the most, but comes down to the target; else what gains most. None, if there is
/// nothing to gain, or the model could not be shown what it is to sum up.
std::optional<Cut> Draft::choose_cut(const std::vector<Cut>& cuts, std::int64_t estimated) const {
  const Bounds bounds(started());
  // One large cut: the newest batch stays, or nothing does.
  const std::size_t first = bounds.layered || cuts.size() < 2 ? 0 : cuts.size() - 2;
  const std::int64_t request = estimate_tokens(note_request(true));
  std::optional<Cut> best;
  for (std::size_t i = first; i < cuts.size(); ++i) {
    const std::int64_t shown = calibrated(cuts[i].shown_tokens + request);
    const std::int64_t after = calibrated(cuts[i].kept_tokens) + bounds.note;
    const bool fits = shown + bounds.note_floor() <= bounds.window;
    // A provider that refuses the context knows its length better than we do.
    const bool gains = state.compaction.due
                           ? cuts[i].replaced_tokens > 2 * limits::note_tokens_min
                           : estimated - after >= bounds.usable / limits::compaction_gain_divisor;
    if (!fits || !gains) continue;
    best = cuts[i];
    if (after <= bounds.target) break;
  }
  return best;
}

bool Draft::compacts_first(const ContextAfter& after, const Growth& growth) {
  const RunStarted& run = started();
  const CompactionGuard& guard = state.compaction;
  const Bounds bounds(run);
  const std::int64_t estimated = calibrated(growth.estimated_tokens);
  const bool wanted = guard.due || (bounds.compact_at > 0 && estimated > bounds.compact_at);
  if (!wanted) return false;
  const auto hopeless = [&] {
    if (guard.due) finish(StopReason::context_overflow, guard.refusal);
    return guard.due;
  };
  if (bounds.compact_at == 0) return hopeless();  // begun by a version that did not compact
  const auto cut = choose_cut(after.context().cuts(growth), estimated);
  if (!cut) return hopeless();

  Asking asking;
  asking.step = state.step;
  asking.requested.purpose = CallPurpose::compaction;
  asking.requested.attempt = state.model.number + 1;
  asking.requested.up_to_seq = cut->up_to_seq;
  asking.requested.late_text = note_request(guard.no_note > 0);
  asking.estimated = calibrated(cut->shown_tokens + estimate_tokens(asking.requested.late_text));
  asking.wanted = bounds.note;
  asking.floor = bounds.note_floor();
  const auto limit = announce(std::move(asking), after.context(), growth);
  if (!limit) return true;
  // With too little left for a note, what is left goes to the step, unless the provider will not take it.
  if (guard.due) finish(*limit);
  return guard.due;
}

void Draft::note_came(const ModelReply& reply) {
  ContextCompacted compacted;
  compacted.up_to_seq = state.model.up_to_seq;
  compacted.summary = note_in(reply);
  if (!compacted.summary.empty()) {
    Context before = context;
    for (const Event& event : decision.events)
      before.apply(event);
    compacted.tokens_before = calibrated(before.grow({}, {}).estimated_tokens);
    before.compact(compacted.up_to_seq, compacted.summary);
    compacted.tokens_after = calibrated(before.grow({}, {}).estimated_tokens);
  }
  if (compacted.tokens_after < compacted.tokens_before) {
    emit(std::move(compacted));
    if (state.compaction.in_vain >= limits::compactions_in_vain_max)
      finish(StopReason::context_overflow,
             fmt::format("{} compactions in a row gained no headroom", state.compaction.in_vain));
  } else if (state.compaction.no_note >= replies_without_note_max) {
    finish(StopReason::context_overflow,
           fmt::format("the model was asked {} times for a hand-over note and wrote none",
                       state.compaction.no_note));
  }
}

}  // namespace ratchet
