#pragma once
// What a run begins with: the agent's version and the model that the server has for it, pinned from then on.
// Runs that clients start and sub-agents are prepared by the same code.

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/agent.hpp"
#include "runtime/run/start.hpp"

namespace ratchet {

/// A model that runs may use: pinned in `run.started` when they begin.
struct ServedModel {
  ModelConfig config;
  std::size_t max_concurrent = 256;
};

/// What a new run of an agent is like before anything is known of the run itself. Called from any thread.
class Launcher {
 public:
  Launcher(AgentCatalog& catalog,
           const std::map<std::string, ServedModel>& served,
           std::string harness_version)
      : catalog_(catalog), served_(served), harness_version_(std::move(harness_version)) {}

  /// `version` 0: the one that serves. Errors: unknown_agent; invalid_definition, if the server has its model
  /// no longer.
  Result<RunStarted> prepare(std::string_view team, std::string_view agent_id, std::uint32_t version) const;

 private:
  AgentCatalog& catalog_;
  const std::map<std::string, ServedModel>& served_;
  std::string harness_version_;
};

}  // namespace ratchet
