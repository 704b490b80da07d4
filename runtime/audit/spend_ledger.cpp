#include "runtime/audit/spend_ledger.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ratchet {

namespace {

/// Written down once more, apart from the runtime's own: an auditor that shares the arithmetic shares its
/// mistakes.
Usd price_rounded_up(std::int64_t tokens, Usd per_million) {
  __extension__ using Wide = __int128;
  const Wide nano_millionths = static_cast<Wide>(tokens) * per_million.nano;
  const Wide whole = nano_millionths / 1'000'000;
  return {static_cast<std::int64_t>(nano_millionths % 1'000'000 > 0 ? whole + 1 : whole)};
}

}  // namespace

void SpendLedger::started(const RunStarted& started) {
  budgets_ = started.budgets;
  prices_ = started.model.prices;
  providers_ = started.model.providers.size();
  const std::int64_t asked = started.settings.max_output_tokens;
  reply_tokens_max_ =
      asked > 0 ? std::min(asked, started.model.max_output_tokens) : started.model.max_output_tokens;
  findings_.require(providers_ > 0, 2, "the run has no model provider");
}

void SpendLedger::requested(const ModelRequested& requested, std::uint32_t step, Timestamp at) {
  require_order(requested, step, at);
  if (!replayed_) require_reservation(requested);
  step_ = step;
  attempt_ = requested.attempt;
  provider_ = requested.provider;
  in_flight_ = requested.reserved;
  if (requested.purpose == CallPurpose::step) answered_ = false;
  noted_ = false;
  retry_at_.reset();
  next_provider_.reset();
}

void SpendLedger::require_order(const ModelRequested& requested, std::uint32_t step, Timestamp at) {
  findings_.require(!in_flight_, 2, "a model call is asked for while another is under way");
  findings_.require(requested.provider < providers_, 2, "the request names no provider of the run");
  const bool opens = step == step_ + 1;
  const bool compaction = requested.purpose == CallPurpose::compaction;
  findings_.require(opens || step == step_, 2, fmt::format("step {} follows step {}", step, step_));
  if (opens) {
    findings_.require(!compaction, 2, "a compaction opens a step");
    findings_.require(answered_, 2, fmt::format("step {} begins although step {} has no reply", step, step_));
    findings_.require(
        requested.attempt == 1, 2, fmt::format("step {} begins with attempt {}", step, requested.attempt));
    findings_.require(step == 1 || requested.provider == next_provider_.value_or(provider_),
                      2,
                      "a step begins with another provider");
    return;
  }
  findings_.require(requested.attempt == attempt_ + 1,
                    2,
                    fmt::format("attempt {} follows attempt {}", requested.attempt, attempt_));
  const bool repeatable = retry_at_ || next_provider_ || noted_ || (compaction && answered_);
  findings_.require(repeatable, 2, "an attempt is repeated that was not to be");
  findings_.require(compaction || !answered_, 2, "a step is asked for again that has its reply");
  findings_.require(!retry_at_ || at >= *retry_at_, 2, "an attempt is repeated before its time");
  findings_.require(
      requested.provider == next_provider_.value_or(provider_), 2, "a repeated attempt goes elsewhere");
}

void SpendLedger::require_reservation(const ModelRequested& requested) {
  const Amount& reserved = requested.reserved;
  findings_.require(!overrun(), 5, "a model call is asked for after an overrun");
  findings_.require(requested.max_tokens > 0 && requested.max_tokens <= reply_tokens_max_,
                    5,
                    fmt::format("a reply of {} tokens is asked for", requested.max_tokens));
  findings_.require(reserved.tokens >= requested.max_tokens + requested.estimated_tokens,
                    5,
                    fmt::format("{} tokens are reserved for {} in and {} out",
                                reserved.tokens,
                                requested.estimated_tokens,
                                requested.max_tokens));
  const Usd needed = price_rounded_up(requested.max_tokens, prices_.output) +
                     price_rounded_up(requested.estimated_tokens, prices_.input);
  // Both prices are rounded up, so the last nano-dollar of a budget may be one too few.
  findings_.require(
      reserved.usd.nano + 1 >= needed.nano,
      5,
      fmt::format("{} is reserved for what may cost {}", to_string(reserved.usd), to_string(needed)));
  findings_.require(
      tokens_taken() + reserved.tokens <= budgets_.max_tokens,
      5,
      fmt::format(
          "{} tokens used and {} reserved, of {}", tokens_taken(), reserved.tokens, budgets_.max_tokens));
  findings_.require(usd_taken() + reserved.usd <= budgets_.max_usd,
                    5,
                    fmt::format("{} used and {} reserved, of {}",
                                to_string(usd_taken()),
                                to_string(reserved.usd),
                                to_string(budgets_.max_usd)));
}

void SpendLedger::completed(const ModelCompleted& completed) {
  const Usd cost = cost_of(completed.usage);
  findings_.require(replayed_ || completed.cost_usd == cost,
                    5,
                    fmt::format("a reply cost {}, not {}", to_string(cost), to_string(completed.cost_usd)));
  settle(completed.attempt, completed.usage, completed.cost_usd);
  noted_ = completed.purpose == CallPurpose::compaction;
  if (!noted_) answered_ = true;
}

void SpendLedger::failed(const ModelFailed& failed) {
  if (!replayed_ && in_flight_ && failed.kind == FailureClass::lost) {
    findings_.require(failed.charged.total() == in_flight_->tokens && failed.charged_usd == in_flight_->usd,
                      5,
                      fmt::format("a lost attempt is charged {} tokens and {} where {} and {} were reserved",
                                  failed.charged.total(),
                                  to_string(failed.charged_usd),
                                  in_flight_->tokens,
                                  to_string(in_flight_->usd)));
  }
  findings_.require(!failed.retry_at || !failed.next_provider, 2, "a failed attempt goes two ways");
  settle(failed.attempt, failed.charged, failed.charged_usd);
  retry_at_ = failed.retry_at;
  next_provider_ = failed.next_provider;
}

void SpendLedger::settle(std::uint32_t attempt, const Usage& usage, Usd cost) {
  findings_.require(in_flight_.has_value(), 2, "an outcome of a model call that is not under way");
  findings_.require(
      attempt == attempt_, 2, fmt::format("attempt {} ends, {} is under way", attempt, attempt_));
  const bool sound = usage.input >= 0 && usage.output >= 0 && usage.cached_input >= 0 &&
                     usage.cache_write >= 0 && cost.nano >= 0;
  findings_.require(sound, 5, "a negative use");
  in_flight_.reset();
  if (replayed_) return;
  usage_ += usage;
  cost_ += cost;
}

Usd SpendLedger::cost_of(const Usage& usage) const {
  const std::int64_t fresh = std::max<std::int64_t>(0, usage.input - usage.cached_input - usage.cache_write);
  return price_rounded_up(fresh, prices_.input) + price_rounded_up(usage.cached_input, prices_.cached_input) +
         price_rounded_up(usage.cache_write, prices_.cache_write) +
         price_rounded_up(usage.output, prices_.output);
}

bool SpendLedger::overrun() const {
  return tokens_taken() > budgets_.max_tokens || usd_taken() > budgets_.max_usd;
}

void SpendLedger::given(const SubagentStarted& child, Timestamp deadline_at) {
  const Share& share = child.share;
  findings_.require(!overrun(), 5, "a sub-agent is started after an overrun");
  findings_.require(
      share.steps > 0 && share.tokens > 0 && share.usd.nano >= 0, 5, "a sub-agent gets no share");
  findings_.require(child.deadline_at <= deadline_at, 5, "a sub-agent's deadline is after its parent's");
  findings_.require(
      shares_.emplace(child.child_run_id, share).second, 5, "a sub-agent's share is given twice");
  held_ += share;
  const bool covered = steps_taken() <= budgets_.max_steps && tokens_taken() <= budgets_.max_tokens &&
                       usd_taken() <= budgets_.max_usd;
  findings_.require(covered, 5, "a sub-agent is given more than its parent has left");
}

void SpendLedger::returned(const SubagentFinished& child) {
  const auto given = shares_.find(child.child_run_id);
  if (given == shares_.end())
    return findings_.complain(5, "a sub-agent's share comes back twice, or from nowhere");
  const Share& share = given->second;
  findings_.require(child.used.steps >= 0 && child.used.steps <= share.steps,
                    5,
                    fmt::format("a sub-agent took {} steps, of {}", child.used.steps, share.steps));
  held_ += {-share.steps, -share.tokens, Usd{-share.usd.nano}};
  children_ += child.used;
  shares_.erase(given);
}

void SpendLedger::warned(const BudgetWarning& warning) {
  findings_.require(
      warned_.insert(warning.which).second, 5, fmt::format("a second warning of {}", name(warning.which)));
  const auto expect = [&](std::int64_t used, std::int64_t limit) {
    findings_.require(
        warning.used == used && warning.limit == limit,
        5,
        fmt::format(
            "a warning says {} of {} where it is {} of {}", warning.used, warning.limit, used, limit));
  };
  switch (warning.which) {
    case BudgetKind::steps:
      return expect(steps_taken(), budgets_.max_steps);
    case BudgetKind::tokens:
      return expect(tokens_taken(), budgets_.max_tokens);
    case BudgetKind::usd:
      return expect(usd_taken().nano, budgets_.max_usd.nano);
    case BudgetKind::seconds:
      return expect(warning.used, budgets_.max_seconds);
  }
}

void SpendLedger::finished(const RunFinished& finished) {
  findings_.require(!in_flight_, 2, "the run ends while a model call is under way");
  findings_.require(finished.usage == usage_ && finished.cost_usd == cost_,
                    5,
                    "the totals are not the sum of what was used");
  findings_.require(finished.subagents == children_, 5, "the totals of sub-agents are not their sum");
  findings_.require(shares_.empty(), 7, "the run ends while a sub-agent is under way");
  findings_.require(
      finished.steps == step_, 5, fmt::format("{} steps are told of, there were {}", finished.steps, step_));
  if (finished.stop_reason == StopReason::step_limit)
    findings_.require(
        steps_taken() >= budgets_.max_steps, 5, "stopped on the step limit before it was reached");
}

}  // namespace ratchet
