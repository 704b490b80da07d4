#pragma once
// An agent version: prompt, model, tools, policy and budgets as one immutable unit.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/context/settings.hpp"
#include "runtime/model/config.hpp"
#include "runtime/result.hpp"
#include "runtime/run/budgets.hpp"
#include "runtime/tools/conditions.hpp"
#include "runtime/tools/manifest.hpp"

namespace ratchet {

struct PolicyRule {
  std::string tool;  ///< a name, or a glob with `*`
  Decision then = Decision::deny;
  Conditions when = {};  ///< on the arguments
};

RATCHET_ENUM(HookPoint, pre_model, pre_tool, post_tool, on_stop)

/// security: whatever goes wrong with it blocks the call. logging: whatever goes wrong with it is only
/// counted.
RATCHET_ENUM(HookKind, security, logging)

struct HookRule {
  HookPoint at = HookPoint::pre_tool;
  std::string url;
  HookKind kind = HookKind::security;
};

/// How long people have to decide on a call that needs them.
struct ApprovalSettings {
  std::int64_t expires_seconds = 86'400;
  std::int64_t remind_seconds = 0;  ///< after it was asked; 0: no reminder
  std::string notify_url;           ///< empty: nobody is notified
};

/// What the runs of an agent may start below them.
struct SubagentSettings {
  std::vector<std::string> allow;  ///< agents of the same team; empty: none
  std::uint32_t max_depth = 1;     ///< levels below a run
  std::uint32_t max_children = 8;  ///< of one run, over its whole life
};

struct AgentDefinition {
  std::string agent_id;
  std::string model;  ///< the server's name of it
  ModelSettings settings;
  std::string system_prompt;
  std::vector<std::string> tools;
  std::vector<PolicyRule>
      policy;  ///< the first match decides; nothing matches: read-only tools are allowed, others ask
  Budgets budgets;
  std::uint32_t result_cap_tokens = 2'000;
  ContextSettings context;
  SubagentSettings subagents;
  bool interactive = false;
  std::vector<HookRule> hooks;
  ApprovalSettings approval;

  bool has_hooks_at(HookPoint point) const;

  Json source;  ///< the definition as it was registered, canonical; its SHA-256 is the digest
  Hash digest;
};

/// Reads a definition from JSON. Errors: invalid_json; unknown_field, not_supported, invalid_definition, with
/// a pointer. Whether its tools exist and may be served is another question: `check_agent`, tools/policy.hpp.
Result<AgentDefinition> parse_agent(std::string_view json);

/// A registered version with the manifests that it pinned, shared by all runs of it. Tools are sorted by
/// name.
struct AgentVersion {
  AgentDefinition definition;
  std::uint32_t version = 0;
  std::vector<ToolManifest> tools;

  const ToolManifest* find_tool(std::string_view name) const;
};

/// Finds the versions of a team. Called from any thread; cheap after the first time.
class AgentCatalog {
 public:
  virtual ~AgentCatalog() = default;
  /// `version` 0: the one that serves. Errors: unknown_agent.
  virtual Result<std::shared_ptr<const AgentVersion>> find(std::string_view team,
                                                           std::string_view agent_id,
                                                           std::uint32_t version) = 0;
};

}  // namespace ratchet
