#include "runtime/audit/call_ledger.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ratchet {

namespace {

/// The built-in tools that change or read nothing but the run's own memory: answered without an execution.
bool is_local(std::string_view tool) {
  return tool == "notes_write" || tool == "notes_read" || tool == "todo_write";
}

bool is_cut_off(ModelStop stop) {
  return stop == ModelStop::max_tokens || stop == ModelStop::refusal || stop == ModelStop::context_overflow;
}

}  // namespace

void CallLedger::replied(const ModelCompleted& completed) {
  calls_.clear();
  results_ = 0;
  for (const ReplyBlock& block : completed.content) {
    if (block.type != ReplyBlockType::call) continue;
    findings_.require(!is_cut_off(completed.stop_reason), 2, "a reply that was cut off contributes a call");
    findings_.require(!block.call_id.empty(), 2, "a call has no id");
    findings_.require(ids_.insert(block.call_id).second,
                      2,
                      fmt::format("call {} is not the first of its id", block.call_id));
    Call call;
    call.call_id = block.call_id;
    call.tool = block.tool;
    call.args = block.args;
    call.readable = block.args_error.empty();
    call.args_hash = sha256(block.args);
    calls_.push_back(std::move(call));
  }
}

CallLedger::Call* CallLedger::find(std::string_view call_id, std::string_view event) {
  const auto at =
      std::find_if(calls_.begin(), calls_.end(), [&](const Call& call) { return call.call_id == call_id; });
  if (at != calls_.end()) return &*at;
  findings_.complain(2, fmt::format("{} of {}, which the last reply did not call", event, call_id));
  return nullptr;
}

void CallLedger::requested(const ToolRequested& requested) {
  Call* call = find(requested.call_id, "tool.requested");
  if (!call) return;
  findings_.require(call->stage == Stage::replied, 2, "a call is asked for twice");
  const bool rewritten = requested.verdict.hooks.starts_with("rewritten");
  findings_.require(requested.tool == call->tool && (rewritten || requested.args_hash == call->args_hash),
                    3,
                    fmt::format("{} asks for something else than the reply", requested.call_id));
  findings_.require(!call->readable || rewritten || requested.args.text == call->args,
                    3,
                    fmt::format("{} has other arguments than the reply", requested.call_id));
  findings_.require(!rewritten || sha256(requested.args.text) == requested.args_hash,
                    3,
                    fmt::format("{} is rewritten under another hash", requested.call_id));
  call->args_hash = requested.args_hash;
  const Verdict& verdict = requested.verdict;
  call->verdict = verdict.decision;
  call->allowed = verdict.decision == Decision::allow;
  call->side_effects = requested.side_effects;
  call->writes = requested.side_effects != SideEffects::none;
  call->stage = Stage::requested;
  const bool sound = verdict.granted && verdict.schema == "ok" && call->readable;
  findings_.require(
      verdict.decision == Decision::deny || sound, 3, "a call is allowed against a station's word");
}

void CallLedger::asked(const ApprovalRequired& required) {
  Call* call = find(required.call_id, "approval.required");
  if (!call) return;
  findings_.require(call->stage == Stage::requested && call->verdict == Decision::ask,
                    3,
                    fmt::format("a person is asked about {}, whose verdict does not ask", required.call_id));
  findings_.require(required.args_hash == call->args_hash && sha256(required.args.text) == call->args_hash,
                    3,
                    fmt::format("a person is shown other arguments of {}", required.call_id));
  call->approval = required.approval_id;
  call->stage = Stage::asked;
}

void CallLedger::reminded(const ApprovalReminded& reminded) {
  const Call* call = find(reminded.call_id, "approval.reminded");
  if (!call) return;
  findings_.require(call->stage == Stage::asked && call->approval == reminded.approval_id,
                    3,
                    fmt::format("a reminder of {}, which nobody is asked about", reminded.call_id));
}

void CallLedger::decided(const ApprovalDecided& decided) {
  Call* call = find(decided.call_id, "approval.decided");
  if (!call) return;
  const std::string& id = decided.call_id;
  findings_.require(call->stage == Stage::asked && call->approval == decided.approval_id,
                    3,
                    fmt::format("a decision on {}, which nobody is asked about", id));
  call->stage = Stage::decided;
  call->decided_by = decided.reason;
  if (decided.decision == ApprovalDecision::reject) return;
  findings_.require(decided.reason == DecidedBy::person && decided.verdict.decision != Decision::deny,
                    3,
                    fmt::format("{} is approved by nobody, or against a denial", id));
  const Hash effective = decided.edited_args ? sha256(decided.edited_args->text) : call->args_hash;
  findings_.require(effective == decided.effective_args_hash,
                    3,
                    fmt::format("the decision on {} is bound to other arguments", id));
  call->args_hash = effective;
  call->allowed = true;
}

void CallLedger::token_came() {
  for (Call& call : calls_)
    call.awaits_user = false;
}

void CallLedger::planned(const ToolPlanned& planned, std::uint32_t step, bool paused) {
  Call* call = find(planned.call_id, "tool.planned");
  if (!call) return;
  const std::string& id = planned.call_id;
  // Whether a server is there for replays only is not in the journal: there, `internal` may be planned.
  const bool executes = !replay_ || call->side_effects == SideEffects::none ||
                        (call->side_effects == SideEffects::internal && replay_->tools == ReplayTools::live);
  findings_.require(executes, 8, fmt::format("{} has side effects and is planned in a replay", id));
  findings_.require(call->allowed, 3, fmt::format("{} is planned without an allow", id));
  findings_.require(!is_local(call->tool), 3, fmt::format("{} needs no execution", id));
  findings_.require(
      planned.args_hash == call->args_hash, 3, fmt::format("{} is planned with other arguments", id));
  findings_.require(planned.idempotency_key == fmt::format("{}/{}/{}", to_string(findings_.run()), step, id),
                    4,
                    fmt::format("{} is planned under the key {}", id, planned.idempotency_key));
  findings_.require(planned.attempt == call->attempts + 1,
                    4,
                    fmt::format("attempt {} of {} follows attempt {}", planned.attempt, id, call->attempts));
  findings_.require(planned.execution == Execution::call || planned.attempt > 1,
                    4,
                    fmt::format("{} is asked for before it was tried", id));
  findings_.require(!planned.until || call->tool == "wait", 3, fmt::format("{} waits, but is no wait", id));
  const bool may = call->stage == Stage::requested || call->stage == Stage::decided ||
                   call->stage == Stage::planned || (call->stage == Stage::doubted && call->did_not_happen);
  findings_.require(may, 2, fmt::format("{} is planned although it is settled or in doubt", id));
  findings_.require(!paused || call->did_not_happen, 3, fmt::format("{} is planned in a pause", id));
  call->attempts = planned.attempt;
  call->did_not_happen = false;
  call->awaits_user = planned.awaits_user;
  call->stage = Stage::planned;
}

void CallLedger::doubted(const CallUnknown& unknown) {
  Call* call = find(unknown.call_id, "call.unknown");
  if (!call) return;
  findings_.require(call->stage == Stage::planned,
                    3,
                    fmt::format("{} is called unknown, but was not under way", unknown.call_id));
  findings_.require(
      call->writes, 3, fmt::format("{} changes nothing: it can be tried again", unknown.call_id));
  call->stage = Stage::doubted;
}

void CallLedger::resolved(const CallResolved& resolved) {
  Call* call = find(resolved.call_id, "call.resolved");
  if (!call) return;
  findings_.require(
      call->stage == Stage::doubted, 3, fmt::format("{} is resolved, but not in doubt", resolved.call_id));
  call->happened = resolved.outcome == CallOutcome::happened;
  call->did_not_happen = !call->happened;
}

void CallLedger::spawned(const SubagentStarted& started) {
  Call* call = find(started.call_id, "subagent.started");
  if (!call) return;
  findings_.require(call->stage == Stage::planned && call->tool == "spawn_agent" && !call->child,
                    7,
                    fmt::format("{} starts a sub-agent, unplanned or a second time", started.call_id));
  call->child = started.child_run_id;
}

void CallLedger::returned(const SubagentFinished& finished) {
  Call* call = find(finished.call_id, "subagent.finished");
  if (!call) return;
  findings_.require(call->child == finished.child_run_id,
                    7,
                    fmt::format("a sub-agent of {} ends that it did not start", finished.call_id));
  call->child.reset();
}

void CallLedger::ended(const ToolResult& result) {
  Call* call = find(result.call_id, "tool.result");
  if (!call) return;
  findings_.require(call->stage != Stage::settled, 2, fmt::format("{} gets a second result", result.call_id));
  findings_.require(call->stage != Stage::replied, 2, fmt::format("{} was never asked for", result.call_id));
  findings_.require(
      call->stage != Stage::asked, 3, fmt::format("{} ends while a person is asked", result.call_id));
  findings_.require(!call->child, 7, fmt::format("{} ends before its sub-agent", result.call_id));
  ++results_;
  findings_.require(result.order == results_,
                    2,
                    fmt::format("result {} of the batch has order {}", results_, result.order));
  judge_replay(*call, result);
  call->abandoned = result.status == ToolStatus::cancelled && result.source == ResultSource::execution;
  const bool answered = replayed_ || result.source != ResultSource::execution ||
                        (replay_ && result.status == ToolStatus::not_replayable);
  if (!call->abandoned && !answered) {
    if (call->allowed) {
      judge_executed(*call, result);
    } else {
      judge_refused(*call, result);
    }
  }
  call->stage = Stage::settled;
  call->awaits_user = false;
}

/// Nothing of a replay was executed that must not be, and nothing of another run was not.
void CallLedger::judge_replay(const Call& call, const ToolResult& result) {
  const bool of_tool = result.status == ToolStatus::ok || result.status == ToolStatus::error ||
                       result.status == ToolStatus::timeout || result.status == ToolStatus::killed;
  const bool executed = of_tool && result.source == ResultSource::execution && !replayed_;
  findings_.require(!replay_ || !executed || call.side_effects != SideEffects::external,
                    8,
                    fmt::format("{} has external side effects and was executed in a replay", call.call_id));
  findings_.require(
      replay_ || (result.source == ResultSource::execution && result.status != ToolStatus::not_replayable),
      8,
      fmt::format("{} was answered as in a replay", call.call_id));
  findings_.require(result.source == ResultSource::execution || call.verdict != Decision::deny,
                    3,
                    fmt::format("{} was denied and is answered from the record", call.call_id));
}

void CallLedger::judge_refused(const Call& call, const ToolResult& result) {
  const ToolStatus rejected =
      call.decided_by == DecidedBy::expired ? ToolStatus::expired : ToolStatus::rejected;
  const bool refused = call.stage == Stage::decided
                           ? result.status == rejected
                           : result.status == ToolStatus::invalid || result.status == ToolStatus::denied;
  findings_.require(
      refused, 3, fmt::format("{} was not allowed and ends with {}", call.call_id, name(result.status)));
}

void CallLedger::judge_executed(const Call& call, const ToolResult& result) {
  if (call.stage == Stage::doubted) {
    findings_.require(
        call.happened, 3, fmt::format("{} is in doubt and ends without anybody's word", call.call_id));
    return;
  }
  // Arguments may turn out not to fit only when they are used; anything else needs an execution.
  const bool ran = call.stage == Stage::planned || is_local(call.tool);
  // Whom a run may start is looked at last, when the call is to run.
  const bool refused = result.status == ToolStatus::invalid ||
                       (call.tool == "spawn_agent" && result.status == ToolStatus::denied);
  findings_.require(ran || refused,
                    3,
                    fmt::format("{} ends with {}, but was never planned", call.call_id, name(result.status)));
}

void CallLedger::require_settled(std::string_view before) {
  for (const Call& call : calls_)
    findings_.require(
        call.stage == Stage::settled, 2, fmt::format("{} although {} has no result", before, call.call_id));
}

void CallLedger::require_none_abandoned() {
  for (const Call& call : calls_)
    findings_.require(!call.abandoned, 2, fmt::format("the run goes on after it gave up {}", call.call_id));
}

bool CallLedger::any_under_way() const {
  return std::any_of(calls_.begin(), calls_.end(), [](const Call& call) {
    return call.stage == Stage::planned && !call.awaits_user;
  });
}

std::vector<std::string> CallLedger::in_doubt() const {
  std::vector<std::string> ids;
  for (const Call& call : calls_)
    if (call.stage == Stage::doubted) ids.push_back(call.call_id);
  return ids;
}

std::vector<std::string> CallLedger::awaiting_user() const {
  std::vector<std::string> ids;
  for (const Call& call : calls_)
    if (call.awaits_user) ids.push_back(call.call_id);
  return ids;
}

std::vector<std::string> CallLedger::parked() const {
  std::vector<std::string> ids;
  for (const Call& call : calls_)
    if (call.stage == Stage::doubted || call.awaits_user) ids.push_back(call.call_id);
  return ids;
}

std::vector<ApprovalId> CallLedger::asked() const {
  std::vector<ApprovalId> ids;
  for (const Call& call : calls_)
    if (call.stage == Stage::asked) ids.push_back(call.approval);
  return ids;
}

}  // namespace ratchet
