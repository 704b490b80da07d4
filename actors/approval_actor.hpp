#pragma once
// Approvals as actors. An approval that waits is a row in the journal and nothing else; when somebody
// decides, its actor is spawned, gathers what has to be known about the arguments that would run, and hands
// decision and facts to the run together. Decisions on one approval come one after the other. The desk
// supervises these actors: it starts them, ends them when they have nothing to do, and answers for one that
// fails.

#include <memory>

#include "actors/caf.hpp"
#include "actors/parts.hpp"
#include "runtime/node.hpp"

namespace ratchet {

/// What the desk is told: a decision, and who waits for its answer. `reply` is empty once somebody else has
/// taken it over.
struct PendingDecision {
  DecideApproval command;
  Reply<Accepted> reply;
};

struct DecisionCame {
  std::shared_ptr<PendingDecision> decision;
};

/// Decisions go on to the runs through `supervisor`.
caf::actor spawn_approval_desk(caf::actor_system& system, NodeParts& parts, const caf::actor& supervisor);

}  // namespace ratchet

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::DecisionCame)
