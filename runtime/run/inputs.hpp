#pragma once
// What can reach a run, and what it can want from the world.

#include <cstdint>
#include <string>
#include <variant>

#include "runtime/event/definitions.hpp"
#include "runtime/model/client.hpp"
#include "runtime/tools/call_end.hpp"
#include "runtime/tools/facts.hpp"

namespace ratchet {

// --- effects
// --------------------------------------------------------------------------------------------------

/// One attempt of a model call.
struct ModelEffect {
  std::uint32_t step = 0, attempt = 0;
  auto operator<=>(const ModelEffect&) const = default;
};

/// One execution of a tool call.
struct CallEffect {
  std::string call_id;
  std::uint32_t attempt = 0;
  auto operator<=>(const CallEffect&) const = default;
};

/// The facts for judging a call.
struct JudgeEffect {
  std::string call_id;
  auto operator<=>(const JudgeEffect&) const = default;
};

/// What the hooks at `pre_model` say about an attempt that is to be announced.
struct BriefEffect {
  std::uint32_t step = 0, attempt = 0;
  auto operator<=>(const BriefEffect&) const = default;
};

using Effect = std::variant<ModelEffect, CallEffect, JudgeEffect, BriefEffect>;

// --- inputs
// ---------------------------------------------------------------------------------------------------

namespace input {

/// The run was taken up: for the first time, or after a crash, a drain or a wait. Whatever was under way is
/// lost.
struct Recovered {};

/// Time has passed: a stored deadline may have come.
struct Due {};

/// One attempt of a model call has ended.
struct ModelEnded {
  std::uint32_t step = 0, attempt = 0;
  ModelOutcome outcome;
};

/// One execution of a tool call has ended.
struct CallEnded {
  std::string call_id;
  std::uint32_t attempt = 0;
  CallEnd end;
};

/// What the agent that a call wants to start is like, or why it cannot be had.
struct ChildReady {
  std::string call_id;
  std::uint32_t attempt = 0;
  Result<RunStarted> started;  ///< as `started_of` makes it
};

/// A sub-agent has finished. Told again until it is durable here.
struct ChildEnded {
  RunId child_run_id;
  StopReason stop_reason = StopReason::final_answer;
  Share used;                  ///< by it and everything below it
  std::int64_t waited_us = 0;  ///< for people
  std::string text;            ///< its answer, or its report
  bool reviewed = false;       ///< `text` is what the hooks at `post_tool` have left of it
};

/// The facts for a call's verdict are in.
struct Judged {
  std::string call_id;
  CallFacts facts;
};

/// The hooks at `pre_model` have spoken.
struct Briefed {
  BriefEffect effect;
  ModelFacts facts;
};

/// A person has decided. `facts` are about the arguments that would run, gathered when the decision came.
struct Decide {
  ApprovalId approval_id;
  ApprovalDecision decision = ApprovalDecision::reject;
  std::optional<Json> edited_args;  ///< canonical
  std::optional<Hash> args_hash;    ///< of the arguments that the person saw
  std::string by, comment;
  CallFacts facts;
};

/// A fresh token of the run's user, verified. `token` is a secret: it is sealed with the append of the event
/// and nowhere else.
struct UserToken {
  std::string token;
  std::vector<std::string> scopes;
  std::optional<Timestamp> expires_at;
  std::string from;
};

struct Message {
  Content content;
  std::string from, idempotency_key;
};

struct Cancel {
  std::string by, reason;
};

/// Everything that was under way has been stopped, after a cancel.
struct Stopped {};

struct Resolve {
  std::string call_id;
  CallOutcome outcome = CallOutcome::happened;
  Content result;
  std::string by;
};

struct Resume {
  std::string by;
};

}  // namespace input

using Input = std::variant<input::Recovered,
                           input::Due,
                           input::ModelEnded,
                           input::CallEnded,
                           input::ChildReady,
                           input::ChildEnded,
                           input::Judged,
                           input::Briefed,
                           input::Decide,
                           input::UserToken,
                           input::Message,
                           input::Cancel,
                           input::Stopped,
                           input::Resolve,
                           input::Resume>;

}  // namespace ratchet
