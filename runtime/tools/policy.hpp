#pragma once
// Whether a call may run: the policy station of the path of a call. Pure, and decided by the version and the
// arguments alone, so the same call gets the same word in a replay.
//
// Where rules speak of a command line, each part of it (command_line.hpp) is judged by the rules as if it
// were the call, and the strictest word counts: one denied part denies, one that is asked about asks.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/agent.hpp"
#include "runtime/result.hpp"
#include "runtime/tools/manifest.hpp"

namespace ratchet {

struct PolicyVerdict {
  Decision decision = Decision::deny;
  std::string rule;  ///< what decided, for people: "rule 2" (from 1), "default: side effects",
                     ///< "manifest: approval always", "rule 3, part 2 of the command line" …

  bool operator==(const PolicyVerdict&) const = default;
};

/// The first rule whose name or glob and whose conditions match decides. Where none does, tools without side
/// effects are allowed and the others ask. The manifest's `approval` can turn an allow into an ask, and
/// nothing else. `args_json` is one canonical JSON object; anything else is denied.
PolicyVerdict judge(const AgentDefinition& agent, const ToolManifest& tool, std::string_view args_json);

/// The same for tools whose arguments make no difference; nothing for the others.
std::optional<PolicyVerdict> verdict_without_arguments(const AgentDefinition& agent,
                                                       const ToolManifest& tool);

/// Whether this version can serve the agent with these tools (those of its list, in any order). Errors, each
/// with a pointer into the definition: unknown_tool.
Result<void> check_agent(const AgentDefinition& agent, std::span<const ToolManifest> tools);

}  // namespace ratchet
