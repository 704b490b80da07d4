#pragma once
// The events of a run: everything there is to know about it. Each type names its fields once, with number and
// name: the number stands in the journal (event/codec.hpp), the name on the wire (event/json.hpp). Numbers
// are never reused; a field that is added later is absent from old records and takes its default.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/content.hpp"
#include "runtime/context/settings.hpp"
#include "runtime/model/config.hpp"
#include "runtime/model/reply.hpp"
#include "runtime/replay/origin.hpp"
#include "runtime/run/budgets.hpp"
#include "runtime/sandbox/command.hpp"
#include "runtime/time.hpp"
#include "runtime/tools/types.hpp"

namespace ratchet {

RATCHET_ENUM(StopReason,
             final_answer,
             step_limit,
             token_limit,
             time_limit,
             cost_limit,
             repeated_call,
             cancelled,
             refused,
             model_length,
             context_overflow,
             model_error,
             pause_expired,
             internal_error)
RATCHET_ENUM(PauseReason, approval, message, unknown_outcome, reauth, operator_)
RATCHET_ENUM(BudgetKind, steps, tokens, seconds, usd)
RATCHET_ENUM(CallOutcome, happened, did_not_happen)
RATCHET_ENUM(ApprovalDecision, approve, reject)
/// Who ended an approval. What nobody decided in time, or what a cancel took along, is a rejection.
RATCHET_ENUM(DecidedBy, person, expired, cancelled)

struct PinnedTool {
  std::string name;
  Hash digest;

  bool operator==(const PinnedTool&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "digest", self.digest);
  }
};

struct RunStarted {
  std::string agent_id;
  std::uint32_t agent_version = 0;
  Hash agent_digest;
  std::vector<PinnedTool> tools;  ///< sorted by name, frozen for the run
  ModelConfig model;
  ModelSettings settings;
  Content input;
  std::string user_id;
  std::vector<std::string> scopes;
  std::string team;
  std::optional<RunId> parent_run_id;
  RunId root_run_id;
  std::uint32_t depth = 0;
  Budgets budgets;
  Timestamp deadline_at;
  std::uint64_t seed = 0;
  std::string harness_version;
  std::uint32_t rules_version = 1;
  std::uint32_t assembler_version = 1;
  std::uint32_t result_cap_tokens = 2'000;
  bool interactive = false;
  std::optional<RunId> replay_of;
  Json labels{"{}"};
  std::optional<Timestamp> token_expires_at;  ///< of the user's token; absent: it does not expire, or is none
  bool pre_model_hooks = false;               ///< its version has hooks that are asked before each model call
  ContextSettings context;
  std::uint32_t subagent_levels = 0;   ///< of sub-agents that may be below it; 0: it starts none
  std::optional<ReplayOrigin> replay;  ///< with `replay_of`

  static constexpr std::string_view type = "run.started";
  bool operator==(const RunStarted&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "agent_id", self.agent_id);
    visit(2, "agent_version", self.agent_version);
    visit(3, "agent_digest", self.agent_digest);
    visit(4, "tools", self.tools);
    visit(5, "model", self.model);
    visit(6, "settings", self.settings);
    visit(7, "input", self.input);
    visit(8, "user_id", self.user_id);
    visit(9, "scopes", self.scopes);
    visit(10, "team", self.team);
    visit(11, "parent_run_id", self.parent_run_id);
    visit(12, "root_run_id", self.root_run_id);
    visit(13, "depth", self.depth);
    visit(14, "budgets", self.budgets);
    visit(15, "deadline_at", self.deadline_at);
    visit(16, "seed", self.seed);
    visit(17, "harness_version", self.harness_version);
    visit(18, "rules_version", self.rules_version);
    visit(19, "assembler_version", self.assembler_version);
    visit(20, "result_cap_tokens", self.result_cap_tokens);
    visit(21, "interactive", self.interactive);
    visit(22, "replay_of", self.replay_of);
    visit(23, "labels", self.labels);
    visit(24, "token_expires_at", self.token_expires_at);
    visit(25, "pre_model_hooks", self.pre_model_hooks);
    visit(26, "context", self.context);
    visit(27, "subagent_levels", self.subagent_levels);
    visit(28, "replay", self.replay);
  }
};

struct MessageReceived {
  Content content;
  std::string from;
  std::string idempotency_key;  ///< empty: none was given
  Hash content_hash;            ///< of the content as it was sent, to tell a repetition from another message

  static constexpr std::string_view type = "message.received";
  bool operator==(const MessageReceived&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "content", self.content);
    visit(2, "from", self.from);
    visit(3, "idempotency_key", self.idempotency_key);
    visit(4, "content_hash", self.content_hash);
  }
};

/// A fresh token of the same user. The token itself is sealed beside the journal and never in it.
struct UserTokenReceived {
  std::vector<std::string> scopes;
  std::optional<Timestamp> expires_at;
  std::string from;  ///< the API key's id

  static constexpr std::string_view type = "user_token.received";
  bool operator==(const UserTokenReceived&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "scopes", self.scopes);
    visit(2, "expires_at", self.expires_at);
    visit(3, "from", self.from);
  }
};

/// Announces one attempt of a model call and reserves what it may cost at most. A compaction belongs to the
/// step that was last begun, and its attempts count on.
struct ModelRequested {
  CallPurpose purpose = CallPurpose::step;
  std::uint32_t attempt = 1;
  std::uint32_t provider = 0;  ///< index into the run's providers
  std::uint32_t assembler_version = 1;
  Hash prompt_hash;   ///< without late text and cache marks
  Hash request_hash;  ///< of the bytes sent
  std::int64_t max_tokens = 0;
  std::string late_text;  ///< the last message of this one request; empty: none
  std::int64_t estimated_tokens = 0;
  Amount reserved;
  std::string hook_text;           ///< what hooks at `pre_model` added to that message
  std::uint64_t up_to_seq = 0;     ///< of a compaction: what it shows, and what its note will replace
  std::int64_t prefix_tokens = 0;  ///< of `estimated_tokens`: what the request before began with, too

  /// The last message as it was sent.
  std::string late_message() const { return hook_text.empty() ? late_text : late_text + '\n' + hook_text; }

  static constexpr std::string_view type = "model.requested";
  bool operator==(const ModelRequested&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "purpose", self.purpose);
    visit(2, "attempt", self.attempt);
    visit(3, "provider", self.provider);
    visit(4, "assembler_version", self.assembler_version);
    visit(5, "prompt_hash", self.prompt_hash);
    visit(6, "request_hash", self.request_hash);
    visit(7, "max_tokens", self.max_tokens);
    visit(8, "late_text", self.late_text);
    visit(9, "estimated_tokens", self.estimated_tokens);
    visit(10, "reserved", self.reserved);
    visit(11, "hook_text", self.hook_text);
    visit(12, "up_to_seq", self.up_to_seq);
    visit(13, "prefix_tokens", self.prefix_tokens);
  }
};

struct ModelCompleted {
  std::uint32_t attempt = 1;
  ModelStop stop_reason = ModelStop::end_turn;
  std::vector<ReplyBlock> content;
  Usage usage;
  bool usage_estimated = false;
  Usd cost_usd;
  std::int64_t latency_ms = 0;
  std::int64_t ttft_ms = 0;
  CallPurpose purpose = CallPurpose::step;

  static constexpr std::string_view type = "model.completed";
  bool operator==(const ModelCompleted&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "attempt", self.attempt);
    visit(2, "stop_reason", self.stop_reason);
    visit(3, "content", self.content);
    visit(4, "usage", self.usage);
    visit(5, "usage_estimated", self.usage_estimated);
    visit(6, "cost_usd", self.cost_usd);
    visit(7, "latency_ms", self.latency_ms);
    visit(8, "ttft_ms", self.ttft_ms);
    visit(9, "purpose", self.purpose);
  }
};

struct ModelFailed {
  std::uint32_t attempt = 1;
  std::string error;
  FailureClass kind = FailureClass::transient;
  Usage charged;
  Usd charged_usd;
  std::optional<Timestamp> retry_at;
  std::optional<std::uint32_t> next_provider;

  static constexpr std::string_view type = "model.failed";
  bool operator==(const ModelFailed&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "attempt", self.attempt);
    visit(2, "error", self.error);
    visit(3, "class", self.kind);
    visit(4, "charged", self.charged);
    visit(5, "charged_usd", self.charged_usd);
    visit(6, "retry_at", self.retry_at);
    visit(7, "next_provider", self.next_provider);
  }
};

struct ToolRequested {
  std::string call_id;
  std::string tool;
  Json args;       ///< as the model made them, or as a hook rewrote them (`verdict.hooks` says so)
  Hash args_hash;  ///< SHA-256 of the canonical arguments (RFC 8785)
  std::uint32_t tier = 1;
  SideEffects side_effects = SideEffects::none;
  Verdict verdict;
  std::uint32_t repeats = 0;  ///< how many times in a row the same call came before this one

  static constexpr std::string_view type = "tool.requested";
  bool operator==(const ToolRequested&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "call_id", self.call_id);
    visit(2, "tool", self.tool);
    visit(3, "args", self.args);
    visit(4, "args_hash", self.args_hash);
    visit(5, "tier", self.tier);
    visit(6, "side_effects", self.side_effects);
    visit(7, "verdict", self.verdict);
    visit(8, "repeats", self.repeats);
  }
};

struct ToolPlanned {
  std::string call_id;
  Hash args_hash;
  std::string idempotency_key;
  std::uint32_t attempt = 1;
  Execution execution = Execution::call;
  std::optional<Timestamp> until;       ///< the built-in `wait`: when it is over
  std::optional<Timestamp> not_before;  ///< a repeated attempt waits until then
  bool awaits_user = false;             ///< the user's token has expired: it waits for a fresh one
  bool previous_unsent = false;         ///< the attempt before this one certainly never left

  static constexpr std::string_view type = "tool.planned";
  bool operator==(const ToolPlanned&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "call_id", self.call_id);
    visit(2, "args_hash", self.args_hash);
    visit(3, "idempotency_key", self.idempotency_key);
    visit(4, "attempt", self.attempt);
    visit(5, "execution", self.execution);
    visit(6, "until", self.until);
    visit(7, "not_before", self.not_before);
    visit(8, "awaits_user", self.awaits_user);
    visit(9, "previous_unsent", self.previous_unsent);
  }
};

struct ToolResult {
  std::string call_id;
  ToolStatus status = ToolStatus::ok;
  Content content;
  std::uint64_t bytes = 0;   ///< of the whole result
  std::uint64_t cut_at = 0;  ///< how much of it the model is shown; equal to `bytes`: all
  std::int64_t latency_ms = 0;
  std::uint32_t order = 0;        ///< the how-manieth of its batch to arrive, from 1
  std::string sandbox;            ///< in which it ran; empty: in none
  std::optional<Hash> workspace;  ///< the snapshot after it; absent: it cannot have changed the workspace
  std::optional<SandboxEvidence> evidence;  ///< of what the sandbox held back
  ResultSource source = ResultSource::execution;

  static constexpr std::string_view type = "tool.result";
  bool operator==(const ToolResult&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "call_id", self.call_id);
    visit(2, "status", self.status);
    visit(3, "content", self.content);
    visit(4, "bytes", self.bytes);
    visit(5, "cut_at", self.cut_at);
    visit(6, "latency_ms", self.latency_ms);
    visit(7, "order", self.order);
    visit(8, "sandbox", self.sandbox);
    visit(9, "workspace", self.workspace);
    visit(10, "evidence", self.evidence);
    visit(11, "source", self.source);
  }
};

/// A person is asked whether this call may run, with exactly these arguments.
struct ApprovalRequired {
  ApprovalId approval_id;
  std::string call_id;
  std::string tool;
  Json args;
  Hash args_hash;
  std::string why;  ///< the rule that asks
  Timestamp expires_at;
  std::optional<Timestamp> remind_at;

  static constexpr std::string_view type = "approval.required";
  bool operator==(const ApprovalRequired&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "approval_id", self.approval_id);
    visit(2, "call_id", self.call_id);
    visit(3, "tool", self.tool);
    visit(4, "args", self.args);
    visit(5, "args_hash", self.args_hash);
    visit(6, "why", self.why);
    visit(7, "expires_at", self.expires_at);
    visit(8, "remind_at", self.remind_at);
  }
};

/// Nobody has decided yet, and the time for a reminder has come. Nothing else changes.
struct ApprovalReminded {
  ApprovalId approval_id;
  std::string call_id;

  static constexpr std::string_view type = "approval.reminded";
  bool operator==(const ApprovalReminded&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "approval_id", self.approval_id);
    visit(2, "call_id", self.call_id);
  }
};

/// Written once for each approval.
struct ApprovalDecided {
  ApprovalId approval_id;
  std::string call_id;
  ApprovalDecision decision = ApprovalDecision::reject;
  std::optional<Json> edited_args;  ///< canonical; what runs instead of what was asked about
  Hash effective_args_hash;         ///< of what runs, or would have run
  Verdict verdict;                  ///< on the effective arguments, when the decision came
  std::string by;                   ///< the API key's id; empty unless a person decided
  std::string comment;
  DecidedBy reason = DecidedBy::person;

  static constexpr std::string_view type = "approval.decided";
  bool operator==(const ApprovalDecided&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "approval_id", self.approval_id);
    visit(2, "call_id", self.call_id);
    visit(3, "decision", self.decision);
    visit(4, "edited_args", self.edited_args);
    visit(5, "effective_args_hash", self.effective_args_hash);
    visit(6, "verdict", self.verdict);
    visit(7, "by", self.by);
    visit(8, "comment", self.comment);
    visit(9, "reason", self.reason);
  }
};

struct BudgetWarning {
  BudgetKind which = BudgetKind::steps;
  std::int64_t used = 0;  ///< steps, tokens, seconds or nano-dollars
  std::int64_t limit = 0;

  static constexpr std::string_view type = "budget.warning";
  bool operator==(const BudgetWarning&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "which", self.which);
    visit(2, "used", self.used);
    visit(3, "limit", self.limit);
  }
};

/// A call that may have happened: nobody may run it again or call it failed without a person's word.
struct CallUnknown {
  std::string call_id;
  std::string why;

  static constexpr std::string_view type = "call.unknown";
  bool operator==(const CallUnknown&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "call_id", self.call_id);
    visit(2, "why", self.why);
  }
};

struct CallResolved {
  std::string call_id;
  CallOutcome outcome = CallOutcome::happened;
  std::string by;
  Content result;  ///< what the model is told, where it happened

  static constexpr std::string_view type = "call.resolved";
  bool operator==(const CallResolved&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "call_id", self.call_id);
    visit(2, "outcome", self.outcome);
    visit(3, "by", self.by);
    visit(4, "result", self.result);
  }
};

struct RunPaused {
  std::vector<PauseReason> reasons;
  Timestamp expires_at;
  std::vector<std::string> call_ids;  ///< that wait for a person's word or for a fresh token
  std::string error;                  ///< of `operator`: what made the run fail
  std::vector<ApprovalId> approval_ids;

  static constexpr std::string_view type = "run.paused";
  bool operator==(const RunPaused&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "reasons", self.reasons);
    visit(2, "expires_at", self.expires_at);
    visit(3, "call_ids", self.call_ids);
    visit(4, "error", self.error);
    visit(5, "approval_ids", self.approval_ids);
  }
};

struct RunResumed {
  PauseReason reason = PauseReason::message;
  Timestamp deadline_at;  ///< moved by the time spent waiting

  static constexpr std::string_view type = "run.resumed";
  bool operator==(const RunResumed&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "reason", self.reason);
    visit(2, "deadline_at", self.deadline_at);
  }
};

struct RunCancelRequested {
  std::string by;
  std::string reason;
  std::optional<StopReason> stop_reason =
      {};  ///< the run ends by itself, and its sub-agents first; absent: cancelled

  static constexpr std::string_view type = "run.cancel_requested";
  bool operator==(const RunCancelRequested&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "by", self.by);
    visit(2, "reason", self.reason);
    visit(3, "stop_reason", self.stop_reason);
  }
};

/// A sub-agent begins: a run of its own, whose first event is in the same append. Its share is held from what
/// its parent has left until it ends.
struct SubagentStarted {
  std::string call_id;
  RunId child_run_id;
  std::string agent_id;
  std::uint32_t agent_version = 0;
  Share share;
  Timestamp deadline_at;  ///< of the child, as it starts

  static constexpr std::string_view type = "subagent.started";
  bool operator==(const SubagentStarted&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "call_id", self.call_id);
    visit(2, "child_run_id", self.child_run_id);
    visit(3, "agent", self.agent_id);
    visit(4, "agent_version", self.agent_version);
    visit(5, "share", self.share);
    visit(6, "deadline_at", self.deadline_at);
  }
};

/// A sub-agent has ended, and all below it: what it left of its share is its parent's again.
struct SubagentFinished {
  std::string call_id;
  RunId child_run_id;
  StopReason stop_reason = StopReason::final_answer;
  Share used;
  std::int64_t waited_us = 0;  ///< for people: its deadline moved by it, and so does its parent's
  Content result;              ///< its final message, or why there is none

  static constexpr std::string_view type = "subagent.finished";
  bool operator==(const SubagentFinished&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "call_id", self.call_id);
    visit(2, "child_run_id", self.child_run_id);
    visit(3, "stop_reason", self.stop_reason);
    visit(4, "used", self.used);
    visit(5, "waited_us", self.waited_us);
    visit(6, "result", self.result);
  }
};

/// What was said up to `up_to_seq` is in the context as this summary only; the journal keeps all of it.
struct ContextCompacted {
  std::uint64_t up_to_seq = 0;
  std::string summary;
  std::int64_t tokens_before = 0;  ///< estimated, of the whole request
  std::int64_t tokens_after = 0;

  static constexpr std::string_view type = "context.compacted";
  bool operator==(const ContextCompacted&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "up_to_seq", self.up_to_seq);
    visit(2, "summary", self.summary);
    visit(3, "tokens_before", self.tokens_before);
    visit(4, "tokens_after", self.tokens_after);
  }
};

struct ReportedCall {
  std::string call_id;
  std::string tool;
  ToolStatus status = ToolStatus::ok;

  bool operator==(const ReportedCall&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "call_id", self.call_id);
    visit(2, "tool", self.tool);
    visit(3, "status", self.status);
  }
};

/// What was finished and what was not, for a run that stopped on a limit.
struct Report {
  std::string text;
  std::int64_t steps = 0;
  std::vector<ReportedCall> calls;
  std::vector<std::string> open;  ///< todos that are not done

  bool operator==(const Report&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "text", self.text);
    visit(2, "steps", self.steps);
    visit(3, "calls", self.calls);
    visit(4, "open", self.open);
  }
};

struct RunFinished {
  StopReason stop_reason = StopReason::final_answer;
  std::optional<std::string> result;  ///< the final answer's text
  std::optional<Report> report;
  std::string error;  ///< for people, where the run did not end well
  std::int64_t steps = 0;
  Usage usage;
  Usd cost_usd;
  Share subagents;  ///< used by all runs below this one; not in the fields before

  static constexpr std::string_view type = "run.finished";
  bool operator==(const RunFinished&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "stop_reason", self.stop_reason);
    visit(2, "result", self.result);
    visit(3, "report", self.report);
    visit(4, "error", self.error);
    visit(5, "steps", self.steps);
    visit(6, "usage", self.usage);
    visit(7, "cost_usd", self.cost_usd);
    visit(8, "subagents", self.subagents);
  }
};

/// The position in this list, from 1, is the type's number in the journal. The list only grows at its end.
using Payload = std::variant<RunStarted,          // 1, since format 1
                             MessageReceived,     // 2
                             ModelRequested,      // 3
                             ModelCompleted,      // 4
                             ModelFailed,         // 5
                             ToolRequested,       // 6
                             ToolPlanned,         // 7
                             ToolResult,          // 8
                             BudgetWarning,       // 9
                             CallUnknown,         // 10
                             CallResolved,        // 11
                             RunPaused,           // 12
                             RunResumed,          // 13
                             RunCancelRequested,  // 14
                             RunFinished,         // 15
                             ApprovalRequired,    // 16
                             ApprovalReminded,    // 17
                             ApprovalDecided,     // 18
                             UserTokenReceived,   // 19
                             SubagentStarted,     // 20
                             SubagentFinished,    // 21
                             ContextCompacted>;   // 22

struct Event {
  std::uint64_t seq = 0;  ///< 1, 2, 3 … in its run
  Timestamp at;
  std::uint32_t step = 0;  ///< the first model call is step 1; 0 before it
  std::uint32_t lease_version = 0;
  Payload payload;
  bool replayed =
      false;  ///< taken over from the run that is replayed: it counts as a step, and costs nothing

  bool operator==(const Event&) const = default;
};

std::string_view type_name(const Event& event);

}  // namespace ratchet
