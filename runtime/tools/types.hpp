#pragma once
// The vocabulary of tools that events and manifests share.

#include <string>

#include "runtime/enums.hpp"

namespace ratchet {

/// none: nothing changes. internal: state of the company's own systems. external: somebody outside notices.
RATCHET_ENUM(SideEffects, none, internal, external)

/// What a resume may do with a call that was announced and has no result.
RATCHET_ENUM(Idempotency, none, key, status_check)

RATCHET_ENUM(ToolKind, builtin, http, command, code, mcp)

/// How a call ended. `invalid`: the arguments were refused. `denied`: the call was. `timeout` is told only of
/// calls that cannot have had an effect; one that may have is a `call.unknown`.
RATCHET_ENUM(
    ToolStatus, ok, error, invalid, denied, rejected, expired, timeout, killed, cancelled, not_replayable)

RATCHET_ENUM(Decision, allow, ask, deny)

/// Where a result comes from. Anything but `execution` is of a replay: nothing was executed for it.
RATCHET_ENUM(ResultSource, execution, record, mock)

/// What an execution does: the call itself, or the question what became of an earlier attempt.
RATCHET_ENUM(Execution, call, status_check)

/// Why a call was allowed, or was not: each station's word. A station that a call did not come to says
/// nothing.
struct Verdict {
  Decision decision = Decision::deny;
  bool granted = false;     ///< the tool is in the version's list
  std::string schema;       ///< "ok", or what the arguments break, worded for the model
  std::string policy_rule;  ///< "default: read-only", or the number of the rule that matched
  std::string hooks;        ///< "ok", "rewritten by …", or who denied it and why
  std::string authz;        ///< "ok", or what the user may not do

  bool operator==(const Verdict&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "decision", self.decision);
    visit(2, "granted", self.granted);
    visit(3, "schema", self.schema);
    visit(4, "policy_rule", self.policy_rule);
    visit(5, "hooks", self.hooks);
    visit(6, "authz", self.authz);
  }
};

}  // namespace ratchet
