#pragma once
// The calls of the last reply, as the auditor sees them: each is asked for once, may run only after it was
// planned, and gets exactly one result. Private to the auditor.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/audit/findings.hpp"
#include "runtime/event/definitions.hpp"

namespace ratchet {

class CallLedger {
 public:
  explicit CallLedger(Findings& findings) : findings_(findings) {}

  /// The events that follow were taken over from the record that the run replays, or were not.
  void look_at(bool replayed) { replayed_ = replayed; }

  void started(const RunStarted& started) { replay_ = started.replay; }

  void replied(const ModelCompleted& completed);
  void requested(const ToolRequested& requested);
  /// `paused`: the run waits for a person at this moment.
  void planned(const ToolPlanned& planned, std::uint32_t step, bool paused);
  void asked(const ApprovalRequired& required);
  void reminded(const ApprovalReminded& reminded);
  void decided(const ApprovalDecided& decided);
  /// A fresh token has come: nothing waits for one any more.
  void token_came();
  void spawned(const SubagentStarted& started);
  void returned(const SubagentFinished& finished);
  void ended(const ToolResult& result);
  void doubted(const CallUnknown& unknown);
  void resolved(const CallResolved& resolved);
  /// Complains about every call that has no result yet: `before` says what may not come before that.
  void require_settled(std::string_view before);
  /// Complains if calls were settled as cancelled although the run goes on.
  void require_none_abandoned();

  bool any_under_way() const;
  std::vector<std::string> in_doubt() const;
  std::vector<std::string> awaiting_user() const;
  /// Both of these, in the order of the reply.
  std::vector<std::string> parked() const;
  std::vector<ApprovalId> asked() const;

 private:
  enum class Stage { replied, requested, asked, decided, planned, doubted, settled };

  struct Call {
    std::string call_id, tool, args;
    bool readable = true;  ///< its arguments are one JSON object
    Stage stage = Stage::replied;
    Hash args_hash;  ///< of what may run
    Decision verdict = Decision::deny;
    bool allowed = false;  ///< by its verdict, or by a person
    ApprovalId approval;
    DecidedBy decided_by = DecidedBy::person;
    bool awaits_user = false;
    bool writes = false;
    SideEffects side_effects = SideEffects::none;
    std::uint32_t attempts = 0;
    std::optional<RunId> child;   ///< its sub-agent is under way
    bool happened = false;        ///< a person has said so
    bool did_not_happen = false;  ///< likewise; allows one more attempt
    bool abandoned = false;       ///< settled as cancelled
  };

  Call* find(std::string_view call_id, std::string_view event);
  void judge_refused(const Call& call, const ToolResult& result);
  void judge_executed(const Call& call, const ToolResult& result);
  void judge_replay(const Call& call, const ToolResult& result);

  Findings& findings_;
  std::optional<ReplayOrigin> replay_;  ///< of a run that replays another one
  bool replayed_ = false;
  std::vector<Call> calls_;
  std::set<std::string> ids_;  ///< of the whole run
  std::uint32_t results_ = 0;
};

}  // namespace ratchet
