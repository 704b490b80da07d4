#include <algorithm>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "runtime/run/draft.hpp"

namespace ratchet {

namespace {

constexpr std::int64_t call_retry_first_ms = 250;

bool over_budget(const RunState& state) {
  const Budgets& budgets = state.started->budgets;
  return state.usage.total() > budgets.max_tokens || state.cost_usd > budgets.max_usd;
}

bool is_repeatable(const Rules& rules, std::string_view name) {
  const ToolManifest* tool = rules.tools.find(name);
  return tool && tool->repeatable;
}

ToolRequested requested_of(const Rules& rules,
                           const RunState& state,
                           const ReplyBlock& block,
                           std::size_t index) {
  ToolRequested requested;
  requested.call_id = block.call_id;
  requested.tool = block.tool;
  requested.args.text = block.args_error.empty() ? block.args : "null";
  requested.args_hash = sha256(block.args);
  std::string args_error = block.args_error;
  if (index >= limits::calls_per_reply_max)
    args_error = "there were too many calls in one reply; make fewer at once";
  requested.verdict = rules.tools.judge(block.tool, block.args, args_error);
  if (const ToolManifest* tool = rules.tools.find(block.tool)) {
    requested.tier = tool->tier;
    requested.side_effects = tool->side_effects;
  }
  requested.repeats = state.loop.repeats(block.tool, requested.args_hash);
  return requested;
}

/// The tools that need nothing but the run itself are answered on the spot, in the order of the calls.
bool answer_locally(Draft& draft, const ToolRequested& call) {
  RunMemory memory = draft.state.memory;
  ToolAnswer answer;
  if (call.tool == "notes_write") {
    answer = apply_notes_write(memory, call.args.text);
  } else if (call.tool == "notes_read") {
    answer = notes_read(memory, call.args.text);
  } else if (call.tool == "todo_write") {
    answer = apply_todo_write(memory, call.args.text);
  } else {
    return false;
  }
  draft.settle_text(call.call_id, answer.status, std::move(answer.text));
  return true;
}

void start_wait(Draft& draft, const ToolRequested& requested) {
  const auto until = wait_until(requested.args.text, draft.now());
  if (!until) return draft.settle_text(requested.call_id, ToolStatus::invalid, until.error().text);
  ToolPlanned planned;
  planned.call_id = requested.call_id;
  planned.args_hash = requested.args_hash;
  planned.idempotency_key = idempotency_key(draft.state, requested.call_id);
  planned.until = *until;
  draft.emit(std::move(planned));
}

}  // namespace

void Draft::request_calls(const std::vector<ReplyBlock>& content) {
  std::vector<ToolRequested> batch;
  bool loops = false;
  for (const ReplyBlock& block : content) {
    if (block.type != ReplyBlockType::call) continue;
    batch.push_back(requested_of(rules, state, block, batch.size()));
    const bool repeatable = is_repeatable(rules, block.tool);
    loops = loops || LoopRule::judge(batch.back().repeats, repeatable) == LoopRule::Word::stop;
    emit(batch.back());
  }
  if (state.cancel) return;  // they are settled when the run ends
  // Nothing of a reply runs after the run has ended in it: not beside a call that repeats itself, not past a
  // budget.
  if (loops) return finish(StopReason::repeated_call, "the model made the same call again and again");
  if (over_budget(state)) {
    const bool tokens = state.usage.total() > started().budgets.max_tokens;
    return finish(tokens ? StopReason::token_limit : StopReason::cost_limit,
                  "the provider used more than was reserved");
  }
  for (const ToolRequested& call : batch) {
    const Verdict& verdict = call.verdict;
    if (verdict.decision != Decision::allow) {
      const bool invalid = verdict.granted && verdict.schema != "ok";
      settle_text(
          call.call_id, invalid ? ToolStatus::invalid : ToolStatus::denied, refusal_text(call.tool, verdict));
    } else if (call.tool == "wait") {
      start_wait(*this, call);
    } else if (!answer_locally(*this, call)) {
      plan(*state.find_call(call.call_id), 1, Execution::call);
    }
  }
}

void Draft::plan(const OpenCall& call, std::uint32_t attempt, Execution execution, Timestamp not_before) {
  ToolPlanned planned;
  planned.call_id = call.call_id;
  planned.args_hash = call.args_hash;
  planned.idempotency_key = idempotency_key(state, call.call_id);
  planned.attempt = attempt;
  planned.execution = execution;
  if (not_before > now()) planned.not_before = not_before;
  emit(std::move(planned));
}

void Draft::call_ended(const input::CallEnded& ended) {
  const OpenCall call = *state.find_call(ended.call_id);
  // That this attempt failed says nothing about an earlier one that got no answer. Told as an error, it would
  // invite the model to act again, under another key.
  const bool failed = ended.end.kind == CallEnd::Kind::ended && ended.end.status != ToolStatus::ok;
  if (failed && call.in_doubt && call.side_effects != SideEffects::none)
    return call_lost(call, Loss::no_answer, ended.end.text);
  switch (ended.end.kind) {
    case CallEnd::Kind::ended:
      return settle(call.call_id, ended.end.status, text_content(ended.end.text), ended.end.latency_ms);
    case CallEnd::Kind::did_not_happen:
      if (state.cancel)
        return settle_text(call.call_id, ToolStatus::cancelled, "The run ended before this call.");
      return plan(call, call.attempt + 1, Execution::call);
    case CallEnd::Kind::unknown:
      return call_lost(call, Loss::no_answer, ended.end.text);
  }
}

void Draft::call_lost(const OpenCall& call, Loss loss, std::string why) {
  if (state.cancel) return;  // nothing is tried again: it is settled when the run ends
  const ToolManifest* tool = rules.tools.find(call.tool);
  RATCHET_ENSURE(tool, "a planned call has a manifest in its version");
  const bool live = loss == Loss::no_answer;
  const std::int64_t delay_ms = live ? call_retry_first_ms << std::min(call.attempt - 1, 6u) : 0;
  const Timestamp soon = now().plus_ms(delay_ms);
  if (call.side_effects == SideEffects::none) return plan(call, call.attempt + 1, Execution::call, soon);
  const bool may_try = !live || call.attempt < limits::call_attempts_max;
  if (may_try && tool->idempotency == Idempotency::key) {
    // What is sent now may arrive as late as its timeout allows, and must still find its key remembered.
    const Timestamp arrives_by = soon.plus_ms(tool->timeout_ms);
    if (arrives_by < call.first_planned_at.plus_ms(tool->idempotency_ttl_seconds * 1'000))
      return plan(call, call.attempt + 1, Execution::call, soon);
  }
  if (may_try && tool->idempotency == Idempotency::status_check) {
    // Asked too early, the other side truthfully knows nothing of a request that is still on its way.
    const bool was_check = call.execution == Execution::status_check;
    const Timestamp quiet_at = was_check ? call.starts_at : call.starts_at.plus_ms(tool->timeout_ms);
    return plan(call, call.attempt + 1, Execution::status_check, std::max(soon, quiet_at));
  }
  emit(CallUnknown{call.call_id, std::move(why)});
}

void Draft::settle(const std::string& call_id, ToolStatus status, Content content, std::int64_t latency_ms) {
  ToolResult result;
  result.call_id = call_id;
  result.status = status;
  result.latency_ms = latency_ms;
  result.order = state.results_of_batch + 1;
  for (const Block& block : content)
    result.bytes += block.artifact ? block.artifact->bytes : block.text.size();
  result.content =
      stored(std::move(content), std::size_t{started().result_cap_tokens} * limits::bytes_per_token_shown);
  for (const Block& block : result.content)
    result.cut_at += block.artifact ? block.artifact->head.size() : block.text.size();
  const OpenCall* call = state.find_call(call_id);
  if (call && call->repeats > 0 && !is_repeatable(rules, call->tool)) {
    std::string note = state.loop.note(call->tool, call->args_hash);
    result.content.push_back({BlockType::text, std::move(note), {}, {}});
  }
  emit(std::move(result));
}

void Draft::settle_text(const std::string& call_id, ToolStatus status, std::string text) {
  settle(call_id, status, text_content(std::move(text)));
}

void Draft::end_waits() {
  const std::vector<OpenCall> calls = state.calls;
  for (const OpenCall& call : calls) {
    if (call.stage == CallStage::planned && call.until && *call.until <= now())
      settle_text(call.call_id, ToolStatus::ok, wait_answer(*call.until).text);
  }
}

}  // namespace ratchet
