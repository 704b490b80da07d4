#pragma once
// Events: what people are asked and what they say.

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/content.hpp"
#include "runtime/hash.hpp"
#include "runtime/ids.hpp"
#include "runtime/time.hpp"
#include "runtime/tools/types.hpp"

namespace ratchet {

RATCHET_ENUM(ApprovalDecision, approve, reject)
/// Who ended an approval. What nobody decided in time, or what a cancel took along, is a rejection.
RATCHET_ENUM(DecidedBy, person, expired, cancelled)

/// A person is asked whether this call may run, with exactly these arguments.
struct ApprovalRequired {
  ApprovalId approval_id;
  std::string call_id;
  std::string tool;
  Json args;
  Hash args_hash;
  std::string why;  ///< the rule that asks
  Timestamp expires_at;
  std::optional<Timestamp> remind_at;

  static constexpr std::string_view type = "approval.required";
  bool operator==(const ApprovalRequired&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "approval_id", self.approval_id);
    visit(2, "call_id", self.call_id);
    visit(3, "tool", self.tool);
    visit(4, "args", self.args);
    visit(5, "args_hash", self.args_hash);
    visit(6, "why", self.why);
    visit(7, "expires_at", self.expires_at);
    visit(8, "remind_at", self.remind_at);
  }
};

/// Nobody has decided yet, and the time for a reminder has come. Nothing else changes.
struct ApprovalReminded {
  ApprovalId approval_id;
  std::string call_id;

  static constexpr std::string_view type = "approval.reminded";
  bool operator==(const ApprovalReminded&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "approval_id", self.approval_id);
    visit(2, "call_id", self.call_id);
  }
};

/// Written once for each approval.
struct ApprovalDecided {
  ApprovalId approval_id;
  std::string call_id;
  ApprovalDecision decision = ApprovalDecision::reject;
  std::optional<Json> edited_args;  ///< canonical; what runs instead of what was asked about
  Hash effective_args_hash;         ///< of what runs, or would have run
  Verdict verdict;                  ///< on the effective arguments, when the decision came
  std::string by;                   ///< the API key's id; empty unless a person decided
  std::string comment;
  DecidedBy reason = DecidedBy::person;

  static constexpr std::string_view type = "approval.decided";
  bool operator==(const ApprovalDecided&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "approval_id", self.approval_id);
    visit(2, "call_id", self.call_id);
    visit(3, "decision", self.decision);
    visit(4, "edited_args", self.edited_args);
    visit(5, "effective_args_hash", self.effective_args_hash);
    visit(6, "verdict", self.verdict);
    visit(7, "by", self.by);
    visit(8, "comment", self.comment);
    visit(9, "reason", self.reason);
  }
};

}  // namespace ratchet
