#include "runtime/run/outstanding.hpp"

#include <algorithm>

namespace ratchet {

namespace {

void add_due(std::optional<Timestamp>& earliest, Timestamp at) {
  if (!earliest || at < *earliest) earliest = at;
}

}  // namespace

std::optional<BriefEffect> unbriefed(const RunState& state, Timestamp now) {
  if (!state.started->pre_model_hooks || state.finished() || state.pause || state.cancel) return std::nullopt;
  if (state.phase == Phase::retrying && state.model.retry_at <= now)
    return BriefEffect{state.step, state.model.number + 1};
  const bool told_more = state.phase == Phase::answered && state.messages_pending > 0;
  if (state.phase == Phase::ready || told_more) return BriefEffect{state.step + 1, 1};
  return std::nullopt;
}

std::vector<Effect> outstanding(const RunState& state, Timestamp now) {
  std::vector<Effect> effects;
  if (state.finished() || state.pause || state.cancel) return effects;
  if (state.phase == Phase::calling) effects.push_back(ModelEffect{state.step, state.model.number});
  if (const auto brief = unbriefed(state, now)) effects.push_back(*brief);
  for (const OpenCall& call : state.calls) {
    if (call.under_way() && (!call.not_before || *call.not_before <= now))
      effects.push_back(CallEffect{call.call_id, call.attempt});
    if (call.stage == CallStage::judging) effects.push_back(JudgeEffect{call.call_id});
  }
  return effects;
}

std::optional<Timestamp> next_due(const RunState& state, Timestamp now) {
  std::optional<Timestamp> earliest;
  if (state.finished() || state.cancel) return earliest;
  for (const OpenCall& call : state.calls) {
    if (call.stage != CallStage::asked) continue;
    add_due(earliest, call.approval->expires_at);
    if (call.approval->remind_at) add_due(earliest, *call.approval->remind_at);
  }
  if (state.pause) {
    add_due(earliest, state.pause->expires_at);
    return earliest;
  }
  if (state.phase == Phase::retrying && !unbriefed(state, now)) add_due(earliest, state.model.retry_at);
  for (const OpenCall& call : state.calls) {
    if (call.stage != CallStage::planned) continue;
    if (call.until) add_due(earliest, *call.until);
    if (call.not_before && *call.not_before > now) add_due(earliest, *call.not_before);
  }
  if (!is_acting(state)) add_due(earliest, state.deadline_at);
  if (const auto at = seconds_warning_at(state)) add_due(earliest, *at);
  return earliest;
}

std::optional<Timestamp> seconds_warning_at(const RunState& state) {
  const RunStarted& started = *state.started;
  const bool warned = state.warned & (1u << static_cast<unsigned>(BudgetKind::seconds));
  if (started.rules_version < 2 || warned || started.budgets.max_seconds <= 0) return std::nullopt;
  if (state.any_child()) return std::nullopt;  // what it waits for people is given back when it ends
  return state.deadline_at.plus_ms(-started.budgets.max_seconds * (1'000 / 5));
}

bool is_acting(const RunState& state) {
  return std::any_of(state.calls.begin(), state.calls.end(), [](const OpenCall& call) {
    return call.child || (call.under_way() && call.side_effects != SideEffects::none);
  });
}

bool waits(const RunState& state) {
  if (state.finished()) return true;
  if (state.cancel) return false;
  if (state.pause) return true;
  if (state.phase != Phase::batch) return false;
  return std::none_of(state.calls.begin(), state.calls.end(), [](const OpenCall& call) {
    return call.under_way() || call.stage == CallStage::judging;
  });
}

RunRow row_of(const RunState& state) {
  const RunStarted& started = *state.started;
  RunRow row;
  row.run_id = state.run_id;
  row.team = started.team;
  row.agent_id = started.agent_id;
  row.user_id = started.user_id;
  row.agent_version = started.agent_version;
  row.parent_run_id = started.parent_run_id;
  row.replay_of = started.replay_of;
  row.root_run_id = started.root_run_id;
  row.depth = started.depth;
  // A start takes up a run that waits for a sub-agent too: it looks whether that has ended meanwhile.
  row.active = !waits(state) || state.any_child();
  if (waits(state)) row.due_at = next_due(state, state.last_at);
  row.last_seq = state.last_seq;
  row.step = state.step;
  row.prompts = state.prompts;
  row.budgets = started.budgets;
  row.deadline_at = state.deadline_at;
  row.usage = state.usage;
  row.subagents = state.children_used;
  row.paused_us = state.paused_us;
  row.cost_usd = state.cost_usd;
  row.seconds_used = (state.last_at.us - state.created_at.us - state.paused_us) / 1'000'000;
  row.stop_reason = state.stop_reason;
  row.created_at = state.created_at;
  row.finished_at = state.finished_at;
  row.harness_version = started.harness_version;
  row.model = started.model.name;
  row.labels = started.labels;
  row.blobs = state.blobs;
  row.status = state.finished() ? RunStatus::finished
               : state.pause    ? RunStatus::paused
               : state.step > 0 ? RunStatus::running
                                : RunStatus::queued;
  if (state.pause) {
    row.pause_reasons = state.pause->reasons;
    row.paused_since = state.pause->since;
    row.pause_expires_at = state.pause->expires_at;
    for (const OpenCall& call : state.calls)
      if (call.stage == CallStage::unknown || call.awaits_user) row.pause_call_ids.push_back(call.call_id);
  }
  for (const OpenCall& call : state.calls)
    if (call.stage == CallStage::asked) row.pending_approvals.push_back(call.approval->id);
  return row;
}

}  // namespace ratchet
