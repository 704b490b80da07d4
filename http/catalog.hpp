#pragma once
// What teams have registered: tools and agents, each in versions 1, 2, 3 …, stored in the journal's
// definitions. A version holds everything it needs, the manifests of its tools too, so a later change of a
// tool or of ratchet never changes it.
//
// Keys, in the tables "tool" and "agent" (<n> has ten digits, so that versions sort):
//   index/<team>/<id>/<n>      what a list shows
//   body/<team>/<id>/<n>       the whole
//   serving/<team>/<id>        agents only: the version that new runs get
//
// Registering is a plan (what is there, and so what is to be written) and a commit through the node. Two
// plans for the same number cannot both be committed, as keys of versions have to be new: the loser plans
// again.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/journal.hpp"
#include "runtime/node.hpp"
#include "runtime/time.hpp"

namespace ratchet {

/// A version as a list shows it.
struct IndexEntry {
  std::string id;  ///< of the agent, or the tool's name
  std::uint32_t version = 0;
  Hash digest;    ///< of the definition, or the manifest
  Hash identity;  ///< of everything that makes the version: two with the same are one
  Timestamp created_at;
  std::string text;  ///< a tool's description, an agent's model
};

/// What registering comes to. Without `puts` the version is there already.
struct Registration {
  IndexEntry entry;
  std::vector<DefinitionPut> puts;
};

/// Called from any thread. Methods that are not told to be cheap read the journal.
class StoredCatalog final : public AgentCatalog {
 public:
  /// `journal` is borrowed. `models` are those that agents may name, `subagent_levels_max` is how many levels
  /// of sub-agents they may ask for.
  StoredCatalog(JournalReader& journal,
                std::vector<ModelConfig> models,
                std::int64_t subagent_levels_max = 1);
  ~StoredCatalog() override;

  /// Cheap after the first time.
  Result<std::shared_ptr<const AgentVersion>> find(std::string_view team,
                                                   std::string_view agent_id,
                                                   std::uint32_t version) override;

  const ModelConfig* find_model(std::string_view name) const;

  /// Errors: invalid_definition, for more tools than limits::tools_per_team_max.
  Result<Registration> plan_tool(std::string_view team, const ToolManifest& manifest, Timestamp now);
  /// Pins the team's tools as they are now. The new version serves at once. Errors: invalid_definition, with
  /// a pointer, for a tool or a model that is not there, a fixed prompt that the model cannot hold, or more
  /// levels of sub-agents than the server takes; not_supported.
  Result<Registration> plan_agent(std::string_view team, const AgentDefinition& definition, Timestamp now);
  /// Makes the version the one that serves. Errors: unknown_agent.
  Result<std::vector<DefinitionPut>> plan_promotion(std::string_view team,
                                                    std::string_view agent_id,
                                                    std::uint32_t version);
  /// To be told after puts about this agent were committed. Cheap.
  void forget_serving(std::string_view team, std::string_view agent_id);

  /// The newest version of each tool of the team, by name.
  Result<std::vector<IndexEntry>> tools(std::string_view team);
  /// The newest version, with its manifest. Errors: unknown_tool.
  Result<std::pair<IndexEntry, ToolManifest>> tool(std::string_view team, std::string_view name);
  /// The newest version of each agent of the team, by id.
  Result<std::vector<IndexEntry>> agents(std::string_view team);
  /// Oldest first. Errors: unknown_agent.
  Result<std::vector<IndexEntry>> versions(std::string_view team, std::string_view agent_id);
  /// Errors: unknown_agent.
  Result<std::uint32_t> serving(std::string_view team, std::string_view agent_id);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ratchet
