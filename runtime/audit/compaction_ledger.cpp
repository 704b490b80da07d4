#include "runtime/audit/compaction_ledger.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ratchet {

namespace {

constexpr std::uint32_t replies_without_note_max = 2;

}  // namespace

void CompactionLedger::started(const RunStarted& started) {
  const std::int64_t most = started.model.max_output_tokens, asked = started.settings.max_output_tokens;
  const std::int64_t usable =
      started.model.context_window_tokens - (asked > 0 ? std::min(asked, most) : most);
  headroom_tokens_ = std::max<std::int64_t>(usable, 1) / 10;
}

void CompactionLedger::requested(const ModelRequested& requested, std::uint64_t seq) {
  asked_ = requested.purpose;
  asked_up_to_ = requested.up_to_seq;
  findings_.require(in_vain_ < limits::compactions_in_vain_max,
                    6,
                    fmt::format("the run goes on after {} compactions that gained nothing", in_vain_));
  findings_.require(
      without_note_ < replies_without_note_max,
      6,
      fmt::format("the run goes on after {} replies that were no hand-over note", without_note_));
  if (asked_ == CallPurpose::step)
    return findings_.require(asked_up_to_ == 0, 6, "a step is asked for and is not shown everything");
  findings_.require(
      asked_up_to_ > 0 && asked_up_to_ >= covered_up_to_ && asked_up_to_ < seq,
      6,
      fmt::format("a compaction up to event {} follows one up to event {}", asked_up_to_, covered_up_to_));
}

void CompactionLedger::completed(const ModelCompleted& completed, std::uint64_t seq) {
  findings_.require(completed.purpose == asked_, 6, "a reply serves another purpose than its request");
  if (completed.purpose == CallPurpose::step) {
    without_note_ = 0;
    return;
  }
  const bool calls = std::any_of(completed.content.begin(),
                                 completed.content.end(),
                                 [](const ReplyBlock& block) { return block.type == ReplyBlockType::call; });
  findings_.require(!calls, 6, "a hand-over note has calls");
  note_seq_ = seq;
  ++without_note_;
}

void CompactionLedger::compacted(const ContextCompacted& compacted, std::uint64_t seq) {
  findings_.require(note_seq_ > 0 && seq == note_seq_ + 1, 6, "a compaction does not follow its note");
  findings_.require(
      compacted.up_to_seq == asked_up_to_,
      6,
      fmt::format("a compaction covers {} events and {} were shown", compacted.up_to_seq, asked_up_to_));
  findings_.require(!compacted.summary.empty(), 6, "a compaction leaves no note");
  findings_.require(compacted.tokens_after < compacted.tokens_before, 6, "a compaction gains nothing");
  covered_up_to_ = compacted.up_to_seq;
  without_note_ = 0;
  const bool gained = compacted.tokens_before - compacted.tokens_after >= headroom_tokens_;
  in_vain_ = gained ? 0 : in_vain_ + 1;
}

}  // namespace ratchet
