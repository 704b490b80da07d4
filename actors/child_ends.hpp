#pragma once
// What has become of sub-agents, as the journal says it.

#include <vector>

#include "runtime/journal.hpp"
#include "runtime/log.hpp"
#include "runtime/run/inputs.hpp"

namespace ratchet {

/// The ends of those of `children` that have ended. One that cannot be read is told to the log and left out.
std::vector<input::ChildEnded> ended_among(const std::vector<RunId>& children,
                                           JournalReader& journal,
                                           const Log& log);

}  // namespace ratchet
