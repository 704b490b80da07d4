#include "runtime/replay/version.hpp"

#include "runtime/event/fields.hpp"
#include "runtime/replay/export.hpp"
#include "runtime/replay/patch.hpp"

namespace ratchet {

namespace {

constexpr std::string_view imported_table = "imported";

Result<std::shared_ptr<const AgentVersion>> imported_version(JournalReader& journal, const RunId& run) {
  const auto stored = journal.definitions(imported_table, to_string(run));
  if (!stored) return tl::unexpected(stored.error());
  Export pinned;
  if (stored->size() != 1 || fields::read(stored->front().second, pinned) != nullptr)
    return fail(ErrorCode::corrupt, "the definition of the imported run is missing or damaged");
  return version_of(pinned);
}

}  // namespace

Result<std::shared_ptr<const AgentVersion>> version_of(AgentCatalog& catalog, const RunStarted& started) {
  auto base = catalog.find(started.team, started.agent_id, started.agent_version);
  if (!base || !started.replay) return base;
  return patched(std::move(*base), started.replay->patch);
}

DefinitionPut imported_definition(const RunId& run, const AgentVersion& version) {
  Export pinned;
  pinned.definition = version.definition.source;
  pinned.agent_version = version.version;
  for (const ToolManifest& tool : version.tools)
    pinned.manifests.push_back(tool.source.text);
  DefinitionPut put{std::string(imported_table), to_string(run), {}, true};
  fields::write(pinned, put.value);
  return put;
}

Result<std::shared_ptr<const AgentVersion>> version_of(AgentCatalog& catalog,
                                                       JournalReader& journal,
                                                       const RunRow& row) {
  if (row.imported_at) return imported_version(journal, row.run_id);
  if (!row.replay_of) return catalog.find(row.team, row.agent_id, row.agent_version);
  const auto first = journal.records(row.run_id, 1, 1);
  if (!first) return tl::unexpected(first.error());
  if (first->empty() || first->front().events.empty())
    return fail(ErrorCode::corrupt, "the run's first event is missing");
  const auto* started = std::get_if<RunStarted>(&first->front().events.front().payload);
  if (!started) return fail(ErrorCode::corrupt, "the run's first event is not run.started");
  return version_of(catalog, *started);
}

}  // namespace ratchet
