#pragma once
// The state of a run: a fold over its events, and nothing else. It holds what the rules need to decide what
// comes next; what was said is in the context (runtime/context/), which is folded from the same events. A
// state is a value that is cheap to copy: what never changes is shared, what can grow is bounded.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/event/definitions.hpp"
#include "runtime/run/prompt_filter.hpp"
#include "runtime/tools/builtin.hpp"
#include "runtime/tools/loop_rule.hpp"

namespace ratchet {

/// Where a run stands in its loop. Being paused is not a phase: it lies over one.
///   ready: the next thing is a model call     calling: an attempt is under way     retrying: the next
///   attempt has a time batch: calls of the last reply are open   answered: a final answer was given, an
///   interactive run waits for more finished: nothing follows
RATCHET_ENUM(Phase, ready, calling, retrying, batch, answered, finished)

/// How far a call of the last reply has come.
///   judging: the facts for its verdict are being gathered     requested: it has its verdict
///   asked: a person decides whether it runs     approved: it runs once the batch has no open question
///   planned: under way, or waiting for its time     unknown: it may have happened, a person decides
///   settled: it has its one result
RATCHET_ENUM(CallStage, judging, requested, asked, approved, planned, unknown, settled)

/// What a person was asked about a call.
struct Approval {
  ApprovalId id;
  std::uint64_t seq = 0;  ///< of `approval.required`
  Timestamp asked_at, expires_at;
  std::optional<Timestamp> remind_at;  ///< none: it has been, or there is none to come
  bool edited = false;                 ///< the call's arguments are not the model's any more
};

/// The sub-agent that a call has started.
struct OpenChild {
  RunId run_id;
  Share share;
};

struct OpenCall {
  std::string call_id, tool;
  Json args;       ///< what runs: after a hook's rewrite and a person's edits
  Hash args_hash;  ///< of those
  SideEffects side_effects = SideEffects::none;
  std::uint32_t repeats = 0;  ///< how many times in a row the same call came before
  CallStage stage = CallStage::judging;
  bool allowed = false;  ///< its verdict lets it run; requested and allowed: it waits for the workspace
  Execution execution = Execution::call;
  std::uint32_t attempt = 1;
  bool in_doubt = false;                ///< an earlier attempt may have had the effect
  Timestamp first_planned_at;           ///< the first time this call was announced: its key is as old as this
  Timestamp starts_at;                  ///< this attempt, at the earliest
  std::optional<Timestamp> until;       ///< the built-in `wait`
  std::optional<Timestamp> not_before;  ///< a repeated attempt
  bool awaits_user = false;             ///< it waits for a fresh token of the user
  std::optional<Approval> approval;
  std::optional<OpenChild> child;  ///< while it runs

  /// An execution is under way, or is to be. A call that waits for its sub-agent has been executed.
  bool under_way() const { return stage == CallStage::planned && !until && !awaits_user && !child; }
};

/// The attempt that is under way, or that is to come.
struct ModelAttempt {
  CallPurpose purpose = CallPurpose::step;
  std::uint32_t number = 0;                ///< within the step, over all providers
  std::uint32_t provider = 0;              ///< of a run: it stays on the last one that worked
  std::uint32_t failures_of_provider = 0;  ///< in this step
  std::int64_t estimated_tokens = 0;
  std::int64_t max_tokens = 0;
  std::uint64_t up_to_seq = 0;  ///< of a compaction: what it covers
  Timestamp requested_at, retry_at;
  std::string last_error;
};

/// What keeps compactions from running in circles.
struct CompactionGuard {
  /// A provider has refused the context as too long: the next call is a compaction, whatever we estimate.
  /// Said once more before a step has had its reply, it ends the run.
  bool due = false, refused = false;
  std::string refusal;        ///< in the provider's words
  std::uint32_t no_note = 0;  ///< replies in a row that were none
  std::uint32_t in_vain = 0;  ///< compactions in a row that gained no headroom
};

struct Pause {
  std::vector<PauseReason> reasons;
  Timestamp since, expires_at;
};

struct ReceivedMessage {
  std::string idempotency_key;
  Hash content_hash;
  std::uint64_t seq = 0;
};

/// A person's word on a call, kept to know it again when it is said twice.
struct Resolution {
  std::string call_id;
  CallOutcome outcome = CallOutcome::happened;
  std::uint64_t seq = 0;
};

/// A person's word on an approval, likewise.
struct DecidedApproval {
  ApprovalId id;
  ApprovalDecision decision = ApprovalDecision::reject;
  DecidedBy reason = DecidedBy::person;
  Hash args_hash, effective_args_hash;  ///< as it was asked, as it was decided
  std::uint64_t seq = 0;
};

struct RunState {
  RunId run_id;
  std::shared_ptr<const RunStarted> started;  ///< without its input, which is in the context
  Timestamp created_at, last_at, finished_at;
  std::uint64_t last_seq = 0;
  std::uint32_t step = 0;
  Phase phase = Phase::ready;
  ModelAttempt model;
  bool step_replied = false;  ///< the step has its reply: the next call for a step opens the next one
  CompactionGuard compaction;

  Timestamp deadline_at;
  Usage usage;
  Usd cost_usd;
  Amount reserved;                             ///< by the attempt under way
  std::uint32_t calibration_permille = 1'000;  ///< reported input tokens a thousand estimated ones
  std::uint8_t warned = 0;                     ///< a bit for each BudgetKind

  std::vector<OpenCall> calls;  ///< of the last reply, in its order; empty outside of a batch
  std::uint32_t results_of_batch = 0;
  std::vector<ReportedCall> settled;  ///< the last `limits::reported_calls_max`
  std::uint64_t settled_count = 0;

  std::uint32_t messages_pending = 0;  ///< received, not yet in the context
  std::vector<ReceivedMessage> keyed_messages;
  std::vector<Resolution> resolutions;   ///< the last `limits::resolutions_kept`
  std::vector<DecidedApproval> decided;  ///< the last `limits::resolutions_kept`
  std::vector<std::string> scopes;       ///< of the user's token
  std::optional<Timestamp> token_expires_at;
  std::optional<Pause> pause;
  std::optional<RunCancelRequested> cancel;
  std::uint64_t cancel_seq = 0;
  std::int64_t paused_us = 0;  ///< waited for people so far

  Share children_held;                  ///< by the sub-agents that are under way
  Share children_used;                  ///< by those that have ended, and all below them
  std::uint32_t children = 0;           ///< started so far
  std::int64_t waited_of_batch_us = 0;  ///< the longest that a sub-agent of this batch waited for people

  RunMemory memory;
  PromptFilter prompts;           ///< that were sent, not those that a replay took over
  std::optional<Hash> workspace;  ///< the snapshot that the next call starts from; none: no files yet
  LoopRule loop;
  std::string final_text;  ///< of the last reply without calls
  std::optional<StopReason> stop_reason;
  std::uint32_t blobs = 0;

  bool finished() const { return phase == Phase::finished; }

  OpenCall* find_call(std::string_view call_id);
  const OpenCall* find_call(std::string_view call_id) const;
  const OpenCall* find_asked(const ApprovalId& approval) const;
  const OpenCall* find_child(const RunId& child) const;
  bool any_call(CallStage stage) const;
  bool any_child() const;

  bool token_expired(Timestamp now) const { return token_expires_at && *token_expires_at <= now; }

  /// What this run and the sub-agents that have ended used, and what is held for those under way: no part of
  /// it can be given away again.
  std::int64_t steps_taken() const { return step + children_used.steps + children_held.steps; }

  std::int64_t tokens_taken() const { return usage.total() + children_used.tokens + children_held.tokens; }

  Usd usd_taken() const { return cost_usd + children_used.usd + children_held.usd; }
};

/// Folds one event. Cannot fail; the same live and on recovery. `event.seq` must be the next one.
void apply(RunState& state, const Event& event);

/// The key under which an execution of a call may have its effect once: `{run_id}/{step}/{call_id}`.
std::string idempotency_key(const RunState& state, std::string_view call_id);

}  // namespace ratchet
