#include "runtime/run/question.hpp"

namespace ratchet {

JudgeQuestion question_of(const std::shared_ptr<const ToolBook>& tools,
                          const RunRow& row,
                          std::uint32_t step) {
  JudgeQuestion question;
  question.run_id = row.run_id;
  question.root_run_id = row.root_run_id;
  question.team = row.team;
  question.agent_id = row.agent_id;
  question.agent_version = row.agent_version;
  question.user_id = row.user_id;
  question.step = step;
  question.replay = row.replay_of.has_value();
  question.agent = std::shared_ptr<const AgentVersion>(tools, &tools->agent());
  return question;
}

JudgeQuestion question_of(const std::shared_ptr<const ToolBook>& tools,
                          const RunRow& row,
                          std::string call_id,
                          std::string_view tool,
                          std::string args) {
  const ToolManifest* manifest = tools->find(tool);
  RATCHET_ENSURE(manifest, "a call that is judged has a manifest in its version");
  JudgeQuestion question = question_of(tools, row, row.step);
  question.call_id = std::move(call_id);
  question.args = std::move(args);
  question.tool = std::shared_ptr<const ToolManifest>(tools, manifest);
  question.hooks = tools->has_pre_tool_hooks();
  return question;
}

}  // namespace ratchet
