#pragma once
// Events: calls of tools, from the request to the result, and the sub-agents that some of them are.

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/content.hpp"
#include "runtime/event/run_events.hpp"
#include "runtime/hash.hpp"
#include "runtime/ids.hpp"
#include "runtime/replay/origin.hpp"
#include "runtime/run/budgets.hpp"
#include "runtime/sandbox/command.hpp"
#include "runtime/time.hpp"
#include "runtime/tools/types.hpp"

namespace ratchet {

RATCHET_ENUM(CallOutcome, happened, did_not_happen)

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

}  // namespace ratchet
