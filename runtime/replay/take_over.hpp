#pragma once
// What a replay takes over from the record: the events of the steps before its first live one, so far as a
// fold needs them to arrive at the same state, context and workspace.
//
//   taken    model calls with all their attempts and replies, calls as they were asked for and what they
//   returned,
//            messages, compactions, and the approvals that changed arguments, as they were
//   left     what was planned and executed (nothing of it happens again, and its keys are of the other run),
//   doubts and
//            their resolutions (the result follows), pauses and tokens (time and user are the replay's own),
//            warnings and shares of budgets (likewise), sub-agents (their answer is a result)
//
// They are written with `replayed: true`, new numbers and the time of now, in the replay's first append.
// Their large contents stay where they are, under the ids that the model was told: a replay refers to
// artifacts and snapshots of the run it replays, and whatever deletes a run has to look for its replays
// first.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/event/definitions.hpp"

namespace ratchet {

/// The events to take over, numbered from 2. `other_model`: the replay talks to another model than the
/// record, which cannot read the reasoning of that one, so it is left out, and provider numbers mean nothing.
/// Errors: unknown_step, where the record has no such step.
Result<std::vector<Event>> take_over(std::span<const Event> original,
                                     std::uint32_t from_step,
                                     bool other_model,
                                     Timestamp now);

/// The workspace snapshots that events name, each once.
std::vector<Hash> snapshots_of(std::span<const Event> events);

}  // namespace ratchet
