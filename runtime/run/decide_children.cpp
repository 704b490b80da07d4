// Sub-agents: who may be started, with which share of what its parent has left, and what its end means.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "runtime/replay/start.hpp"
#include "runtime/run/draft.hpp"
#include "runtime/run/start.hpp"
#include "runtime/tools/spawn.hpp"

namespace ratchet {

namespace {

/// What a run can still give away. Below zero after an overrun.
struct Left {
  std::int64_t steps = 0, tokens = 0, seconds = 0;
  Usd usd;
};

Left left_of(const RunState& state, Timestamp now) {
  const Budgets& budgets = state.started->budgets;
  return {budgets.max_steps - state.steps_taken(),
          budgets.max_tokens - state.tokens_taken(),
          (state.deadline_at.us - now.us) / 1'000'000,
          budgets.max_usd - state.usd_taken()};
}

/// What was asked for, or a quarter of what is left: never more than is left, nor than the agent's own bound.
std::int64_t share_of(std::int64_t left, std::optional<std::int64_t> asked, std::int64_t own_max) {
  const std::int64_t quarter = std::max<std::int64_t>(left / limits::child_share_divisor, 1);
  return std::min({asked.value_or(quarter), left, own_max});
}

Budgets budgets_of(const Left& left, const SpawnArgs& asked, const Budgets& own) {
  Budgets budgets;
  budgets.max_steps = share_of(left.steps, asked.max_steps, own.max_steps);
  budgets.max_tokens = share_of(left.tokens, asked.max_tokens, own.max_tokens);
  // Time is not used up by being given away: all of it, unless less is asked for.
  budgets.max_seconds =
      std::min({asked.max_seconds.value_or(own.max_seconds), left.seconds, own.max_seconds});
  std::optional<std::int64_t> asked_nano;
  if (asked.max_usd) asked_nano = asked.max_usd->nano;
  budgets.max_usd = Usd{share_of(left.usd.nano, asked_nano, own.max_usd.nano)};
  return budgets;
}

bool is_free(const Prices& prices) {
  return prices == Prices{};
}

/// Why nothing can be given, worded for the model; empty: it can.
std::string shortage(const Left& left, const Prices& prices) {
  if (left.steps < 1) return "no steps are left";
  if (left.tokens < limits::child_tokens_min) return "too few tokens are left";
  if (left.seconds < 1) return "no time is left";
  if (left.usd.nano <= 0 && !is_free(prices)) return "no money is left";
  return {};
}

std::string end_text(const input::ChildEnded& ended, const std::string& agent_id) {
  if (ended.stop_reason == StopReason::final_answer) return ended.text;
  std::string text =
      fmt::format("The sub-agent {} ended without an answer ({}).", agent_id, name(ended.stop_reason));
  if (!ended.text.empty()) text += ' ' + ended.text;
  return text;
}

}  // namespace

void Draft::plan_child(const OpenCall& call) {
  const auto deny = [&](std::string why) {
    settle_text(call.call_id, ToolStatus::denied, "No sub-agent was started: " + std::move(why));
  };
  const auto asked = parse_spawn(call.args.text);
  if (!asked) return settle_text(call.call_id, ToolStatus::invalid, asked.error().text);
  const SubagentSettings& settings = rules.tools.agent().definition.subagents;
  const auto& allowed = settings.allow;
  if (std::find(allowed.begin(), allowed.end(), asked->agent_id) == allowed.end())
    return deny(fmt::format("'{}' is not among the agents that may be started here: {}.",
                            asked->agent_id,
                            fmt::join(allowed, ", ")));
  if (started().subagent_levels == 0)
    return deny("this run is as deep below its root as sub-agents may be. Do the work yourself.");
  if (state.children >= settings.max_children)
    return deny(fmt::format("this run has started all of the {} that it may. Do the rest yourself.",
                            settings.max_children));
  plan(call, 1, Execution::call);
}

void Draft::child_ready(const input::ChildReady& ready) {
  const OpenCall* found = state.find_call(ready.call_id);
  if (!found || !found->under_way() || found->attempt != ready.attempt || state.cancel) return;
  const OpenCall call = *found;
  const auto refuse = [&](std::string why) {
    settle_text(call.call_id, ToolStatus::error, "No sub-agent was started: " + std::move(why));
  };
  if (!ready.started) return refuse(ready.started.error().text + '.');
  const auto asked = parse_spawn(call.args.text);
  RATCHET_ENSURE(asked, "arguments that were planned with can be read");
  RunStarted child = *ready.started;
  // Several of one reply are planned before the first of them counts.
  const std::uint32_t max_children = rules.tools.agent().definition.subagents.max_children;
  if (state.children >= max_children)
    return refuse(fmt::format("this run has started all of the {} that it may.", max_children));
  const Left left = left_of(state, now());
  if (const auto why = shortage(left, child.model.prices); !why.empty()) return refuse(why + '.');

  child.budgets = budgets_of(left, *asked, child.budgets);
  if (child.budgets.max_steps < 1 || child.budgets.max_tokens < 1 || child.budgets.max_seconds < 1)
    return refuse(fmt::format("the agent {} may use nothing at all.", child.agent_id));
  child.deadline_at = std::min(now().plus_ms(child.budgets.max_seconds * 1'000), state.deadline_at);
  child.input = text_content(asked->input);
  child.user_id = started().user_id;
  child.scopes = state.scopes;
  child.token_expires_at = state.token_expires_at;
  child.team = started().team;
  child.parent_run_id = state.run_id;
  child.root_run_id = started().root_run_id;
  child.depth = started().depth + 1;
  child.subagent_levels = std::min(child.subagent_levels, started().subagent_levels - 1);
  if (started().replay) {  // what it may not do, nobody below it may
    child.replay = inherited(*started().replay);
    child.replay_of = child.replay->run_id;
  }
  child.interactive = false;  // its answer is its parent's to take
  child.seed = draw_seed(stamp.entropy);
  const RunId child_id = RunId::make(stamp);
  emit(SubagentStarted{call.call_id,
                       child_id,
                       child.agent_id,
                       child.agent_version,
                       {child.budgets.max_steps, child.budgets.max_tokens, child.budgets.max_usd},
                       child.deadline_at});
  decision.children.push_back({child_id, std::move(child)});
}

void Draft::child_ended(const input::ChildEnded& ended) {
  const OpenCall* found = state.find_child(ended.child_run_id);
  if (!found) return;
  const OpenCall call = *found;
  const auto asked = parse_spawn(call.args.text);
  SubagentFinished finished;
  finished.call_id = call.call_id;
  finished.child_run_id = ended.child_run_id;
  finished.stop_reason = ended.stop_reason;
  finished.used = ended.used;
  finished.waited_us = ended.waited_us;
  finished.result = stored(text_content(end_text(ended, asked ? asked->agent_id : "that was started")),
                           shown_of_results(started()));
  const Content result = finished.result;
  emit(std::move(finished));
  const bool answered = ended.stop_reason == StopReason::final_answer;
  const ToolStatus status = answered       ? ToolStatus::ok
                            : state.cancel ? ToolStatus::cancelled
                                           : ToolStatus::error;
  CallEnd end;
  end.latency_ms = ms_between(call.starts_at, now());
  settle(call.call_id, status, result, end);
  if (!state.cancel) finish_if_overrun();
}

void Draft::end_children_first(StopReason reason, std::string error) {
  if (state.cancel) return;  // it is on its way
  emit(RunCancelRequested{{}, std::move(error), reason});
}

}  // namespace ratchet
