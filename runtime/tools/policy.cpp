#include "runtime/tools/policy.hpp"

#include <algorithm>
#include <vector>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/tools/approval.hpp"
#include "runtime/tools/command_line.hpp"
#include "runtime/tools/glob.hpp"

namespace ratchet {

namespace {

/// A rule that names the tool, by its place in the definition.
struct NumberedRule {
  const PolicyRule* rule;
  std::size_t number;  ///< from 1

  const Conditions& when() const { return rule->when; }
};

std::vector<NumberedRule> rules_for(const AgentDefinition& agent, const ToolManifest& tool) {
  std::vector<NumberedRule> rules;
  for (std::size_t i = 0; i < agent.policy.size(); ++i) {
    if (!glob_matches(agent.policy[i].tool, tool.name)) continue;
    rules.push_back({&agent.policy[i], i + 1});
    if (agent.policy[i].when.empty()) break;  // it always matches: no rule after it is looked at
  }
  return rules;
}

PolicyVerdict verdict_of(const NumberedRule& rule) {
  return {rule.rule->then, fmt::format("rule {}", rule.number)};
}

PolicyVerdict default_verdict(const ToolManifest& tool) {
  if (tool.side_effects == SideEffects::none) return {Decision::allow, "default: read-only"};
  return {Decision::ask, "default: side effects"};
}

/// The word of the first rule that matches the part. A rule of which nobody can tell asks, unless what
/// applies otherwise denies.
PolicyVerdict judge_part(const CommandPart& part,
                         std::string_view pointer,
                         std::span<const NumberedRule> rules,
                         const ToolManifest& tool) {
  std::optional<PolicyVerdict> doubt;
  for (const NumberedRule& rule : rules) {
    const auto speaks_of = rule.when().command_pointer();
    LineMatch match = speaks_of ? LineMatch::no : LineMatch::yes;
    if (speaks_of == pointer) match = rule.when().match(part, rule.rule->then != Decision::allow);
    if (match == LineMatch::maybe && !doubt)
      doubt = {Decision::ask,
               fmt::format("rule {} cannot be judged: {}",
                           rule.number,
                           part.why.empty() ? "an argument is an expansion" : part.why)};
    if (match != LineMatch::yes) continue;
    // What is read matters only to rules that name it.
    if (part.kind == CommandPart::Kind::read && !speaks_of) continue;
    auto verdict = verdict_of(rule);
    return doubt && verdict.decision != Decision::deny ? *doubt : verdict;
  }
  if (part.kind == CommandPart::Kind::read && !doubt) return {Decision::allow, ""};
  return doubt ? *doubt : default_verdict(tool);
}

/// All parts of the command lines at one pointer.
std::vector<CommandPart> parts_at(const Conditions& when, const boost::json::value& args) {
  std::vector<CommandPart> parts;
  for (const auto* line : when.command_lines(args)) {
    if (!line) {
      parts.push_back({CommandPart::Kind::unknown, {}, false, "a command line that is no text"});
      continue;
    }
    auto more = command_parts(*line);
    std::move(more.begin(), more.end(), std::back_inserter(parts));
  }
  return parts;
}

/// The strictest of the words about all parts; the first of those that are equally strict is named, of what
/// is allowed each rule. Nothing, if no rule speaks of a command line that is there.
std::optional<PolicyVerdict> judge_command_lines(std::span<const NumberedRule> rules,
                                                 const ToolManifest& tool,
                                                 const boost::json::value& args) {
  std::optional<PolicyVerdict> worst;
  std::vector<std::string_view> pointers;
  for (const NumberedRule& rule : rules) {
    const auto pointer = rule.when().command_pointer();
    if (!pointer || std::find(pointers.begin(), pointers.end(), *pointer) != pointers.end()) continue;
    pointers.push_back(*pointer);
    const auto parts = parts_at(rule.when(), args);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      auto verdict = judge_part(parts[i], *pointer, rules, tool);
      if (verdict.decision != Decision::allow && parts.size() > 1)
        verdict.rule += fmt::format(", part {} of the command line", i + 1);
      if (!worst || verdict.decision > worst->decision)
        worst = std::move(verdict);
      else if (verdict.decision == worst->decision && verdict.decision == Decision::allow &&
               worst->rule.find(verdict.rule) == std::string::npos)
        worst->rule.append(worst->rule.empty() ? "" : ", ").append(verdict.rule);
    }
  }
  return worst;
}

PolicyVerdict judge_by_rules(const AgentDefinition& agent,
                             const ToolManifest& tool,
                             const boost::json::value& args) {
  auto rules = rules_for(agent, tool);
  std::erase_if(rules, [&](const NumberedRule& rule) { return !rule.when().hold(args); });
  if (auto verdict = judge_command_lines(rules, tool, args)) return *verdict;
  for (const NumberedRule& rule : rules)
    if (!rule.when().command_pointer()) return verdict_of(rule);
  return default_verdict(tool);
}

void tighten(PolicyVerdict& verdict, std::optional<std::string> why) {
  if (verdict.decision == Decision::allow && why) verdict = {Decision::ask, std::move(*why)};
}

}  // namespace

PolicyVerdict judge(const AgentDefinition& agent, const ToolManifest& tool, std::string_view args_json) {
  if (auto verdict = verdict_without_arguments(agent, tool)) return *verdict;
  const auto args = parse_json(args_json);
  if (!args || !args->is_object()) return {Decision::deny, "the arguments are no JSON object"};
  auto verdict = judge_by_rules(agent, tool, *args);
  tighten(verdict, approval_reason(tool.approval, *args));
  return verdict;
}

std::optional<PolicyVerdict> verdict_without_arguments(const AgentDefinition& agent,
                                                       const ToolManifest& tool) {
  const auto rules = rules_for(agent, tool);
  if (!rules.empty() && !rules.front().when().empty()) return std::nullopt;
  auto verdict = rules.empty() ? default_verdict(tool) : verdict_of(rules.front());
  if (verdict.decision == Decision::allow && tool.approval.mode == ApprovalMode::required_above)
    return std::nullopt;
  if (tool.approval.mode == ApprovalMode::always) tighten(verdict, "manifest: approval always");
  return verdict;
}

Result<void> check_agent(const AgentDefinition& agent, std::span<const ToolManifest> tools) {
  for (std::size_t i = 0; i < agent.tools.size(); ++i) {
    const std::string& name = agent.tools[i];
    auto pointer = fmt::format("/tools/{}", i);
    const auto tool = std::find_if(
        tools.begin(), tools.end(), [&](const ToolManifest& candidate) { return candidate.name == name; });
    if (tool == tools.end())
      return fail(ErrorCode::unknown_tool, fmt::format("there is no tool '{}'", name), std::move(pointer));
  }
  return {};
}

}  // namespace ratchet
