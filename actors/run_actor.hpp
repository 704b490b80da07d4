#pragma once
// The actor of one run: it executes what the RunDriver says and tells it what came of that. It has no rules
// of its own.
//
// A run actor begins with an activation: it reads the run's row, commits a higher lease, folds the journal
// and hands the driver `Recovered`; a run that was just started is taken up without reading anything. It ends
// when the driver says so. Between the driver's last word and the actor's end a command may be on its way: it
// is handed back to the supervisor, which takes the run up again.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/caf.hpp"
#include "actors/parts.hpp"

namespace ratchet {

/// A command for a run, and who waits for its answer.
struct Command {
  std::string team;
  Input input;
  Reply<Accepted> reply;  ///< may be empty: nobody waits
};

// --- what a run actor is told

/// Take the run up from the journal. `after_failure`: its actor has just failed. `command`: why, if for one;
/// it comes along, because a run that waits rests again as soon as it was taken up and nothing is there for
/// it.
struct Activate {
  bool after_failure = false;
  std::shared_ptr<Command> command = nullptr;
};

/// Take up the run that was just started: its row and its first record are at hand.
struct Adopt {
  std::shared_ptr<const std::pair<RunRow, Record>> started;
};

struct Deliver {
  std::shared_ptr<Command> command;
};

struct AppendEnded {
  enum class Of { claim, quarantine, events };
  std::shared_ptr<Result<Committed>> outcome;
  Of of = Of::events;
};

struct EffectEnded {
  std::shared_ptr<Input> input;
};

/// What was stopped and had to end by itself has ended.
struct EffectGone {
  Effect effect;
};

struct Wake {
  std::uint64_t generation = 0;
};

/// Come to rest: announce nothing more, end when nothing is under way.
struct Rest {};

/// End now. Nothing that was told before it is lost: it is handed back.
struct Release {};

// --- what it tells the supervisor

/// The run has been taken up, or could not be.
struct TakenUp {
  RunId run;
};

/// The run needs no actor any more. `due_at`: when it must be taken up again by itself.
struct AtRest {
  RunId run;
  std::optional<Timestamp> due_at;
};

/// A command came too late for this activation.
struct HandBack {
  RunId run;
  std::shared_ptr<Command> command;
};

/// A run has just begun and is durable.
struct Started {
  RunId run;
  std::shared_ptr<const std::pair<RunRow, Record>> first;
};

/// A command for any run: its actor is found, or the run taken up.
struct Forward {
  RunId run;
  std::shared_ptr<Command> command;
};

/// Spawns the actor of `run`. It does nothing until it is told to take the run up.
caf::actor spawn_run(caf::actor_system& system,
                     NodeParts& parts,
                     const RunId& run,
                     const caf::actor& supervisor);

}  // namespace ratchet

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::Activate)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::Adopt)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::Deliver)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::AppendEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::EffectEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::EffectGone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::Wake)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::Rest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::Release)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::TakenUp)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::AtRest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::HandBack)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::Started)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::Forward)
