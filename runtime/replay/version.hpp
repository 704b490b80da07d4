#pragma once
// By which version a run goes: the registered one, or what the patch of a replay makes of it.

#include <memory>

#include "runtime/agent.hpp"
#include "runtime/event/definitions.hpp"
#include "runtime/journal.hpp"

namespace ratchet {

/// Errors: unknown_agent; those of `patched`.
Result<std::shared_ptr<const AgentVersion>> version_of(AgentCatalog& catalog, const RunStarted& started);

/// What an imported run was pinned to, as it is stored beside it.
DefinitionPut imported_definition(const RunId& run, const AgentVersion& version);

/// The same of a run whose first event is still to be read, which is done for replays only. Errors: as above,
/// and those of reading it.
Result<std::shared_ptr<const AgentVersion>> version_of(AgentCatalog& catalog,
                                                       JournalReader& journal,
                                                       const RunRow& row);

}  // namespace ratchet
