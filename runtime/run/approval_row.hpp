#pragma once
// An approval as lists and look-ups see it. Derived from the run's events, written in their transaction, and
// never the source of anything.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/event/definitions.hpp"
#include "runtime/run/state.hpp"

namespace ratchet {

RATCHET_ENUM(ApprovalStatus, pending, decided, expired)

struct ApprovalRow {
  ApprovalId approval_id;
  RunId run_id, root_run_id;
  std::string team, agent_id, user_id;
  std::string call_id, tool;
  Hash args_hash;
  std::uint64_t required_seq = 0;  ///< the event that has the arguments
  ApprovalStatus status = ApprovalStatus::pending;
  Timestamp asked_at, expires_at;
  std::optional<ApprovalDecision> decision;
  std::optional<DecidedBy> reason;
  std::optional<Timestamp> decided_at;
  std::uint64_t decided_seq = 0;
  Hash effective_args_hash;
  std::string by;

  bool operator==(const ApprovalRow&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "approval_id", self.approval_id);
    visit(2, "run_id", self.run_id);
    visit(3, "root_run_id", self.root_run_id);
    visit(4, "team", self.team);
    visit(5, "agent_id", self.agent_id);
    visit(6, "user_id", self.user_id);
    visit(7, "call_id", self.call_id);
    visit(8, "tool", self.tool);
    visit(9, "args_hash", self.args_hash);
    visit(10, "required_seq", self.required_seq);
    visit(11, "status", self.status);
    visit(12, "asked_at", self.asked_at);
    visit(13, "expires_at", self.expires_at);
    visit(14, "decision", self.decision);
    visit(15, "reason", self.reason);
    visit(16, "decided_at", self.decided_at);
    visit(17, "decided_seq", self.decided_seq);
    visit(18, "effective_args_hash", self.effective_args_hash);
    visit(19, "by", self.by);
  }
};

std::string encode_approval(const ApprovalRow& row);
/// Errors: corrupt.
Result<ApprovalRow> decode_approval(std::string_view bytes);

/// The approvals that `events` ask for or decide, as they are after them. `before` is the run's state before
/// the events.
std::vector<ApprovalRow> approval_rows(const RunState& before, const std::vector<Event>& events);

}  // namespace ratchet
