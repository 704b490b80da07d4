#pragma once
// The audit of one run: the chain, the life of the run, and the two ledgers. Private to the auditor.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "runtime/audit/call_ledger.hpp"
#include "runtime/audit/compaction_ledger.hpp"
#include "runtime/audit/findings.hpp"
#include "runtime/audit/spend_ledger.hpp"
#include "runtime/event/codec.hpp"

namespace ratchet {

class RunAudit {
 public:
  explicit RunAudit(const RunId& run)
      : findings_(run), calls_(findings_), spend_(findings_), compactions_(findings_) {}

  void add(const Record& record);
  void expect(std::uint64_t last_seq, const Hash& head);

  const Findings& findings() const { return findings_; }

  /// What the run gave to a sub-agent, and what came back.
  struct Given {
    SubagentStarted started;
    std::optional<SubagentFinished> finished;
  };

  const std::map<RunId, Given>& given() const { return given_; }

  /// Holds this run, a sub-agent, against what its parent says of it.
  std::vector<Violation> compare(const RunId& parent, const Given& given) const;

 private:
  struct Pause {
    RunPaused said;
    Timestamp since;
    bool message_came = false;
  };

  void link(const Record& record, const Event& event);
  void envelope(const Event& event);
  void gates(const Event& event);
  void replay(const Event& event);
  void artifacts(const Content& content);

  // What each type of event may and may not say, given those before it.
  void check(const RunStarted& started);
  void check(const MessageReceived& message);
  void check(const ModelRequested& requested);
  void check(const ModelCompleted& completed);
  void check(const ModelFailed& failed);
  void check(const ToolRequested& requested);
  void check(const ToolPlanned& planned);
  void check(const ApprovalRequired& required);
  void check(const ApprovalReminded& reminded);
  void check(const ApprovalDecided& decided);
  void check(const UserTokenReceived& token);
  void check(const ToolResult& result);
  void check(const SubagentStarted& started);
  void check(const SubagentFinished& finished);
  void check(const ContextCompacted& compacted);
  void check(const BudgetWarning& warning);
  void check(const CallUnknown& unknown);
  void check(const CallResolved& resolved);
  void check(const RunPaused& paused);
  void check(const RunResumed& resumed);
  void check(const RunCancelRequested& cancel);
  void check(const RunFinished& finished);
  void check_reason(const RunFinished& finished);

  Findings findings_;
  CallLedger calls_;
  SpendLedger spend_;
  CompactionLedger compactions_;

  std::map<RunId, Given> given_;
  std::optional<RunStarted> started_;  ///< without its input
  std::optional<RunFinished> ended_;

  Hash head_;
  std::set<std::array<std::uint8_t, 16>> salts_;
  std::uint64_t last_seq_ = 0;
  std::uint32_t lease_ = 1;
  const Event* event_ = nullptr;  ///< the one that is looked at

  std::optional<ReplayOrigin> replay_;
  bool live_ = false;  ///< of a replay: nothing is taken over any more
  bool interactive_ = false, cancelled_ = false, finished_ = false, answered_ = false;
  std::optional<StopReason> ends_as_;  ///< a cancel that the run asked for itself
  std::int64_t waited_of_batch_us_ = 0;
  Timestamp deadline_at_;
  std::optional<Pause> pause_;
  std::uint32_t unread_ = 0;  ///< messages that no request has pulled in yet
  std::set<std::string> message_keys_;
  std::uint32_t blobs_ = 0;
};

}  // namespace ratchet
