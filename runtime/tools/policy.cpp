#include "runtime/tools/policy.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ratchet {

bool glob_matches(std::string_view glob, std::string_view name) {
  // Where a literal fails, the last star takes one character more; no star needs to be taken back further.
  std::size_t g = 0, n = 0, star = std::string_view::npos, star_end = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      star_end = n;
    } else if (g < glob.size() && glob[g] == name[n]) {
      ++g;
      ++n;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      n = ++star_end;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

PolicyVerdict judge(const AgentDefinition& agent, const ToolManifest& tool) {
  for (std::size_t i = 0; i < agent.policy.size(); ++i)
    if (glob_matches(agent.policy[i].tool, tool.name))
      return {agent.policy[i].then, fmt::format("rule {}", i + 1)};
  if (tool.side_effects == SideEffects::none) return {Decision::allow, "default: read-only"};
  return {Decision::ask, "default: side effects"};
}

Result<void> check_agent(const AgentDefinition& agent, std::span<const ToolManifest> tools) {
  for (std::size_t i = 0; i < agent.tools.size(); ++i) {
    const std::string& name = agent.tools[i];
    const auto pointer = fmt::format("/tools/{}", i);
    const auto tool = std::find_if(
        tools.begin(), tools.end(), [&](const ToolManifest& candidate) { return candidate.name == name; });
    if (tool == tools.end())
      return fail(ErrorCode::unknown_tool, fmt::format("there is no tool '{}'", name), pointer);
    if (judge(agent, *tool).decision == Decision::ask)
      return fail(
          ErrorCode::not_supported,
          fmt::format("calls of '{}' would need an approval ({} side effects), which this version does "
                      "not have: add a policy rule that allows or denies it",
                      name,
                      ratchet::name(tool->side_effects)),
          pointer);
  }
  return {};
}

}  // namespace ratchet
