#include "runtime/agent.hpp"

#include <algorithm>

namespace ratchet {

const ToolManifest* AgentVersion::find_tool(std::string_view name) const {
  const auto at = std::lower_bound(
      tools.begin(), tools.end(), name, [](const ToolManifest& tool, std::string_view wanted) {
        return tool.name < wanted;
      });
  return at != tools.end() && at->name == name ? &*at : nullptr;
}

}  // namespace ratchet
