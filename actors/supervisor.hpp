#pragma once
// The supervisor of all runs: it knows which run holds an actor, takes runs up (when they are started, when a
// command or a due time wakes them, after a crash of the process or of their actor) and lets them go when
// they wait. It holds nothing of a run that waits: the journal's indexes tell it who is due.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "actors/caf.hpp"
#include "actors/parts.hpp"
#include "actors/run_actor.hpp"

namespace ratchet {

// --- what the supervisor is told, beside what run actors tell it

/// Take up every run that needs an actor. Told once, at the start.
struct RecoverAll {};

/// A stored deadline may have come.
struct LookAtClock {};

/// Many runs have ended: give back what they have freed.
struct GiveBackMemory {};

/// Take up nothing more, let every run come to rest. `done` is called when no actor is left.
struct Drain {
  std::shared_ptr<std::function<void()>> done;
};

/// The time for draining is over: every run actor ends now.
struct LetGo {};

/// What the supervisor shows of itself to other threads.
struct SupervisorView {
  std::atomic<bool> recovered{false};
  std::atomic<std::size_t> actors{0};
  std::atomic<std::uint64_t> actor_failures{0};
};

caf::actor spawn_supervisor(caf::actor_system& system, NodeParts& parts, SupervisorView& view);

}  // namespace ratchet

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::RecoverAll)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::LookAtClock)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::GiveBackMemory)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::Drain)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::LetGo)
