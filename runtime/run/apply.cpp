#include <algorithm>

#include "runtime/context/window.hpp"
#include "runtime/limits.hpp"
#include "runtime/model/estimate.hpp"
#include "runtime/run/state.hpp"

namespace ratchet {

namespace {

/// The run's own tools change its memory; the change follows from their arguments.
void remember(const OpenCall& call, RunMemory& memory) {
  if (call.tool == "notes_write") apply_notes_write(memory, call.args.text);
  if (call.tool == "todo_write") apply_todo_write(memory, call.args.text);
}

/// One overload for each type of event. Each only writes down what the event says.
class Folder {
 public:
  Folder(RunState& state, const Event& event) : state_(state), event_(event) {}

  void operator()(const RunStarted& started) {
    auto kept = std::make_shared<RunStarted>(started);
    kept->input.clear();
    state_.started = std::move(kept);
    state_.created_at = event_.at;
    state_.deadline_at = started.deadline_at;
    state_.scopes = started.scopes;
    state_.token_expires_at = started.token_expires_at;
    count_blobs(started.input);
  }

  void operator()(const UserTokenReceived& token) {
    state_.scopes = token.scopes;
    state_.token_expires_at = token.expires_at;
    for (OpenCall& call : state_.calls)
      call.awaits_user = false;
  }

  void operator()(const MessageReceived& message) {
    ++state_.messages_pending;
    if (!message.idempotency_key.empty()) {
      state_.keyed_messages.push_back({message.idempotency_key, message.content_hash, event_.seq});
    }
    count_blobs(message.content);
  }

  void operator()(const ModelRequested& requested) {
    ModelAttempt& model = state_.model;
    if (requested.attempt == 1) {
      model.failures_of_provider = 0;
      state_.calls.clear();
      state_.step_replied = false;
    }
    state_.messages_pending = 0;
    if (requested.provider != model.provider || requested.purpose != model.purpose)
      model.failures_of_provider = 0;
    model.purpose = requested.purpose;
    model.up_to_seq = requested.up_to_seq;
    model.number = requested.attempt;
    model.provider = requested.provider;
    model.estimated_tokens = requested.estimated_tokens;
    model.max_tokens = requested.max_tokens;
    model.requested_at = event_.at;
    if (!event_.replayed) state_.prompts.add(requested.prompt_hash);
    state_.reserved = requested.reserved;
    state_.phase = Phase::calling;
  }

  void operator()(const ModelCompleted& completed) {
    settle(completed.usage, completed.cost_usd);
    if (!completed.usage_estimated) {
      state_.calibration_permille =
          calibrate(state_.calibration_permille, state_.model.estimated_tokens, completed.usage.input);
    }
    state_.model.last_error.clear();
    state_.model.failures_of_provider = 0;
    if (completed.purpose == CallPurpose::compaction) return note_came();
    const bool window_full = completed.stop_reason == ModelStop::context_overflow;
    state_.compaction.due = state_.compaction.refused = window_full;
    state_.compaction.refusal = window_full ? "the model's window is full" : "";
    state_.step_replied = true;
    state_.final_text.clear();
    state_.calls.clear();
    state_.results_of_batch = 0;
    state_.waited_of_batch_us = 0;
    for (const ReplyBlock& block : completed.content) {
      if (block.type == ReplyBlockType::text) state_.final_text += block.text;
      if (block.type != ReplyBlockType::call) continue;
      OpenCall call;
      call.call_id = block.call_id;
      call.tool = block.tool;
      call.args.text = block.args;
      state_.calls.push_back(std::move(call));
    }
    if (!state_.calls.empty()) state_.final_text.clear();
    state_.phase = state_.calls.empty() ? Phase::ready : Phase::batch;
  }

  void operator()(const ModelFailed& failed) {
    settle(failed.charged, failed.charged_usd);
    ModelAttempt& model = state_.model;
    model.last_error = failed.error;
    if (failed.kind != FailureClass::lost) ++model.failures_of_provider;
    if (failed.kind == FailureClass::overflow && model.purpose == CallPurpose::step) {
      state_.compaction.due = state_.compaction.refused = true;
      state_.compaction.refusal = failed.error;
    }
    if (failed.next_provider) {
      model.provider = *failed.next_provider;
      model.failures_of_provider = 0;
    }
    model.retry_at = failed.retry_at.value_or(event_.at);
    state_.phase = Phase::retrying;
  }

  void operator()(const ToolRequested& requested) {
    state_.loop.called(requested.tool, requested.args_hash);
    OpenCall* call = state_.find_call(requested.call_id);
    if (!call) return;
    call->args = requested.args;
    call->args_hash = requested.args_hash;
    call->side_effects = requested.side_effects;
    call->repeats = requested.repeats;
    call->stage = CallStage::requested;
    call->allowed = requested.verdict.decision == Decision::allow;
  }

  void operator()(const ApprovalRequired& required) {
    OpenCall* call = state_.find_call(required.call_id);
    if (!call) return;
    call->stage = CallStage::asked;
    call->approval =
        Approval{required.approval_id, event_.seq, event_.at, required.expires_at, required.remind_at, false};
  }

  void operator()(const ApprovalReminded& reminded) {
    OpenCall* call = state_.find_call(reminded.call_id);
    if (call && call->approval) call->approval->remind_at.reset();
  }

  void operator()(const ApprovalDecided& decided) {
    auto& said = state_.decided;
    OpenCall* call = state_.find_call(decided.call_id);
    if (!call || !call->approval) return;
    said.push_back({decided.approval_id,
                    decided.decision,
                    decided.reason,
                    call->args_hash,
                    decided.effective_args_hash,
                    event_.seq});
    if (said.size() > limits::resolutions_kept) said.erase(said.begin());
    call->stage = decided.decision == ApprovalDecision::approve ? CallStage::approved : CallStage::requested;
    if (!decided.edited_args) return;
    call->args = *decided.edited_args;
    call->args_hash = decided.effective_args_hash;
    call->approval->edited = true;
  }

  void operator()(const ToolPlanned& planned) {
    OpenCall* call = state_.find_call(planned.call_id);
    if (!call) return;
    if (planned.attempt == 1) call->first_planned_at = event_.at;
    // A call that follows a call follows one that got no answer. What follows a status check, or a person's
    // word, follows the news that it did not happen.
    if (!planned.previous_unsent)
      call->in_doubt = call->stage == CallStage::planned && call->execution == Execution::call &&
                       planned.execution == Execution::call;
    call->starts_at = planned.not_before.value_or(event_.at);
    call->stage = CallStage::planned;
    call->execution = planned.execution;
    call->attempt = planned.attempt;
    call->until = planned.until;
    call->not_before = planned.not_before;
    call->awaits_user = planned.awaits_user;
  }

  void operator()(const ToolResult& result) {
    count_blobs(result.content);
    ++state_.results_of_batch;
    if (result.workspace) state_.workspace = result.workspace;
    OpenCall* call = state_.find_call(result.call_id);
    if (!call) return;
    call->stage = CallStage::settled;
    if (result.status == ToolStatus::ok) remember(*call, state_.memory);
    state_.loop.returned(call->tool, call->args_hash, shown_head(result.content));
    state_.settled.push_back({call->call_id, call->tool, result.status});
    if (state_.settled.size() > limits::reported_calls_max) state_.settled.erase(state_.settled.begin());
    ++state_.settled_count;
    const bool open = std::any_of(state_.calls.begin(), state_.calls.end(), [](const OpenCall& each) {
      return each.stage != CallStage::settled;
    });
    if (!open) state_.phase = Phase::ready;
  }

  void operator()(const SubagentStarted& started) {
    state_.children_held += started.share;
    ++state_.children;
    if (OpenCall* call = state_.find_call(started.call_id))
      call->child = OpenChild{started.child_run_id, started.share};
  }

  void operator()(const SubagentFinished& finished) {
    count_blobs(finished.result);
    state_.children_used += finished.used;
    if (OpenCall* call = state_.find_call(finished.call_id); call && call->child) {
      const Share& share = call->child->share;
      state_.children_held += {-share.steps, -share.tokens, Usd{-share.usd.nano}};
      call->child.reset();
    }
    // Sub-agents of a batch wait side by side: the longest wait moves the deadline, and only once.
    const std::int64_t more_us = finished.waited_us - state_.waited_of_batch_us;
    if (more_us <= 0) return;
    state_.waited_of_batch_us = finished.waited_us;
    state_.deadline_at.us += more_us;
    state_.paused_us += more_us;
  }

  void operator()(const ContextCompacted& compacted) {
    CompactionGuard& guard = state_.compaction;
    guard.due = false;
    guard.no_note = 0;
    const RunStarted& started = *state_.started;
    const std::int64_t headroom =
        usable_window_tokens(started.model, started.settings) / limits::compaction_gain_divisor;
    guard.in_vain = compacted.tokens_before - compacted.tokens_after < headroom ? guard.in_vain + 1 : 0;
  }

  void operator()(const BudgetWarning& warning) {
    state_.warned |= static_cast<std::uint8_t>(1u << static_cast<unsigned>(warning.which));
  }

  void operator()(const CallUnknown& unknown) {
    if (OpenCall* call = state_.find_call(unknown.call_id)) call->stage = CallStage::unknown;
  }

  void operator()(const CallResolved& resolved) {
    count_blobs(resolved.result);
    auto& said = state_.resolutions;
    said.push_back({resolved.call_id, resolved.outcome, event_.seq});
    if (said.size() > limits::resolutions_kept) said.erase(said.begin());
  }

  void operator()(const RunPaused& paused) {
    // An operator's pause may lie over another one: the run has been waiting since the first.
    const Timestamp since = state_.pause ? state_.pause->since : event_.at;
    state_.pause = Pause{paused.reasons, since, paused.expires_at};
    const bool for_message =
        std::find(paused.reasons.begin(), paused.reasons.end(), PauseReason::message) != paused.reasons.end();
    if (for_message) state_.phase = Phase::answered;
  }

  void operator()(const RunResumed& resumed) {
    state_.paused_us += resumed.deadline_at.us - state_.deadline_at.us;
    state_.pause.reset();
    state_.deadline_at = resumed.deadline_at;
    if (resumed.reason == PauseReason::message) state_.phase = Phase::ready;
  }

  void operator()(const RunCancelRequested& cancel) {
    state_.cancel = cancel;
    state_.cancel_seq = event_.seq;
  }

  void operator()(const RunFinished& finished) {
    state_.phase = Phase::finished;
    state_.stop_reason = finished.stop_reason;
    state_.finished_at = event_.at;
    state_.pause.reset();
    state_.calls.clear();
  }

 private:
  /// A hand-over note, or what was to be one: the run stands where it stood before it was asked for. What is
  /// no note is followed by no `context.compacted`.
  void note_came() {
    ++state_.compaction.no_note;
    state_.model.retry_at = event_.at;
    state_.phase = state_.step_replied ? Phase::ready : Phase::retrying;
  }

  void settle(const Usage& usage, Usd cost) {
    state_.reserved = {};
    if (event_.replayed) return;  // paid for by the run that is replayed
    state_.usage += usage;
    state_.cost_usd += cost;
  }

  void count_blobs(const Content& content) {
    for (const Block& block : content)
      if (block.artifact) state_.blobs = std::max(state_.blobs, block.artifact->n);
  }

  static std::string_view shown_head(const Content& content) {
    if (content.empty()) return {};
    return content.front().artifact ? std::string_view(content.front().artifact->head)
                                    : std::string_view(content.front().text);
  }

  RunState& state_;
  const Event& event_;
};

}  // namespace

void apply(RunState& state, const Event& event) {
  RATCHET_ENSURE(event.seq == state.last_seq + 1, "events are folded in order, without a gap");
  std::visit(Folder(state, event), event.payload);
  state.last_seq = event.seq;
  state.last_at = event.at;
  state.step = event.step;
}

OpenCall* RunState::find_call(std::string_view call_id) {
  const auto at =
      std::find_if(calls.begin(), calls.end(), [&](const OpenCall& call) { return call.call_id == call_id; });
  return at == calls.end() ? nullptr : &*at;
}

const OpenCall* RunState::find_call(std::string_view call_id) const {
  return const_cast<RunState*>(this)->find_call(call_id);
}

const OpenCall* RunState::find_asked(const ApprovalId& approval) const {
  const auto at = std::find_if(calls.begin(), calls.end(), [&](const OpenCall& call) {
    return call.stage == CallStage::asked && call.approval->id == approval;
  });
  return at == calls.end() ? nullptr : &*at;
}

const OpenCall* RunState::find_child(const RunId& child) const {
  const auto at = std::find_if(calls.begin(), calls.end(), [&](const OpenCall& call) {
    return call.child && call.child->run_id == child;
  });
  return at == calls.end() ? nullptr : &*at;
}

bool RunState::any_child() const {
  return std::any_of(calls.begin(), calls.end(), [](const OpenCall& call) { return call.child.has_value(); });
}

bool RunState::any_call(CallStage stage) const {
  return std::any_of(calls.begin(), calls.end(), [&](const OpenCall& call) { return call.stage == stage; });
}

std::string idempotency_key(const RunState& state, std::string_view call_id) {
  std::string key = to_string(state.run_id);
  key += '/';
  key += std::to_string(state.step);
  key += '/';
  key += call_id;
  return key;
}

}  // namespace ratchet
