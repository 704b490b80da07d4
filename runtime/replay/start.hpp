#pragma once
// How a replay begins: the first event of the new run, and what follows it out of the record.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/event/definitions.hpp"
#include "runtime/replay/rule.hpp"
#include "runtime/run/decide.hpp"

namespace ratchet {

/// Who replays: the user whose token was given, or nobody, and then the verdicts are those for the record's
/// user.
struct ReplayUser {
  std::string id;
  std::vector<std::string> scopes;
  std::optional<Timestamp> token_expires_at;
};

struct ReplayOrder {
  ReplayOrigin origin;                 ///< with the patch as it is to be stored
  std::optional<Content> input;        ///< of the patch
  const ModelConfig* model = nullptr;  ///< that the patch names; none: that of the record, as it was pinned
  std::optional<ReplayUser> user;
  bool environment = false;  ///< the server is there for replays only
  std::string harness_version;
};

/// The first events of the replay: `run.started`, then what is taken over. `original`: the record, from its
/// first event on. `version`: by which the replay goes. Errors: unknown_step; not_replayable, where the model
/// does not take what was chosen against its randomness, or a mock is of no use; invalid_request, where a
/// tool that would run needs the user.
Result<std::vector<Event>> replay_events(const ReplayOrder& order,
                                         std::span<const Event> original,
                                         const AgentVersion& version,
                                         Timestamp now);

/// The run's first append of these events: a large input of the patch becomes an artifact.
Decided start_replay(const RunId& run_id, std::vector<Event> events, Stamp& stamp);

/// The origin of a sub-agent that a replay starts: its tools are under the same rule.
ReplayOrigin inherited(const ReplayOrigin& origin);

}  // namespace ratchet
