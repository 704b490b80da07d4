#pragma once
// How a run begins: its first event, and the append that it comes with.

#include <memory>
#include <string>
#include <utility>

#include "runtime/agent.hpp"
#include "runtime/journal.hpp"
#include "runtime/run/decide.hpp"

namespace ratchet {

/// What of `run.started` follows from the agent's version and the model that it names; everything about this
/// one run is left to the caller.
RunStarted started_of(const AgentVersion& agent, const ModelConfig& model, std::string harness_version);

/// What pins a run's randomness: 48 bits, so that every reader of JSON keeps all of them.
std::uint64_t draw_seed(Entropy& entropy);

/// The first event of a run. `content` over `limits::inline_bytes_max` becomes an artifact.
Decided start_run(const RunId& run_id, RunStarted started, Stamp& stamp);

/// The first record of a run, as it is appended and as its actor takes it up.
struct FirstAppend {
  RunAppend append;
  std::shared_ptr<const std::pair<RunRow, Record>> started;
};

FirstAppend first_append(const RunId& run_id, RunStarted started, RecordPacker pack, Stamp& stamp);
/// The same of a run that begins with more than its first event: `decided` has all of them.
FirstAppend first_append(Decided decided, RecordPacker pack, Stamp& stamp);

}  // namespace ratchet
