#include <algorithm>

#include <fmt/format.h>

#include "runtime/context/window.hpp"
#include "runtime/limits.hpp"
#include "runtime/run/draft.hpp"
#include "runtime/run/outstanding.hpp"

namespace ratchet {

namespace {

/// What is left for one attempt, and why it is not more.
struct Room {
  std::int64_t max_tokens = 0;
  StopReason narrowest = StopReason::token_limit;
};

Usd worst_input_price(const Prices& prices) {
  return std::max(prices.input, prices.cache_write);
}

/// The longest reply that every bound still covers, if the input is as long as `input_tokens`.
Room room_for_reply(const RunState& state, std::int64_t input_tokens, std::int64_t wanted_tokens) {
  const RunStarted& started = *state.started;
  Room room{wanted_tokens, StopReason::token_limit};
  const std::int64_t tokens_left = started.budgets.max_tokens - state.tokens_taken() - input_tokens;
  if (tokens_left < room.max_tokens) room = {tokens_left, StopReason::token_limit};
  const Usd usd_left = started.budgets.max_usd - state.usd_taken() -
                       price(input_tokens, worst_input_price(started.model.prices));
  const std::int64_t output_nano = started.model.prices.output.nano;
  if (usd_left.nano < 0) {
    room = {-1, StopReason::cost_limit};
  } else if (output_nano > 0) {
    __extension__ using Wide = __int128;
    const Wide affordable = static_cast<Wide>(usd_left.nano) * 1'000'000 / output_nano;
    if (affordable < room.max_tokens) room = {static_cast<std::int64_t>(affordable), StopReason::cost_limit};
  }
  return room;
}

/// What the model is told beside the history, in this one request: nothing of it is ever stored there.
std::string late_text(const RunState& state, std::int64_t steps_left, Timestamp now) {
  std::string text = fmt::format("[Now: {}Z", to_string(now).substr(0, 16));
  if (steps_left <= 2) text += fmt::format("; replies left after this one: {}", steps_left);
  // What has been warned of is nearly spent, and the model can still choose what to spend the rest on.
  const Budgets& budgets = state.started->budgets;
  const auto warned = [&](BudgetKind which) { return state.warned & (1u << static_cast<unsigned>(which)); };
  if (warned(BudgetKind::tokens))
    text += fmt::format("; tokens left: {}", budgets.max_tokens - state.tokens_taken());
  if (warned(BudgetKind::usd))
    text += fmt::format("; dollars left: {}", to_string(budgets.max_usd - state.usd_taken()));
  if (warned(BudgetKind::seconds))
    text += fmt::format("; seconds left: {}",
                        std::max<std::int64_t>(ms_between(now, state.deadline_at) / 1'000, 0));
  text += ']';
  for (const TodoItem& todo : state.memory.todos)
    text += fmt::format("\n- [{}] {}", name(todo.status), todo.text);
  return text;
}

Report report_of(const RunState& state, StopReason reason, std::string_view error) {
  Report report;
  report.steps = state.step;
  report.calls = state.settled;
  const auto ok = std::count_if(state.settled.begin(), state.settled.end(), [](const ReportedCall& call) {
    return call.status == ToolStatus::ok;
  });
  for (const TodoItem& todo : state.memory.todos)
    if (todo.status != TodoStatus::done) report.open.push_back(todo.text);
  report.text = fmt::format(
      "Stopped ({}) after {} steps and {} tool calls", name(reason), state.step, state.settled_count);
  if (state.settled_count == state.settled.size()) {
    report.text += fmt::format(", {} of them ok.", ok);
  } else {
    report.text += fmt::format("; of the last {}, {} were ok.", state.settled.size(), ok);
  }
  if (!error.empty()) report.text += fmt::format(" {}.", error);
  if (!report.open.empty()) report.text += fmt::format(" {} todos are open.", report.open.size());
  return report;
}

}  // namespace

void Draft::warn() {
  const Budgets& budgets = started().budgets;
  const auto check = [&](BudgetKind which, std::int64_t used, std::int64_t limit) {
    const bool warned = state.warned & (1u << static_cast<unsigned>(which));
    if (!warned && limit > 0 && used >= limit - limit / 5) emit(BudgetWarning{which, used, limit});
  };
  check(BudgetKind::steps, state.steps_taken(), budgets.max_steps);
  check(BudgetKind::tokens, state.tokens_taken(), budgets.max_tokens);
  check(BudgetKind::usd, state.usd_taken().nano, budgets.max_usd.nano);
  const std::int64_t seconds = (now().us - state.created_at.us - state.paused_us) / 1'000'000;
  if (started().rules_version < 2) return check(BudgetKind::seconds, seconds, budgets.max_seconds);
  if (const auto at = seconds_warning_at(state); at && now() >= *at)
    emit(BudgetWarning{BudgetKind::seconds, seconds, budgets.max_seconds});
}

void Draft::go_on() {
  if (state.finished() || state.pause || state.cancel) return;
  if (state.phase == Phase::batch) {
    if (!state.any_call(CallStage::asked)) run_approved();
    if (state.phase == Phase::batch) run_next_in_workspace();
    if (state.phase == Phase::batch) return pause_for_people();
  }
  // An operator has resumed a run that had been waiting for a message: it waits on.
  if (state.phase == Phase::answered && state.messages_pending == 0) return pause({PauseReason::message});
  const bool too_early = state.phase == Phase::retrying && now() < state.model.retry_at;
  if (state.phase != Phase::calling && !too_early) request_model();
}

void Draft::request_model() {
  // The context speaks another provider's form: it is folded anew before the next attempt.
  if (context.provider() != state.model.provider || rules.hold) return;
  const bool new_step = state.step == 0 || state.step_replied;
  Asking asking;
  asking.step = new_step ? state.step + 1 : state.step;
  const RunStarted& run = started();
  const std::int64_t steps_left = run.budgets.max_steps - state.steps_taken() - (new_step ? 1 : 0);
  if (steps_left < 0) return finish(StopReason::step_limit);
  if (now() >= state.deadline_at) return finish(StopReason::time_limit);
  if (run.pre_model_hooks && !is_cleared()) return;
  warn();

  ModelRequested& requested = asking.requested;
  requested.attempt = new_step ? 1 : state.model.number + 1;
  requested.late_text = late_text(state, steps_left, now());
  if (briefing) requested.hook_text = briefing->context;
  const ContextAfter after(context, decision.events);
  const Growth growth = after.grow(requested.late_message());
  if (compacts_first(after, growth)) return;
  asking.estimated = calibrated(growth.estimated_tokens);
  asking.wanted = wanted_reply_tokens(run.model, run.settings);
  asking.floor = std::min(asking.wanted, limits::useful_reply_tokens_min);
  if (run.model.context_window_tokens - asking.estimated < asking.floor)
    return finish(StopReason::context_overflow, "the context has outgrown the model's window");
  if (const auto limit = announce(std::move(asking), after.context(), growth)) finish(*limit);
}

std::optional<StopReason> Draft::announce(Asking asking, const Context& context, const Growth& growth) {
  const RunStarted& run = started();
  ModelRequested& requested = asking.requested;
  requested.provider = state.model.provider;
  requested.assembler_version = run.assembler_version;
  // The estimate may be short: what is reserved for the input has a margin of 15 %.
  const std::int64_t input_reserved = asking.estimated + asking.estimated * 15 / 100;
  const std::int64_t window_left = run.model.context_window_tokens - asking.estimated;
  const Room room = room_for_reply(state, input_reserved, std::min(asking.wanted, window_left));
  if (room.max_tokens < asking.floor) return room.narrowest;

  requested.max_tokens = room.max_tokens;
  requested.estimated_tokens = asking.estimated;
  requested.prefix_tokens = std::min(calibrated(context.prefix_tokens()), asking.estimated);
  requested.reserved.tokens = input_reserved + room.max_tokens;
  requested.reserved.usd = price(input_reserved, worst_input_price(run.model.prices)) +
                           price(room.max_tokens, run.model.prices.output);
  // Rounding up twice may pass the limit by a nano-dollar: never reserve more than there is.
  requested.reserved.usd = std::min(requested.reserved.usd, run.budgets.max_usd - state.usd_taken());
  const Proof proof =
      context.prove(growth, requested.max_tokens, requested.late_message(), requested.up_to_seq);
  requested.prompt_hash = proof.prompt_hash;
  requested.request_hash = proof.request_hash;
  emit(std::move(requested), asking.step);
  return std::nullopt;
}

bool Draft::is_cleared() {
  if (!briefing) return false;
  switch (briefing->outcome) {
    case ModelFacts::Outcome::clear:
      return true;
    case ModelFacts::Outcome::denied:
      finish(StopReason::refused, "the model call was refused by " + briefing->word);
      return false;
    case ModelFacts::Outcome::unanswered:
      // A hook that is away is no reason to throw away what the run has done: a person looks, and resumes it.
      emit(RunPaused{{PauseReason::operator_},
                     now().plus_ms(limits::pause_expires_ms),
                     {},
                     "the model is not called without " + briefing->word,
                     {}});
      return false;
  }
  return false;
}

void Draft::run_approved() {
  const std::vector<OpenCall> calls = state.calls;
  for (const OpenCall& call : calls)
    if (call.stage == CallStage::approved && !uses_workspace(call)) run(call.call_id);
}

void Draft::run_next_in_workspace() {
  const bool questions_open = state.any_call(CallStage::asked);
  for (const OpenCall& call : state.calls) {
    if (!uses_workspace(call)) continue;
    const bool before_it = call.stage == CallStage::judging || call.stage == CallStage::unknown ||
                           (call.stage == CallStage::planned && !call.awaits_user);
    if (before_it) return;
    const bool may_run = (call.stage == CallStage::requested && call.allowed) ||
                         (call.stage == CallStage::approved && !questions_open);
    if (may_run) return run(std::string(call.call_id));
  }
}

/// The run sleeps once nothing of its batch can move without a person.
void Draft::pause_for_people() {
  const bool moving = std::any_of(state.calls.begin(), state.calls.end(), [](const OpenCall& call) {
    return call.stage == CallStage::judging || (call.stage == CallStage::planned && !call.awaits_user);
  });
  if (moving) return;
  std::vector<PauseReason> reasons;
  Timestamp last_approval;
  for (const OpenCall& call : state.calls)
    if (call.stage == CallStage::asked) last_approval = std::max(last_approval, call.approval->expires_at);
  const bool asked = state.any_call(CallStage::asked);
  if (asked) reasons.push_back(PauseReason::approval);
  if (state.any_call(CallStage::unknown)) reasons.push_back(PauseReason::unknown_outcome);
  const bool reauth = std::any_of(
      state.calls.begin(), state.calls.end(), [](const OpenCall& call) { return call.awaits_user; });
  if (reauth) reasons.push_back(PauseReason::reauth);
  if (reasons.empty()) return;
  // An approval that expires is a rejection, after which the run goes on: such a pause outlasts the last one.
  pause(std::move(reasons), asked && reasons.size() == 1 ? std::optional(last_approval) : std::nullopt);
}

void Draft::pause(std::vector<PauseReason> reasons, std::optional<Timestamp> expires_at) {
  RunPaused paused;
  paused.reasons = std::move(reasons);
  paused.expires_at = expires_at.value_or(now().plus_ms(limits::pause_expires_ms));
  for (const OpenCall& call : state.calls) {
    if (call.stage == CallStage::unknown || call.awaits_user) paused.call_ids.push_back(call.call_id);
    if (call.stage == CallStage::asked) paused.approval_ids.push_back(call.approval->id);
  }
  emit(std::move(paused));
}

bool Draft::is_paused_for(PauseReason reason) const {
  if (!state.pause) return false;
  const auto& reasons = state.pause->reasons;
  return std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
}

void Draft::resume(PauseReason reason) {
  const std::int64_t waited_us = now().us - state.pause->since.us;
  emit(RunResumed{reason, Timestamp{state.deadline_at.us + std::max<std::int64_t>(waited_us, 0)}});
}

bool Draft::finish_if_overrun() {
  const bool tokens = state.tokens_taken() > started().budgets.max_tokens;
  if (!tokens && state.usd_taken() <= started().budgets.max_usd) return false;
  finish(tokens ? StopReason::token_limit : StopReason::cost_limit,
         "the provider used more than was reserved");
  return true;
}

/// Settles one call at the end of the run.
void Draft::abandon(const OpenCall& call) {
  if (call.stage == CallStage::judging) emit(unjudged(call));
  const bool unsent = call.awaits_user && !call.in_doubt;
  const bool executed =
      call.stage == CallStage::unknown || (call.stage == CallStage::planned && !call.until && !unsent);
  const bool may_have_acted = executed && call.side_effects != SideEffects::none;
  if (may_have_acted && call.stage == CallStage::planned)
    emit(CallUnknown{call.call_id, "the run ended while the call was under way"});
  settle_text(call.call_id,
              ToolStatus::cancelled,
              may_have_acted ? "The run ended. Whether this call had its effect is not known."
              : executed     ? "The run ended."
                             : "The run ended before this call was executed.");
}

void Draft::finish(StopReason reason, std::string error) {
  if (state.any_child()) return end_children_first(reason, std::move(error));
  if (state.phase == Phase::calling) abandon_model("the run ended");
  withdraw_approvals();
  const std::vector<OpenCall> calls = state.calls;
  for (const OpenCall& call : calls)
    if (call.stage != CallStage::settled) abandon(call);
  RunFinished finished;
  finished.stop_reason = reason;
  const bool answered = reason == StopReason::final_answer || reason == StopReason::model_length ||
                        reason == StopReason::refused;
  // An answer that waited for a message, or that a message had asked to go on from, is not lost with the run.
  const bool had_answered = started().rules_version >= 2
                                ? !state.final_text.empty()
                                : reason == StopReason::pause_expired && state.phase == Phase::answered;
  if (answered || had_answered) finished.result = state.final_text;
  if (reason != StopReason::final_answer) finished.report = report_of(state, reason, error);
  finished.error = std::move(error);
  finished.steps = state.step;
  finished.usage = state.usage;
  finished.cost_usd = state.cost_usd;
  finished.subagents = state.children_used;
  emit(std::move(finished));
}

}  // namespace ratchet
