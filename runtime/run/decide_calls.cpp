#include <algorithm>

#include <fmt/format.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/run/draft.hpp"

namespace ratchet {

namespace {

constexpr std::int64_t call_retry_first_ms = 250;

bool is_repeatable(const Rules& rules, std::string_view name) {
  const ToolManifest* tool = rules.tools.find(name);
  return tool && tool->repeatable;
}

/// What stands before the version's verdict: why the arguments are no arguments, if anything is wrong.
std::string args_error(const ReplyBlock& block, std::size_t index) {
  if (index >= limits::calls_per_reply_max)
    return "there were too many calls in one reply; make fewer at once";
  return block.args_error;
}

/// The tools that need nothing but the run itself are answered on the spot, in the order of the calls.
bool answer_locally(Draft& draft, const OpenCall& call) {
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

/// Whether the reply repeats a call once too often, in the order of the reply, whatever is asked before each
/// verdict.
bool loops(const Rules& rules, const RunState& state, const std::vector<ReplyBlock>& content) {
  LoopRule rule = state.loop;
  for (const ReplyBlock& block : content) {
    if (block.type != ReplyBlockType::call) continue;
    const Hash hash = sha256(block.args);
    const bool repeatable = is_repeatable(rules, block.tool);
    if (LoopRule::judge(rule.repeats(block.tool, hash), repeatable) == LoopRule::Word::stop) return true;
    rule.called(block.tool, hash);
  }
  return false;
}

}  // namespace

void Draft::request_calls(const std::vector<ReplyBlock>& content) {
  const bool looping = loops(rules, state, content);
  std::vector<const ReplyBlock*> batch;
  for (const ReplyBlock& block : content)
    if (block.type == ReplyBlockType::call) batch.push_back(&block);
  std::vector<ToolRequested> judged;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::string error = args_error(*batch[i], i);
    const bool open = needs_facts({batch[i]->tool, batch[i]->args, error, state.scopes});
    if (open && !looping && !state.cancel) continue;
    const OpenCall& call = *state.find_call(batch[i]->call_id);
    judged.push_back(open ? unjudged(call) : requested(call, error, {}));
    if (!batch[i]->args_error.empty()) judged.back().args.text = "null";
    emit(judged.back());
  }
  if (state.cancel) return;  // they are settled when the run ends
  // Nothing of a reply runs after the run has ended in it: not beside a call that repeats itself, not past a
  // budget.
  if (looping) return finish(StopReason::repeated_call, "the model made the same call again and again");
  if (finish_if_overrun()) return;
  for (const ToolRequested& call : judged)
    obey(call);
}

bool Draft::needs_facts(const CallQuestion& question) const {
  if (!rules.decision_point && !rules.tools.has_pre_tool_hooks()) return false;
  const Verdict known = rules.tools.judge(question);
  return known.granted && !is_invalid(known);
}

ToolRequested Draft::requested(const OpenCall& call, std::string_view error, CallFacts facts) const {
  ToolRequested requested;
  requested.call_id = call.call_id;
  requested.tool = call.tool;
  requested.args = call.args;
  if (facts.hooks && facts.hooks->args) requested.args.text = *facts.hooks->args;
  requested.args_hash = sha256(requested.args.text);
  requested.verdict = rules.tools.judge({call.tool, call.args.text, error, state.scopes, std::move(facts)});
  if (const ToolManifest* tool = rules.tools.find(call.tool)) {
    requested.tier = tool->tier;
    requested.side_effects = tool->side_effects;
  }
  requested.repeats = state.loop.repeats(call.tool, requested.args_hash);
  return requested;
}

ToolRequested Draft::unjudged(const OpenCall& call) const {
  ToolRequested asked = requested(call, {}, {});
  asked.verdict.decision = Decision::deny;
  asked.verdict.hooks = "not asked: the run ended";
  return asked;
}

void Draft::judged(const input::Judged& input) {
  const OpenCall* call = state.find_call(input.call_id);
  if (!call || call->stage != CallStage::judging) return;
  const ToolRequested asked = requested(*call, {}, input.facts);
  const auto word = LoopRule::judge(asked.repeats, is_repeatable(rules, asked.tool));
  emit(asked);
  if (word == LoopRule::Word::stop)
    return finish(StopReason::repeated_call, "the model made the same call again and again");
  obey(asked);
}

bool Draft::answer_in_replay(const ToolRequested& call) {
  if (!rules.replay) return false;
  const ToolManifest* tool = rules.tools.find(call.tool);
  RATCHET_ENSURE(tool, "a call that is not denied is of a tool of its version");
  // Nobody is asked about a call that is not executed: the answer that the record got is the answer.
  const bool asks = call.verdict.decision == Decision::ask;
  auto answer = rules.replay->answer(call.call_id, *tool, asks, decision.events);
  if (!answer) return false;
  if (answer->source == ResultSource::record) {
    ToolResult result = std::move(*answer->recorded);
    result.call_id = call.call_id;
    result.latency_ms = 0;
    result.order = state.results_of_batch + 1;
    result.sandbox.clear();
    result.evidence.reset();
    result.source = ResultSource::record;
    emit(std::move(result));
  } else if (answer->source == ResultSource::mock) {
    settle(call.call_id, ToolStatus::ok, text_content(std::move(answer->mock)), {}, ResultSource::mock);
  } else {
    settle_text(call.call_id, ToolStatus::not_replayable, std::move(answer->why));
  }
  return true;
}

void Draft::obey(const ToolRequested& call) {
  if (call.verdict.decision != Decision::deny && answer_in_replay(call)) return;
  switch (call.verdict.decision) {
    case Decision::deny:
      return settle_text(call.call_id,
                         is_invalid(call.verdict) ? ToolStatus::invalid : ToolStatus::denied,
                         refusal_text(call.tool, call.verdict));
    case Decision::ask:
      return ask(call);
    case Decision::allow:
      if (uses_workspace(*state.find_call(call.call_id))) return;  // its turn comes: run_next_in_workspace
      return run(call.call_id);
  }
}

bool Draft::uses_workspace(const OpenCall& call) const {
  const ToolManifest* tool = rules.tools.find(call.tool);
  return tool && tool->uses_workspace();
}

void Draft::run(const std::string& call_id) {
  const OpenCall call = *state.find_call(call_id);
  if (call.tool == "wait") return start_wait(call);
  if (call.tool == "spawn_agent") return plan_child(call);
  if (!answer_locally(*this, call)) plan(call, 1, Execution::call);
}

void Draft::start_wait(const OpenCall& call) {
  const auto until = wait_until(call.args.text, now());
  if (!until) return settle_text(call.call_id, ToolStatus::invalid, until.error().text);
  ToolPlanned planned = plan_of(call, 1, Execution::call);
  planned.until = *until;
  emit(std::move(planned));
}

ToolPlanned Draft::plan_of(const OpenCall& call, std::uint32_t attempt, Execution execution) const {
  ToolPlanned planned;
  planned.call_id = call.call_id;
  planned.args_hash = call.args_hash;
  planned.idempotency_key = idempotency_key(state, call.call_id);
  planned.attempt = attempt;
  planned.execution = execution;
  return planned;
}

void Draft::plan(const OpenCall& call, std::uint32_t attempt, Execution execution, Timestamp not_before) {
  ToolPlanned planned = plan_of(call, attempt, execution);
  if (not_before > now()) planned.not_before = not_before;
  const ToolManifest* tool = rules.tools.find(call.tool);
  planned.awaits_user = tool && tool->auth.as_user && state.token_expired(now());
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
    case CallEnd::Kind::needs_user: {
      if (state.cancel) return;
      ToolPlanned planned = plan_of(call, call.attempt + 1, call.execution);
      planned.awaits_user = planned.previous_unsent = true;
      return emit(std::move(planned));
    }
    case CallEnd::Kind::ended:
      return settle(call.call_id, ended.end.status, text_content(ended.end.text), ended.end);
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

void Draft::settle(
    const std::string& call_id, ToolStatus status, Content content, const CallEnd& end, ResultSource source) {
  ToolResult result;
  result.call_id = call_id;
  result.status = status;
  result.latency_ms = end.latency_ms;
  result.sandbox = end.sandbox;
  result.workspace = end.workspace;
  result.source = source;
  if (!end.evidence.empty()) result.evidence = end.evidence;
  result.order = state.results_of_batch + 1;
  for (const Block& block : content)
    result.bytes += block.artifact ? block.artifact->bytes : block.text.size();
  result.content = stored(std::move(content), shown_of_results(started()));
  for (const Block& block : result.content)
    result.cut_at += block.artifact ? block.artifact->head.size() : block.text.size();
  if (const OpenCall* call = state.find_call(call_id)) {
    const auto note = [&](std::string text) {
      if (!text.empty()) result.content.push_back({BlockType::text, std::move(text), {}, {}});
    };
    if (call->approval && call->approval->edited && status != ToolStatus::cancelled)
      note(fmt::format("{}{}",
                       edited_args_note,
                       std::string_view(call->args.text)
                           .substr(0, utf8_cut(call->args.text, limits::edited_args_shown_bytes))));
    if (call->repeats > 0 && !is_repeatable(rules, call->tool))
      note(state.loop.note(call->tool, call->args_hash));
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
