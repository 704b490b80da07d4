#pragma once
// Model attempts and what they cost, as the auditor sees them: one outcome an attempt, used + reserved within
// the limits at every event, and nothing started after an overrun. Private to the auditor.

#include <cstdint>
#include <optional>
#include <set>

#include "runtime/audit/findings.hpp"
#include "runtime/event/definitions.hpp"

namespace ratchet {

class SpendLedger {
 public:
  explicit SpendLedger(Findings& findings) : findings_(findings) {}

  void started(const RunStarted& started);
  void requested(const ModelRequested& requested, std::uint32_t step, Timestamp at);
  void completed(const ModelCompleted& completed);
  void failed(const ModelFailed& failed);
  void warned(const BudgetWarning& warning);
  void finished(const RunFinished& finished);

  std::uint32_t step() const { return step_; }

  bool in_flight() const { return in_flight_.has_value(); }

  /// A provider has used more than was reserved: nothing may start any more.
  bool overrun() const;

 private:
  void require_order(const ModelRequested& requested, std::uint32_t step, Timestamp at);
  void require_reservation(const ModelRequested& requested);
  void settle(std::uint32_t attempt, const Usage& usage, Usd cost);
  Usd cost_of(const Usage& usage) const;

  Findings& findings_;
  Budgets budgets_;
  Prices prices_;
  std::int64_t reply_tokens_max_ = 0;
  std::size_t providers_ = 0;

  std::uint32_t step_ = 0, attempt_ = 0, provider_ = 0;
  std::optional<Amount> in_flight_;             ///< what the attempt under way has reserved
  bool answered_ = true;                        ///< the last attempt gave a reply, or there was none yet
  std::optional<Timestamp> retry_at_;           ///< the last attempt failed, and may be repeated then
  std::optional<std::uint32_t> next_provider_;  ///< … or there
  Usage usage_;
  Usd cost_;
  std::set<BudgetKind> warned_;
};

}  // namespace ratchet
