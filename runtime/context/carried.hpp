#pragma once
// What a compaction must not lose, whatever the model's note says: the run's notes, and what people decided
// about its calls. Folded from the events, so it is told from the journal and not from a memory of it. Todos
// are told with every request and need no carrying.

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "runtime/event/definitions.hpp"
#include "runtime/tools/builtin.hpp"

namespace ratchet {

class Carried {
 public:
  void fold(const Event& event);

  /// For `hand_over_message`. Empty: there is nothing to carry. Bounded by limits::notes_bytes_max and
  /// limits::carried_*.
  std::string text() const;

 private:
  struct Approval {
    std::string call_id, what, said;
    std::string outcome;  ///< of the call; empty: it has none yet
  };

  void decide(const ApprovalDecided& decided);
  void end(const ToolResult& result);

  RunMemory memory_;
  std::map<std::string, Json> notes_asked_;  ///< by call: what `notes_write` is to write, until it has
  std::map<std::string, Approval> asked_;    ///< by call: what people are looking at
  std::deque<Approval> decided_;             ///< the last limits::carried_approvals_max
  std::uint64_t left_out_ = 0;
};

}  // namespace ratchet
