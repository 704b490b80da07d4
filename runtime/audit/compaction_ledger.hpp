#pragma once
// Compactions, as the auditor sees them: each is asked for, covers what it said it would, gains something,
// and they do not go round in circles. Private to the auditor.

#include <cstdint>

#include "runtime/audit/findings.hpp"
#include "runtime/event/definitions.hpp"

namespace ratchet {

class CompactionLedger {
 public:
  explicit CompactionLedger(Findings& findings) : findings_(findings) {}

  void started(const RunStarted& started);
  void requested(const ModelRequested& requested, std::uint64_t seq);
  void completed(const ModelCompleted& completed, std::uint64_t seq);
  void compacted(const ContextCompacted& compacted, std::uint64_t seq);

 private:
  Findings& findings_;
  std::int64_t headroom_tokens_ = 0;  ///< less gained is nothing gained
  CallPurpose asked_ = CallPurpose::step;
  std::uint64_t asked_up_to_ = 0, covered_up_to_ = 0;
  std::uint64_t note_seq_ = 0;      ///< of the last reply to a compaction
  std::uint32_t without_note_ = 0;  ///< such replies in a row, of which none was a note
  std::uint32_t in_vain_ = 0;       ///< compactions in a row that gained nothing
};

}  // namespace ratchet
