#pragma once
// The tools of one agent version, ready for judging calls: manifests, compiled schemas and what the policy
// says of each.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/tools/policy.hpp"
#include "runtime/tools/schema.hpp"

namespace ratchet {

/// Shared by all runs of the version. Immutable after it was made, so it is read from any thread.
class ToolBook {
 public:
  /// Errors: those of a version that should not have been registered (a schema that does not compile).
  static Result<std::shared_ptr<const ToolBook>> make(std::shared_ptr<const AgentVersion> agent);

  const AgentVersion& agent() const { return *agent_; }

  const ToolManifest* find(std::string_view tool) const { return agent_->find_tool(tool); }

  /// Stations 2, 3 and 6 of a call's path: granted, schema, policy. `args` is canonical JSON; `args_error` is
  /// what kept the arguments from being one JSON object, if anything did.
  Verdict judge(std::string_view tool, std::string_view args, std::string_view args_error) const;

 private:
  std::shared_ptr<const AgentVersion> agent_;
  std::vector<ArgumentSchema> schemas_;                 ///< in the order of the version's tools
  std::vector<std::optional<PolicyVerdict>> policies_;  ///< where the arguments make no difference
};

/// What the model is told of a call that was refused: what it may do instead.
std::string refusal_text(std::string_view tool, const Verdict& verdict);

}  // namespace ratchet
