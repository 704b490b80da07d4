#pragma once
// The tools of one agent version, ready for judging calls: manifests, compiled schemas and what the policy
// says of each.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/tools/facts.hpp"
#include "runtime/tools/policy.hpp"
#include "runtime/tools/schema.hpp"

namespace ratchet {

/// What is to be judged.
struct CallQuestion {
  std::string_view tool;
  std::string_view args;             ///< canonical JSON, as the model or a person made them
  std::string_view args_error = {};  ///< what kept the arguments from being one JSON object, if anything did
  std::span<const std::string> scopes;  ///< of the user's token
  CallFacts facts = {};
};

/// Shared by all runs of the version. Immutable after it was made, so it is read from any thread.
class ToolBook {
 public:
  /// Errors: those of a version that should not have been registered (a schema that does not compile).
  static Result<std::shared_ptr<const ToolBook>> make(std::shared_ptr<const AgentVersion> agent);

  const AgentVersion& agent() const { return *agent_; }

  const ToolManifest* find(std::string_view tool) const { return agent_->find_tool(tool); }

  /// Stations 2 to 6 of a call's path: granted, schema, hooks, the user's rights, policy. The first that
  /// refuses decides; `facts` stand for what was asked outside. `ask`: a person has to decide.
  Verdict judge(const CallQuestion& question) const;

  /// Whether hooks have to be asked before a call of this version can be judged.
  bool has_pre_tool_hooks() const { return agent_->definition.has_hooks_at(HookPoint::pre_tool); }

  /// Whether hooks see the result of a call before it is recorded.
  bool has_post_tool_hooks() const { return agent_->definition.has_hooks_at(HookPoint::post_tool); }

 private:
  std::shared_ptr<const AgentVersion> agent_;
  std::vector<ArgumentSchema> schemas_;                 ///< in the order of the version's tools
  std::vector<std::optional<PolicyVerdict>> policies_;  ///< where the arguments make no difference
};

/// Whether a refused call's arguments were at fault, rather than the call itself.
bool is_invalid(const Verdict& verdict);

/// What the model is told of a call that was refused: what it may do instead.
std::string refusal_text(std::string_view tool, const Verdict& verdict);

}  // namespace ratchet
