#pragma once
// Model attempts and what they cost, as the auditor sees them: one outcome an attempt, used + reserved within
// the limits at every event, and nothing started after an overrun. Private to the auditor.

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "runtime/audit/findings.hpp"
#include "runtime/event/definitions.hpp"

namespace ratchet {

class SpendLedger {
 public:
  explicit SpendLedger(Findings& findings) : findings_(findings) {}

  /// The events that follow were taken over from the record that the run replays, and cost nothing, or were
  /// not.
  void look_at(bool replayed) { replayed_ = replayed; }

  void started(const RunStarted& started);
  void requested(const ModelRequested& requested, std::uint32_t step, Timestamp at);
  void completed(const ModelCompleted& completed);
  void failed(const ModelFailed& failed);
  /// A sub-agent's share is given, and comes back. `deadline_at`: of the run, when it starts the sub-agent.
  void given(const SubagentStarted& child, Timestamp deadline_at);
  void returned(const SubagentFinished& child);
  void warned(const BudgetWarning& warning);
  void finished(const RunFinished& finished);

  std::uint32_t step() const { return step_; }

  bool in_flight() const { return in_flight_.has_value(); }

  /// A provider has used more than was reserved: nothing may start any more.
  bool overrun() const;

  bool any_child() const { return !shares_.empty(); }

 private:
  void require_order(const ModelRequested& requested, std::uint32_t step, Timestamp at);
  void require_reservation(const ModelRequested& requested);
  void settle(std::uint32_t attempt, const Usage& usage, Usd cost);
  Usd cost_of(const Usage& usage) const;

  /// Used by the run and by what is below it, and held for sub-agents that are under way.
  std::int64_t tokens_taken() const { return usage_.total() + children_.tokens + held_.tokens; }

  std::int64_t steps_taken() const { return step_ + children_.steps + held_.steps; }

  Usd usd_taken() const { return cost_ + children_.usd + held_.usd; }

  Findings& findings_;
  bool replayed_ = false;
  Budgets budgets_;
  Prices prices_;
  std::int64_t reply_tokens_max_ = 0;
  std::size_t providers_ = 0;

  std::uint32_t step_ = 0, attempt_ = 0, provider_ = 0;
  std::optional<Amount> in_flight_;             ///< what the attempt under way has reserved
  bool answered_ = true;                        ///< the step has its reply, or there was none yet
  bool noted_ = false;                          ///< the last attempt was a compaction and gave a reply
  std::optional<Timestamp> retry_at_;           ///< the last attempt failed, and may be repeated then
  std::optional<std::uint32_t> next_provider_;  ///< … or there
  Usage usage_;
  Usd cost_;
  std::map<RunId, Share> shares_;  ///< of the sub-agents under way
  Share held_, children_;          ///< all of those; used by the sub-agents that have ended
  std::set<BudgetKind> warned_;
};

}  // namespace ratchet
