#include "actors/launcher.hpp"

#include <fmt/format.h>

namespace ratchet {

Result<RunStarted> Launcher::prepare(std::string_view team,
                                     std::string_view agent_id,
                                     std::uint32_t version) const {
  const auto agent = catalog_.find(team, agent_id, version);
  if (!agent) return tl::unexpected(agent.error());
  const std::string& name = (*agent)->definition.model;
  const auto model = served_.find(name);
  if (model == served_.end())
    return fail(ErrorCode::invalid_definition, fmt::format("the server has no model '{}' any more", name));
  return started_of(**agent, model->second.config, harness_version_);
}

}  // namespace ratchet
