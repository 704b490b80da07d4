#include "runtime/tools/book.hpp"

#include <fmt/format.h>

namespace ratchet {

Result<std::shared_ptr<const ToolBook>> ToolBook::make(std::shared_ptr<const AgentVersion> agent) {
  auto book = std::make_shared<ToolBook>();
  for (const ToolManifest& tool : agent->tools) {
    auto schema = ArgumentSchema::compile(tool.input_schema.text);
    if (!schema) return tl::unexpected(schema.error());
    book->schemas_.push_back(std::move(*schema));
    book->policies_.push_back(verdict_without_arguments(agent->definition, tool));
  }
  book->agent_ = std::move(agent);
  return book;
}

Verdict ToolBook::judge(std::string_view tool, std::string_view args, std::string_view args_error) const {
  Verdict verdict;
  const ToolManifest* manifest = find(tool);
  if (!manifest) return verdict;
  verdict.granted = true;
  if (!args_error.empty()) {
    verdict.schema = args_error;
    return verdict;
  }
  const std::size_t index = static_cast<std::size_t>(manifest - agent_->tools.data());
  verdict.schema = schemas_[index].check(args).value_or("ok");
  if (verdict.schema != "ok") return verdict;
  auto policy = policies_[index] ? *policies_[index] : ratchet::judge(agent_->definition, *manifest, args);
  verdict.decision = policy.decision;
  verdict.policy_rule = std::move(policy.rule);
  return verdict;
}

std::string refusal_text(std::string_view tool, const Verdict& verdict) {
  if (!verdict.granted) {
    return fmt::format("There is no tool '{}' here. Use only the tools that you were given.", tool);
  }
  if (verdict.schema != "ok") {
    return fmt::format(
        "The arguments of {} were refused: {}. Call it again with arguments that fit its schema.",
        tool,
        verdict.schema);
  }
  return fmt::format(
      "Calls of {} are not allowed here ({}). Find another way, or say what you would have done.",
      tool,
      verdict.policy_rule);
}

}  // namespace ratchet
