#include "runtime/run/decide.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "runtime/run/draft.hpp"
#include "runtime/run/outstanding.hpp"

namespace ratchet {

namespace {

/// One overload for each input. Each writes the events that follow directly; what follows from those is
/// `go_on`.
class Decider {
 public:
  explicit Decider(Draft& draft) : draft_(draft), state_(draft.state) {}

  Result<void> operator()(const input::Recovered&) {
    // A run that is over is taken up only to answer a command about it.
    if (state_.finished()) return {};
    if (state_.cancel) return (*this)(input::Stopped{});
    if (!state_.pause) lose_what_was_under_way();
    return (*this)(input::Due{});
  }

  Result<void> operator()(const input::Due&) {
    if (state_.finished() || state_.cancel) return {};
    draft_.look_at_approvals();
    if (state_.pause) {
      if (draft_.now() >= state_.pause->expires_at)
        draft_.finish(StopReason::pause_expired, "nobody answered in time");
      return {};
    }
    if (const auto at = seconds_warning_at(state_); at && draft_.now() >= *at) draft_.warn();
    draft_.end_waits();
    const auto due = next_due_of_deadline();
    if (due && draft_.now() >= *due) draft_.finish(StopReason::time_limit);
    return {};
  }

  Result<void> operator()(const input::ModelEnded& ended) {
    const bool current =
        state_.phase == Phase::calling && ended.step == state_.step && ended.attempt == state_.model.number;
    if (current) draft_.model_ended(ended);
    return {};
  }

  Result<void> operator()(const input::CallEnded& ended) {
    const OpenCall* call = state_.find_call(ended.call_id);
    if (call && call->stage == CallStage::planned && call->attempt == ended.attempt) draft_.call_ended(ended);
    return {};
  }

  Result<void> operator()(const input::ChildReady& ready) {
    draft_.child_ready(ready);
    return {};
  }

  /// Taken in a pause and after a cancel too: what the child left of its share is the run's again.
  Result<void> operator()(const input::ChildEnded& ended) {
    if (!state_.finished()) draft_.child_ended(ended);
    return {};
  }

  Result<void> operator()(const input::Judged& judged) {
    if (!state_.cancel && !state_.pause && !state_.finished()) draft_.judged(judged);
    return {};
  }

  /// What the hooks said holds for this decision: where no call is announced by it, they are asked again.
  Result<void> operator()(const input::Briefed& briefed) {
    if (unbriefed(state_, draft_.now()) == briefed.effect) draft_.briefing = briefed.facts;
    return {};
  }

  Result<void> operator()(const input::Decide& decide) {
    if (state_.find_asked(decide.approval_id)) {
      if (auto open = must_be_open(); !open) return open;
    }
    return draft_.decide_approval(decide);
  }

  Result<void> operator()(const input::UserToken& token) {
    if (auto open = must_be_open(); !open) return open;
    draft_.user_token(token);
    return {};
  }

  Result<void> operator()(const input::Message& message) {
    const Hash hash = content_hash(message.content);
    for (const ReceivedMessage& earlier : state_.keyed_messages) {
      if (message.idempotency_key.empty() || earlier.idempotency_key != message.idempotency_key) continue;
      if (!(earlier.content_hash == hash))
        return fail(ErrorCode::idempotency_conflict, "the key was used for another message to this run");
      draft_.decision.accepted_seq = earlier.seq;
      return {};
    }
    if (auto open = must_be_open(); !open) return open;
    if (state_.messages_pending >= limits::messages_pending_max ||
        state_.keyed_messages.size() >= limits::messages_keyed_max)
      return fail(ErrorCode::too_many_requests, "the run has too many messages that it has not read yet");
    draft_.emit(MessageReceived{draft_.stored(message.content, shown_of_words(draft_.started())),
                                message.from,
                                message.idempotency_key,
                                hash});
    draft_.decision.accepted_seq = state_.last_seq;
    if (draft_.is_paused_for(PauseReason::message)) draft_.resume(PauseReason::message);
    return {};
  }

  Result<void> operator()(const input::Cancel& cancel) {
    if (state_.cancel) {
      draft_.decision.accepted_seq = state_.cancel_seq;
      return {};
    }
    if (auto open = must_be_open(); !open) return open;
    draft_.emit(RunCancelRequested{cancel.by, cancel.reason});
    draft_.decision.accepted_seq = state_.last_seq;
    return {};
  }

  Result<void> operator()(const input::Stopped&) {
    if (!state_.cancel || state_.finished() || state_.any_child()) return {};
    const RunCancelRequested cancel = *state_.cancel;
    if (cancel.stop_reason) {
      draft_.finish(*cancel.stop_reason, cancel.reason);
    } else {
      draft_.finish(StopReason::cancelled);
    }
    return {};
  }

  Result<void> operator()(const input::Resolve& resolve) {
    const OpenCall* found = state_.find_call(resolve.call_id);
    if (!found || found->stage != CallStage::unknown) return resolve_again(resolve, found != nullptr);
    if (auto open = must_be_open(); !open) return open;
    const OpenCall call = *found;
    const Content result = draft_.stored(resolve.result, shown_of_results(draft_.started()));
    draft_.emit(CallResolved{resolve.call_id, resolve.outcome, resolve.by, result});
    draft_.decision.accepted_seq = state_.last_seq;
    if (resolve.outcome == CallOutcome::happened) {
      draft_.settle(call.call_id, ToolStatus::ok, result);
    } else {
      draft_.plan(call, call.attempt + 1, Execution::call);
    }
    if (!state_.any_call(CallStage::unknown) && draft_.is_paused_for(PauseReason::unknown_outcome))
      draft_.resume(PauseReason::unknown_outcome);
    return {};
  }

  Result<void> operator()(const input::Resume&) {
    if (auto open = must_be_open(); !open) return open;
    if (!draft_.is_paused_for(PauseReason::operator_))
      return fail(ErrorCode::not_paused, "the run does not wait for an operator");
    draft_.resume(PauseReason::operator_);
    draft_.decision.accepted_seq = state_.last_seq;
    // The run was taken off while something may have been under way, exactly as in a crash.
    return (*this)(input::Recovered{});
  }

 private:
  void lose_what_was_under_way() {
    if (state_.phase == Phase::calling) draft_.model_lost("the server stopped while the model was answering");
    const std::vector<OpenCall> calls = state_.calls;
    for (const OpenCall& call : calls) {
      if (call.under_way() && !state_.finished())
        draft_.call_lost(call, Draft::Loss::restart, "the server stopped while the call was under way");
    }
  }

  Result<void> must_be_open() const {
    if (state_.finished()) {
      return fail(ErrorCode::run_finished,
                  fmt::format("the run has finished ({})", name(*state_.stop_reason)));
    }
    if (state_.cancel) return fail(ErrorCode::run_finished, "the run is being cancelled");
    return {};
  }

  /// The call is not in doubt, or not any more: whoever says the same once more has been heard.
  Result<void> resolve_again(const input::Resolve& resolve, bool is_open) {
    const auto& said = state_.resolutions;
    const auto earlier = std::find_if(
        said.rbegin(), said.rend(), [&](const Resolution& each) { return each.call_id == resolve.call_id; });
    if (earlier != said.rend()) {
      if (earlier->outcome != resolve.outcome)
        return fail(ErrorCode::already_resolved,
                    fmt::format("call {} was resolved as {}", resolve.call_id, name(earlier->outcome)));
      draft_.decision.accepted_seq = earlier->seq;
      return {};
    }
    if (auto open = must_be_open(); !open) return open;
    if (is_open)
      return fail(ErrorCode::not_paused,
                  fmt::format("what became of call {} is not in doubt", resolve.call_id));
    return fail(ErrorCode::unknown_call, fmt::format("the run has no open call {}", resolve.call_id));
  }

  /// The deadline, unless what is under way is not cut off by it.
  std::optional<Timestamp> next_due_of_deadline() const {
    if (state_.finished()) return std::nullopt;
    if (is_acting(state_)) return std::nullopt;
    return state_.deadline_at;
  }

  Draft& draft_;
  RunState& state_;
};

}  // namespace

Result<Decided> decide(
    const Rules& rules, const RunState& state, const Context& context, const Input& input, Stamp stamp) {
  Draft draft(rules, state, context, stamp);
  if (auto done = std::visit(Decider(draft), input); !done) return tl::unexpected(done.error());
  draft.go_on();
  draft.decision.after = std::move(draft.state);
  return std::move(draft.decision);
}

Event poison_pause(const RunRow& row, std::string error, Timestamp at) {
  Event event;
  event.seq = row.last_seq + 1;
  event.at = at;
  event.step = row.step;
  event.lease_version = row.lease;
  event.payload =
      RunPaused{{PauseReason::operator_}, at.plus_ms(limits::pause_expires_ms), {}, std::move(error), {}};
  return event;
}

}  // namespace ratchet
