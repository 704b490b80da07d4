#include "runtime/tools/book.hpp"

#include <algorithm>

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

namespace {

/// Station 5, as far as the token itself tells: empty, or what it lacks.
std::string missing_right(const ToolManifest& tool, std::span<const std::string> scopes) {
  for (const std::string& wanted : tool.auth.scopes)
    if (std::find(scopes.begin(), scopes.end(), wanted) == scopes.end())
      return fmt::format("the user's token lacks the scope {}", wanted);
  return {};
}

}  // namespace

Verdict ToolBook::judge(const CallQuestion& question) const {
  Verdict verdict;
  const ToolManifest* manifest = find(question.tool);
  if (!manifest) return verdict;
  verdict.granted = true;
  if (!question.args_error.empty()) {
    verdict.schema = question.args_error;
    return verdict;
  }
  const std::size_t index = static_cast<std::size_t>(manifest - agent_->tools.data());
  verdict.schema = argument_fault(*manifest, schemas_[index], question.args).value_or("ok");
  if (verdict.schema != "ok") return verdict;
  std::string_view args = question.args;
  if (const auto& hooks = question.facts.hooks) {
    verdict.hooks = hooks->word;
    if (hooks->denied) return verdict;
    if (hooks->args) {
      args = *hooks->args;
      verdict.schema = argument_fault(*manifest, schemas_[index], args).value_or("ok");
      if (verdict.schema != "ok") return verdict;
    }
  }
  if (manifest->auth.as_user) {
    verdict.authz = missing_right(*manifest, question.scopes);
    if (!verdict.authz.empty()) return verdict;
    verdict.authz = "ok";
  }
  if (const auto& authorizer = question.facts.authorizer) {
    verdict.authz = authorizer->word;
    if (!authorizer->allowed) return verdict;
  }
  auto policy = policies_[index] ? *policies_[index] : ratchet::judge(agent_->definition, *manifest, args);
  verdict.decision = policy.decision;
  verdict.policy_rule = std::move(policy.rule);
  return verdict;
}

bool is_invalid(const Verdict& verdict) {
  return verdict.granted && verdict.schema != "ok";
}

std::string refusal_text(std::string_view tool, const Verdict& verdict) {
  if (!verdict.granted) {
    return fmt::format("There is no tool '{}' here. Use only the tools that you were given.", tool);
  }
  if (is_invalid(verdict)) {
    return fmt::format(
        "The arguments of {} were refused: {}. Call it again with arguments that fit its schema.",
        tool,
        verdict.schema);
  }
  if (verdict.policy_rule.empty() && !verdict.authz.empty() && verdict.authz != "ok") {
    return fmt::format(
        "The user you act for may not do this with {} ({}). Find another way, or say what you would have "
        "done.",
        tool,
        verdict.authz);
  }
  if (verdict.policy_rule.empty() && !verdict.hooks.empty()) {
    return fmt::format("This call of {} was refused ({}). Find another way, or say what you would have done.",
                       tool,
                       verdict.hooks);
  }
  return fmt::format(
      "Calls of {} are not allowed here ({}). Find another way, or say what you would have done.",
      tool,
      verdict.policy_rule);
}

}  // namespace ratchet
