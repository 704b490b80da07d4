#pragma once
// Events: how a run begins, is spoken to, waits and ends.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/content.hpp"
#include "runtime/context/settings.hpp"
#include "runtime/hash.hpp"
#include "runtime/ids.hpp"
#include "runtime/model/config.hpp"
#include "runtime/model/reply.hpp"
#include "runtime/money.hpp"
#include "runtime/replay/origin.hpp"
#include "runtime/run/budgets.hpp"
#include "runtime/run/rules_version.hpp"
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
  std::uint32_t rules_version = newest_rules;
  std::uint32_t assembler_version = newest_assembler;
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

}  // namespace ratchet
