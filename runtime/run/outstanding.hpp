#pragma once
// Views of a run's state: what should be under way, when it must be looked at again, and its row. None of
// them is stored by itself, so none can fall out of step.

#include <optional>
#include <vector>

#include "runtime/run/inputs.hpp"
#include "runtime/run/row.hpp"
#include "runtime/run/state.hpp"

namespace ratchet {

/// The attempt of a model call that is announced once its hooks have spoken; none: nothing waits for hooks.
std::optional<BriefEffect> unbriefed(const RunState& state, Timestamp now);

/// What should be under way and is not settled. A paused, cancelled or finished run wants nothing of the
/// world.
std::vector<Effect> outstanding(const RunState& state, Timestamp now);

/// The earliest stored deadline, if there is one. A delayed attempt counts until its time has come: it is
/// outstanding then.
std::optional<Timestamp> next_due(const RunState& state, Timestamp now);

/// When four fifths of its seconds are used, if that has not been told yet. It moves with the deadline.
std::optional<Timestamp> seconds_warning_at(const RunState& state);

/// True if something is under way that the deadline does not cut off: a call that acts on the world ends by
/// its own, a sub-agent has its deadline within this one. Then the run does.
bool is_acting(const RunState& state);

/// True if only time, a person or a sub-agent can move the run: it needs no actor until then.
bool waits(const RunState& state);

/// The row after the last event. `lease`, `resumes` and `head` are the caller's to set.
RunRow row_of(const RunState& state);

}  // namespace ratchet
