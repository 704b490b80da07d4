#pragma once
// Looking at what was sent: requests are not stored, they are derived from the journal again and proven by
// their hash.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/event/definitions.hpp"

namespace ratchet {

/// The exact bytes of the request of this step and attempt (0: its last that is no compaction). `events` are
/// those of the run from the first on, at least up to that request. Errors: not_found; corrupt, if the bytes
/// do not have the hash that was journaled.
Result<std::string> request_bytes(const AgentVersion& agent,
                                  const std::vector<Event>& events,
                                  std::uint32_t step,
                                  std::uint32_t attempt);

}  // namespace ratchet
