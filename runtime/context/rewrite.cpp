// What changes a context that is there: compactions, and what the end of a turn makes smaller.

#include <algorithm>

#include "runtime/context/context.hpp"
#include "runtime/context/handover.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

bool Context::is_rewritten_by(const Event& event) const {
  if (std::holds_alternative<ContextCompacted>(event.payload)) return true;
  const auto* paused = std::get_if<RunPaused>(&event.payload);
  return shrink_above_tokens_ > 0 && paused &&
         std::find(paused->reasons.begin(), paused->reasons.end(), PauseReason::message) !=
             paused->reasons.end();
}

std::vector<Cut> Context::cuts(const Growth& growth) const {
  const std::span<const Entry> more = growth.entries;
  const std::size_t size = entries_.size() + more.size();
  std::size_t answered = size;  // what follows it has had no reply
  while (answered > 1 && at(answered - 1, more).kind == EntryKind::said)
    --answered;
  std::int64_t total = head_->estimated_tokens;
  for (std::size_t i = 0; i < size; ++i)
    total += at(i, more).tokens;

  std::vector<Cut> cuts;
  const std::int64_t fixed = head_->estimated_tokens + (size > 0 ? at(0, more).tokens : 0);
  std::int64_t shown = fixed;
  for (std::size_t i = 1; i <= answered && i <= size; ++i) {
    const bool between = i == answered || at(i, more).kind == EntryKind::reply;
    // The input stays: there is nothing to replace before the third entry.
    if (i >= 2 && between)
      cuts.push_back({at(i - 1, more).seq, shown, shown - fixed, total - (shown - fixed)});
    if (i < answered) shown += at(i, more).tokens;
  }
  return cuts;
}

void Context::compact(std::uint64_t up_to_seq, std::string_view note) {
  if (entries_.empty()) return;
  std::vector<Entry> kept;
  kept.push_back(entries_.front());
  kept.push_back(transcript_.stand_in(hand_over_message(note, carried_.text()), endpoint_, up_to_seq));
  for (std::size_t i = 1; i < entries_.size(); ++i)
    if (entries_[i].seq > up_to_seq) kept.push_back(std::move(entries_[i]));
  prefix_tokens_ = head_->estimated_tokens + kept.front().tokens;
  replace(std::move(kept));
}

/// At the end of a turn: old results become stubs, and as long as it is still too much, the oldest nothing.
void Context::shrink() {
  if (entries_.size() <= limits::untouched_messages) return;
  std::vector<Entry> entries = entries_;
  const std::size_t old = entries.size() - limits::untouched_messages;
  std::int64_t total = estimated_tokens_;
  std::size_t first_changed = entries.size();
  const auto make_smaller = [&](std::size_t i) {
    if (!entries[i].smaller) return;
    Entry smaller = *entries[i].smaller;
    smaller.seq = entries[i].seq;
    total += smaller.tokens - entries[i].tokens;
    entries[i] = std::move(smaller);
    first_changed = std::min(first_changed, i);
  };
  // A stub that was made earlier has one smaller form left, and not two.
  for (std::size_t i = 0; i < old; ++i)
    if (entries[i].smaller && entries[i].smaller->smaller) make_smaller(i);
  for (std::size_t i = 0; i < old && total > shrink_above_tokens_; ++i)
    make_smaller(i);
  if (first_changed == entries.size()) return;
  std::int64_t unchanged = head_->estimated_tokens;
  for (std::size_t i = 0; i < first_changed; ++i)
    unchanged += entries[i].tokens;
  prefix_tokens_ = std::min(prefix_tokens_, unchanged);
  replace(std::move(entries));
}

void Context::replace(std::vector<Entry> entries) {
  plain_ = head_->plain;
  sent_ = head_->sent;
  settled_ = 0;
  estimated_tokens_ = head_->estimated_tokens;
  entries_.clear();
  for (Entry& entry : entries)
    absorb(std::move(entry));
}

}  // namespace ratchet
