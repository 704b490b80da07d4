#pragma once
// Whether a call may run: the policy station of the path of a call. Pure, and decided by the version alone,
// so the same call gets the same word in a replay.

#include <span>
#include <string>

#include "runtime/agent.hpp"
#include "runtime/result.hpp"
#include "runtime/tools/manifest.hpp"

namespace ratchet {

struct PolicyVerdict {
  Decision decision = Decision::deny;
  std::string rule;  ///< "rule 2" (from 1), "default: read-only" or "default: side effects"

  bool operator==(const PolicyVerdict&) const = default;
};

/// The first rule whose name or glob matches decides. Where none does, tools without side effects are allowed
/// and the others ask.
PolicyVerdict judge(const AgentDefinition& agent, const ToolManifest& tool);

/// `*` stands for any run of characters, none too; everything else for itself.
bool glob_matches(std::string_view glob, std::string_view name);

/// Whether this version can serve the agent with these tools (those of its list, in any order). Errors, each
/// with a pointer into the definition: unknown_tool; not_supported, where a call would need an approval.
Result<void> check_agent(const AgentDefinition& agent, std::span<const ToolManifest> tools);

}  // namespace ratchet
