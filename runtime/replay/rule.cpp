#include "runtime/replay/rule.hpp"

#include <algorithm>

namespace ratchet {

bool is_own_tool(std::string_view tool) {
  static constexpr std::string_view own[] = {
      "artifact_read", "artifact_search", "notes_read", "notes_write", "todo_write"};
  return std::find(std::begin(own), std::end(own), tool) != std::end(own);
}

bool may_execute(const ReplayRule& rule, const ToolManifest& tool) {
  // A team's tool cannot have one of these names; that a damaged manifest has effects all the same is not
  // believed in.
  if (tool.side_effects == SideEffects::none && is_own_tool(tool.name)) return true;
  if (rule.tools == ReplayTools::recorded) return false;
  switch (tool.side_effects) {
    case SideEffects::none:
      return true;
    case SideEffects::internal:
      return rule.environment;
    case SideEffects::external:
      return false;
  }
  return false;
}

}  // namespace ratchet
