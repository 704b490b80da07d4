#include "runtime/audit/run_audit.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/event/fields.hpp"

namespace ratchet {

namespace {

template <class T>
bool is(const Event& event) {
  return std::holds_alternative<T>(event.payload);
}

bool has(const std::vector<PauseReason>& reasons, PauseReason reason) {
  return std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
}

bool has_calls(const ModelCompleted& completed) {
  return std::any_of(completed.content.begin(), completed.content.end(), [](const ReplyBlock& block) {
    return block.type == ReplyBlockType::call;
  });
}

}  // namespace

// --- the chain and the envelope
// -----------------------------------------------------------------------------------------------------------

void RunAudit::add(const Record& record) {
  findings_.look_at(last_seq_ + 1);
  findings_.require(!record.events.empty(), 1, "a record holds no event");
  findings_.require(record.head_before == head_, 1, "a record does not continue the hash chain");
  findings_.require(salts_.insert(record.salt).second, 1, "two records have the same salt");
  for (const Event& event : record.events) {
    findings_.look_at(event.seq);
    link(record, event);
    envelope(event);
    event_ = &event;
    replay(event);
    calls_.look_at(event.replayed);
    spend_.look_at(event.replayed);
    std::visit([this](const auto& payload) { check(payload); }, event.payload);
    gates(event);
    last_seq_ = event.seq;
  }
}

/// h(n) = SHA-256(h(n-1) ‖ envelope ‖ SHA-256(salt ‖ payload))
void RunAudit::link(const Record& record, const Event& event) {
  std::string bytes(head_.view());
  fields::put_varint(bytes, event.payload.index() + 1 + (event.replayed ? 64 : 0));
  fields::put_varint(bytes, event.seq);
  fields::put_varint(bytes, fields::zigzag(event.at.us));
  fields::put_varint(bytes, event.step);
  fields::put_varint(bytes, event.lease_version);
  std::string salted(reinterpret_cast<const char*>(record.salt.data()), record.salt.size());
  salted += encode_payload(event.payload);
  bytes += sha256(salted).view();
  head_ = sha256(bytes);
}

void RunAudit::expect(std::uint64_t last_seq, const Hash& head) {
  findings_.look_at(last_seq_);
  findings_.require(
      last_seq == last_seq_, 1, fmt::format("the row says {} events, there are {}", last_seq, last_seq_));
  findings_.require(head == head_, 1, "the row has another head than the chain");
}

void RunAudit::envelope(const Event& event) {
  findings_.require(
      event.seq == last_seq_ + 1, 1, fmt::format("event {} follows event {}", event.seq, last_seq_));
  findings_.require(!finished_, 1, fmt::format("{} follows run.finished", type_name(event)));
  findings_.require((event.seq == 1) == is<RunStarted>(event), 1, "run.started is not the first event, once");
  findings_.require(event.lease_version >= lease_,
                    1,
                    fmt::format("lease {} writes after lease {}", event.lease_version, lease_));
  lease_ = event.lease_version;
  if (!is<ModelRequested>(event))
    findings_.require(event.step == spend_.step(),
                      1,
                      fmt::format("an event of step {} in step {}", event.step, spend_.step()));
}

/// What is taken over from a record stands at the beginning of a replay, and is no more than a fold needs.
void RunAudit::replay(const Event& event) {
  if (!event.replayed) {
    live_ = live_ || event.seq > 1;
    const auto* requested = std::get_if<ModelRequested>(&event.payload);
    findings_.require(
        !replay_ || !requested || event.step >= replay_->from_step,
        8,
        fmt::format("step {} of a replay is asked for live, before its first live step", event.step));
    return;
  }
  findings_.require(replay_.has_value(), 8, "an event was taken over, but the run replays nothing");
  findings_.require(!live_, 8, "an event was taken over after a live one");
  findings_.require(!replay_ || event.step < replay_->from_step, 8, "an event of a live step was taken over");
  const bool acts = is<ToolPlanned>(event) || is<SubagentStarted>(event) || is<RunFinished>(event) ||
                    is<RunPaused>(event) || is<RunResumed>(event) || is<CallUnknown>(event);
  findings_.require(!acts, 8, fmt::format("{} was taken over", type_name(event)));
}

/// What may not happen in a pause or after a cancel, whatever it says. Called after the event was checked.
void RunAudit::gates(const Event& event) {
  const bool starts = is<ModelRequested>(event) || is<ToolPlanned>(event) || is<RunResumed>(event);
  findings_.require(
      !cancelled_ || !starts, 2, fmt::format("{} after run.cancel_requested", type_name(event)));
  const auto* asked = std::get_if<ToolRequested>(&event.payload);
  const bool judged = asked && asked->verdict.decision != Decision::deny;
  const bool moves = is<ModelRequested>(event) || is<ModelCompleted>(event) || judged;
  findings_.require(!pause_ || !moves, 3, fmt::format("{} in a pause", type_name(event)));
}

void RunAudit::artifacts(const Content& content) {
  for (const Block& block : content) {
    if (!block.artifact) continue;
    const ArtifactRef& artifact = *block.artifact;
    findings_.require(block.text.empty(), 1, "a block has text and an artifact");
    // A replay refers to those of the record too, which have the numbers that they have there.
    findings_.require(artifact.n > 0 && (replay_ || artifact.n <= blobs_ + 1),
                      1,
                      fmt::format("artifact {} of the run follows {}", artifact.n, blobs_));
    findings_.require(artifact.head.size() <= artifact.bytes, 1, "an artifact is shorter than its head");
    blobs_ = std::max(blobs_, artifact.n);
  }
}

// --- the life of the run
// -----------------------------------------------------------------------------------------------------------

void RunAudit::check(const RunStarted& started) {
  spend_.started(started);
  compactions_.started(started);
  calls_.started(started);
  replay_ = started.replay;
  findings_.require(started.replay.has_value() == started.replay_of.has_value(), 8, "half of a replay");
  interactive_ = started.interactive;
  deadline_at_ = started.deadline_at;
  artifacts(started.input);
  started_ = started;
  started_->input.clear();
}

void RunAudit::check(const MessageReceived& message) {
  findings_.require(!cancelled_, 2, "a message is taken although the run is being cancelled");
  if (!message.idempotency_key.empty())
    findings_.require(message_keys_.insert(message.idempotency_key).second, 2, "a message is taken twice");
  ++unread_;
  if (pause_) pause_->message_came = true;
  artifacts(message.content);
}

void RunAudit::check(const ModelRequested& requested) {
  findings_.require(
      event_->replayed || event_->at < deadline_at_, 5, "a model call is asked for after the deadline");
  calls_.require_settled("a model call is asked for");
  calls_.require_none_abandoned();
  findings_.require(!answered_ || unread_ > 0, 2, "the run goes on after its final answer, asked by nobody");
  spend_.requested(requested, event_->step, event_->at);
  compactions_.requested(requested, event_->seq);
  unread_ = 0;
  answered_ = false;
}

void RunAudit::check(const ModelCompleted& completed) {
  spend_.completed(completed);
  compactions_.completed(completed, event_->seq);
  if (completed.purpose == CallPurpose::compaction) return;
  calls_.replied(completed);
  waited_of_batch_us_ = 0;
  // A reply that filled the window is no answer: the run may make room and go on.
  answered_ = !has_calls(completed) && completed.stop_reason != ModelStop::pause_turn &&
              completed.stop_reason != ModelStop::context_overflow;
}

void RunAudit::check(const ModelFailed& failed) {
  spend_.failed(failed);
}

void RunAudit::check(const ToolRequested& requested) {
  calls_.requested(requested);
}

void RunAudit::check(const ToolPlanned& planned) {
  findings_.require(!spend_.overrun(), 5, "a call is planned after an overrun");
  calls_.planned(planned, event_->step, pause_.has_value());
}

void RunAudit::check(const ApprovalRequired& required) {
  findings_.require(
      event_->replayed || required.expires_at > event_->at, 3, "an approval never can be given");
  calls_.asked(required);
}

void RunAudit::check(const ApprovalReminded& reminded) {
  calls_.reminded(reminded);
}

void RunAudit::check(const ApprovalDecided& decided) {
  calls_.decided(decided);
}

void RunAudit::check(const UserTokenReceived&) {
  findings_.require(!cancelled_, 2, "a token is taken although the run is being cancelled");
  calls_.token_came();
}

void RunAudit::check(const ToolResult& result) {
  findings_.require(result.cut_at <= result.bytes, 1, "a model is shown more than there is");
  artifacts(result.content);
  calls_.ended(result);
}

void RunAudit::check(const SubagentStarted& started) {
  findings_.require(!cancelled_ && !pause_, 7, "a sub-agent is started in a pause or after a cancel");
  spend_.given(started, deadline_at_);
  calls_.spawned(started);
  given_[started.child_run_id] = {started, std::nullopt};
}

void RunAudit::check(const SubagentFinished& finished) {
  artifacts(finished.result);
  spend_.returned(finished);
  calls_.returned(finished);
  if (const auto given = given_.find(finished.child_run_id); given != given_.end())
    given->second.finished = finished;
  const std::int64_t more_us = std::max<std::int64_t>(finished.waited_us - waited_of_batch_us_, 0);
  waited_of_batch_us_ += more_us;
  deadline_at_.us += more_us;
}

void RunAudit::check(const ContextCompacted& compacted) {
  compactions_.compacted(compacted, event_->seq);
}

void RunAudit::check(const BudgetWarning& warning) {
  spend_.warned(warning);
}

void RunAudit::check(const CallUnknown& unknown) {
  calls_.doubted(unknown);
}

void RunAudit::check(const CallResolved& resolved) {
  findings_.require(!cancelled_, 3, "a call is resolved although the run is being cancelled");
  artifacts(resolved.result);
  calls_.resolved(resolved);
}

void RunAudit::check(const RunPaused& paused) {
  findings_.require(!paused.reasons.empty(), 3, "a pause has no reason");
  findings_.require(paused.expires_at > event_->at, 3, "a pause never expires");
  findings_.require(paused.call_ids == calls_.parked() || has(paused.reasons, PauseReason::operator_),
                    3,
                    "a pause names other calls than those that wait for people");
  const bool operator_pause = has(paused.reasons, PauseReason::operator_);
  findings_.require(paused.approval_ids == calls_.asked() || operator_pause,
                    3,
                    "a pause names other approvals than those that are open");
  const auto require_reason = [&](PauseReason reason, bool holds) {
    findings_.require(operator_pause || has(paused.reasons, reason) == holds,
                      3,
                      fmt::format("a pause for {}, and the calls say {}", name(reason), holds));
  };
  require_reason(PauseReason::unknown_outcome, !calls_.in_doubt().empty());
  require_reason(PauseReason::approval, !calls_.asked().empty());
  require_reason(PauseReason::reauth, !calls_.awaiting_user().empty());
  findings_.require(operator_pause || !calls_.any_under_way(), 3, "a pause while another call is under way");
  if (has(paused.reasons, PauseReason::message))
    findings_.require(interactive_ && answered_, 3, "a pause for a message without an answer before it");
  if (!has(paused.reasons, PauseReason::operator_)) {
    findings_.require(!pause_, 3, "a pause in a pause");
    findings_.require(!spend_.in_flight(), 3, "a pause while a model call is under way");
  }
  // An operator's pause lies over whatever else the run waits for; the time counts from the first.
  const Timestamp since = pause_ ? pause_->since : event_->at;
  pause_ = Pause{paused, since, unread_ > 0};
}

void RunAudit::check(const RunResumed& resumed) {
  if (!pause_) return findings_.complain(3, "run.resumed without a pause");
  findings_.require(has(pause_->said.reasons, resumed.reason), 3, "the run is resumed for another reason");
  const std::int64_t waited_us = std::max<std::int64_t>(event_->at.us - pause_->since.us, 0);
  findings_.require(resumed.deadline_at.us == deadline_at_.us + waited_us,
                    5,
                    fmt::format("a wait of {} us moves the deadline by {} us",
                                waited_us,
                                resumed.deadline_at.us - deadline_at_.us));
  if (resumed.reason == PauseReason::unknown_outcome)
    findings_.require(calls_.in_doubt().empty(), 3, "the run is resumed while a call is in doubt");
  if (resumed.reason == PauseReason::approval)
    findings_.require(calls_.asked().empty(), 3, "the run is resumed while a person is asked");
  if (resumed.reason == PauseReason::reauth)
    findings_.require(calls_.awaiting_user().empty(), 3, "the run is resumed without a token");
  if (resumed.reason == PauseReason::message)
    findings_.require(pause_->message_came, 3, "the run is resumed for a message, and there is none");
  deadline_at_ = resumed.deadline_at;
  pause_.reset();
}

void RunAudit::check(const RunCancelRequested& cancel) {
  findings_.require(!cancelled_, 2, "the run is cancelled twice");
  findings_.require(!cancel.stop_reason || spend_.any_child(), 2, "a run that could end asks to be ended");
  cancelled_ = true;
  ends_as_ = cancel.stop_reason;
}

void RunAudit::check(const RunFinished& finished) {
  spend_.finished(finished);
  calls_.require_settled("the run ends");
  check_reason(finished);
  finished_ = true;
  ended_ = finished;
}

std::vector<Violation> RunAudit::compare(const RunId& parent, const Given& given) const {
  Findings findings(findings_.run());
  findings.look_at(1);
  if (!started_) return {};
  const SubagentStarted& said = given.started;
  findings.require(started_->parent_run_id == parent, 7, "a sub-agent names another parent");
  findings.require(started_->budgets.max_steps == said.share.steps &&
                       started_->budgets.max_tokens == said.share.tokens &&
                       started_->budgets.max_usd == said.share.usd,
                   5,
                   "a sub-agent has other budgets than its share");
  findings.require(started_->deadline_at == said.deadline_at, 5, "a sub-agent has another deadline");
  findings.look_at(last_seq_);
  if (!given.finished) return findings.all();
  if (!ended_) {
    findings.complain(7, "the parent says that it has ended, and it has not");
    return findings.all();
  }
  Share used{ended_->steps, ended_->usage.total(), ended_->cost_usd};
  used += ended_->subagents;
  findings.require(given.finished->used == used, 5, "the parent was told of another use");
  findings.require(
      given.finished->stop_reason == ended_->stop_reason, 7, "the parent was told of another end");
  return findings.all();
}

void RunAudit::check_reason(const RunFinished& finished) {
  const StopReason reason = finished.stop_reason;
  const bool as_cancelled = cancelled_ && !ends_as_;
  findings_.require((reason == StopReason::cancelled) == as_cancelled,
                    2,
                    fmt::format("the run ends as {}, cancelled: {}", name(reason), as_cancelled));
  findings_.require(!ends_as_ || reason == *ends_as_, 2, "the run ends for another reason than it said");
  findings_.require((reason == StopReason::final_answer) != finished.report.has_value(),
                    2,
                    "a report belongs to a run without a final answer");
  switch (reason) {
    case StopReason::final_answer:
      findings_.require(answered_ && finished.result, 2, "a final answer that nobody gave");
      findings_.require(unread_ == 0, 2, "the run ends although a message was not read");
      break;
    case StopReason::time_limit:
      findings_.require(event_->at >= deadline_at_, 5, "stopped on the time limit before it was reached");
      break;
    case StopReason::pause_expired:
      findings_.require(
          pause_ && event_->at >= pause_->said.expires_at, 3, "a pause that has not expired ends the run");
      break;
    default:
      break;
  }
}

}  // namespace ratchet
