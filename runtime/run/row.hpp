#pragma once
// A run's row: what lists, look-ups and the supervisor need without reading events. Derived from the run's
// state by `row_of`, written in the transaction of the events, and never the source of anything.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/event/definitions.hpp"
#include "runtime/run/prompt_filter.hpp"

namespace ratchet {

RATCHET_ENUM(RunStatus, queued, running, paused, finished)

struct RunRow {
  RunId run_id;
  std::string team, agent_id, user_id;
  std::uint32_t agent_version = 0;
  std::optional<RunId> parent_run_id, replay_of;
  RunId root_run_id;
  std::uint32_t depth = 0;
  RunStatus status = RunStatus::queued;
  bool active = true;               ///< a start takes it up; false: it waits for time or a person, or is over
  std::optional<Timestamp> due_at;  ///< the earliest stored deadline, where the run waits
  std::uint32_t lease = 1;          ///< rises with every activation
  std::uint32_t resumes = 0;        ///< activations after a crash since the last progress
  std::uint64_t last_seq = 0;
  Hash head;  ///< of the audit chain, after `last_seq`
  std::uint32_t step = 0;
  Budgets budgets;
  Timestamp deadline_at;
  Usage usage;
  Usd cost_usd;
  std::int64_t seconds_used = 0;  ///< when the run last wrote; waiting for people not counted
  std::vector<PauseReason> pause_reasons;
  Timestamp paused_since, pause_expires_at;
  std::vector<std::string> pause_call_ids;
  std::optional<StopReason> stop_reason;
  Timestamp created_at, finished_at;
  std::string harness_version, model;
  Json labels{"{}"};
  std::uint32_t blobs = 0;  ///< how many the run has
  std::vector<ApprovalId> pending_approvals;
  Share subagents;                       ///< used by the runs below it that have ended
  std::int64_t paused_us = 0;            ///< waited for people so far
  PromptFilter prompts;                  ///< that it may have sent
  std::optional<Timestamp> imported_at;  ///< it ran on another server, and was taken from an export

  bool operator==(const RunRow&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "run_id", self.run_id);
    visit(2, "team", self.team);
    visit(3, "agent_id", self.agent_id);
    visit(4, "user_id", self.user_id);
    visit(5, "agent_version", self.agent_version);
    visit(6, "parent_run_id", self.parent_run_id);
    visit(7, "replay_of", self.replay_of);
    visit(8, "root_run_id", self.root_run_id);
    visit(9, "depth", self.depth);
    visit(10, "status", self.status);
    visit(11, "active", self.active);
    visit(12, "due_at", self.due_at);
    visit(13, "lease", self.lease);
    visit(14, "resumes", self.resumes);
    visit(15, "last_seq", self.last_seq);
    visit(16, "head", self.head);
    visit(17, "step", self.step);
    visit(18, "budgets", self.budgets);
    visit(19, "deadline_at", self.deadline_at);
    visit(20, "usage", self.usage);
    visit(21, "cost_usd", self.cost_usd);
    visit(22, "seconds_used", self.seconds_used);
    visit(23, "pause_reasons", self.pause_reasons);
    visit(24, "paused_since", self.paused_since);
    visit(25, "pause_expires_at", self.pause_expires_at);
    visit(26, "pause_call_ids", self.pause_call_ids);
    visit(27, "stop_reason", self.stop_reason);
    visit(28, "created_at", self.created_at);
    visit(29, "finished_at", self.finished_at);
    visit(30, "harness_version", self.harness_version);
    visit(31, "model", self.model);
    visit(32, "labels", self.labels);
    visit(33, "blobs", self.blobs);
    visit(34, "pending_approvals", self.pending_approvals);
    visit(35, "subagents", self.subagents);
    visit(36, "paused_us", self.paused_us);
    visit(37, "imported_at", self.imported_at);
    visit(38, "prompts", self.prompts.bits);
  }
};

std::string encode_row(const RunRow& row);
/// Errors: corrupt.
Result<RunRow> decode_row(std::string_view bytes);

}  // namespace ratchet
