// What people decide: whether a call may run, and under whose token it runs on.

#include <fmt/format.h>

#include "runtime/run/draft.hpp"

namespace ratchet {

namespace {

/// The station that refused, and its word, for the person who decides.
std::string refusal(const Verdict& verdict) {
  if (verdict.schema != "ok") return "the schema refuses them: " + verdict.schema;
  if (!verdict.policy_rule.empty()) return "the policy denies the call: " + verdict.policy_rule;
  if (!verdict.authz.empty() && verdict.authz != "ok") return "the user may not do this: " + verdict.authz;
  return "a hook refuses the call: " + verdict.hooks;
}

std::string rejection_text(DecidedBy reason, const std::string& comment) {
  if (reason == DecidedBy::expired)
    return "Nobody decided in time whether this call may run, so it did not. You may ask again with a new "
           "call "
           "if it is still needed.";
  std::string text = "A person rejected this call: it did not run.";
  if (!comment.empty()) text += " Their comment: " + comment;
  return text;
}

}  // namespace

void Draft::ask(const ToolRequested& call) {
  const ApprovalSettings& settings = rules.tools.agent().definition.approval;
  ApprovalRequired required;
  required.approval_id = ApprovalId::make(stamp);
  required.call_id = call.call_id;
  required.tool = call.tool;
  required.args = call.args;
  required.args_hash = call.args_hash;
  required.why = call.verdict.policy_rule;
  required.expires_at = now().plus_ms(settings.expires_seconds * 1'000);
  if (settings.remind_seconds > 0) required.remind_at = now().plus_ms(settings.remind_seconds * 1'000);
  emit(std::move(required));
}

Result<void> Draft::decide_approval(const input::Decide& input) {
  const OpenCall* found = state.find_asked(input.approval_id);
  if (!found) return decide_again(input);
  const OpenCall call = *found;
  if (now() >= call.approval->expires_at)
    return fail(ErrorCode::expired, "nobody decided in time, which is a rejection");
  if (input.args_hash && *input.args_hash != call.args_hash)
    return fail(ErrorCode::args_changed,
                fmt::format("the approval is about arguments with the hash {}", to_string(call.args_hash)));
  if (input.decision == ApprovalDecision::reject) {
    decision.accepted_seq = state.last_seq + 1;
    reject(call, DecidedBy::person, input.by, input.comment);
    return {};
  }
  const std::string& args = input.edited_args ? input.edited_args->text : call.args.text;
  ApprovalDecided decided;
  decided.effective_args_hash = sha256(args);
  const bool edited = decided.effective_args_hash != call.args_hash;
  const ErrorCode refused = edited ? ErrorCode::edited_args_refused : ErrorCode::approval_refused;
  if (input.facts.hooks && input.facts.hooks->args)
    return fail(refused, "a hook would rewrite the arguments: " + input.facts.hooks->word);
  decided.verdict = rules.tools.judge({call.tool, args, {}, state.scopes, input.facts});
  if (decided.verdict.decision == Decision::deny) return fail(refused, refusal(decided.verdict));
  decided.approval_id = call.approval->id;
  decided.call_id = call.call_id;
  decided.decision = ApprovalDecision::approve;
  if (edited) decided.edited_args = Json{args};
  decided.by = input.by;
  decided.comment = input.comment;
  emit(std::move(decided));
  decision.accepted_seq = state.last_seq;
  resume_if_decided();
  return {};
}

/// The approval is not open, or not any more: whoever says the same once more has been heard.
Result<void> Draft::decide_again(const input::Decide& input) {
  const auto earlier =
      std::find_if(state.decided.begin(), state.decided.end(), [&](const DecidedApproval& each) {
        return each.id == input.approval_id;
      });
  if (earlier == state.decided.end())
    return fail(ErrorCode::unknown_approval, "the run has no approval " + to_string(input.approval_id));
  if (earlier->reason == DecidedBy::expired)
    return fail(ErrorCode::expired, "nobody decided in time, which is a rejection");
  if (earlier->reason == DecidedBy::cancelled)
    return fail(ErrorCode::already_decided, "the run ended before anybody decided");
  const Hash wanted = input.edited_args ? sha256(input.edited_args->text) : earlier->args_hash;
  const bool same = earlier->decision == input.decision &&
                    (input.decision == ApprovalDecision::reject || earlier->effective_args_hash == wanted);
  if (!same)
    return fail(ErrorCode::already_decided,
                fmt::format("the decision was {}, of arguments with the hash {}",
                            name(earlier->decision),
                            to_string(earlier->effective_args_hash)));
  decision.accepted_seq = earlier->seq;
  return {};
}

void Draft::reject(const OpenCall& call,
                   DecidedBy reason,
                   const std::string& by,
                   const std::string& comment) {
  ApprovalDecided decided;
  decided.approval_id = call.approval->id;
  decided.call_id = call.call_id;
  decided.decision = ApprovalDecision::reject;
  decided.effective_args_hash = call.args_hash;
  decided.by = by;
  decided.comment = comment;
  decided.reason = reason;
  emit(std::move(decided));
  if (reason == DecidedBy::cancelled) return;  // it is settled with everything else
  settle_text(call.call_id,
              reason == DecidedBy::expired ? ToolStatus::expired : ToolStatus::rejected,
              rejection_text(reason, comment));
  resume_if_decided();
}

void Draft::resume_if_decided() {
  if (!state.any_call(CallStage::asked) && is_paused_for(PauseReason::approval))
    resume(PauseReason::approval);
}

void Draft::look_at_approvals() {
  const std::vector<OpenCall> calls = state.calls;
  for (const OpenCall& call : calls) {
    if (call.stage != CallStage::asked) continue;
    if (now() >= call.approval->expires_at) {
      reject(call, DecidedBy::expired, {}, {});
    } else if (call.approval->remind_at && now() >= *call.approval->remind_at) {
      emit(ApprovalReminded{call.approval->id, call.call_id});
    }
  }
}

void Draft::withdraw_approvals() {
  const std::vector<OpenCall> calls = state.calls;
  for (const OpenCall& call : calls)
    if (call.stage == CallStage::asked) reject(call, DecidedBy::cancelled, {}, {});
}

void Draft::user_token(const input::UserToken& input) {
  std::vector<OpenCall> waited;
  for (const OpenCall& call : state.calls)
    if (call.awaits_user) waited.push_back(call);
  emit(UserTokenReceived{input.scopes, input.expires_at, input.from});
  decision.accepted_seq = state.last_seq;
  // The user may be allowed less than before.
  for (const OpenCall& call : waited) {
    const Verdict verdict = rules.tools.judge({call.tool, call.args.text, {}, state.scopes});
    if (verdict.authz == "ok") continue;
    if (call.in_doubt && call.side_effects != SideEffects::none) {
      emit(CallUnknown{call.call_id, verdict.authz});
    } else {
      settle_text(call.call_id, ToolStatus::denied, refusal_text(call.tool, verdict));
    }
  }
  if (is_paused_for(PauseReason::reauth)) resume(PauseReason::reauth);
}

}  // namespace ratchet
