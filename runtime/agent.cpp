#include "runtime/agent.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/definition_reader.hpp"
#include "runtime/ids.hpp"
#include "runtime/json/canonical.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {

namespace {

constexpr FieldRule agent_fields[] = {
    {"agent_id"},
    {"model"},
    {"system_prompt"},
    {"tools"},
    {"policy"},
    {"budgets"},
    {"context"},
    {"subagents"},
    {"hooks"},
    {"approval"},
    {"interactive"},
    {"eval", "evaluation is not part of this version; leave it out"},
};
constexpr FieldRule model_fields[] = {
    {"name"}, {"temperature"}, {"top_p"}, {"top_k"}, {"seed"}, {"max_output_tokens"}};
constexpr FieldRule policy_fields[] = {{"tool"}, {"when"}, {"then"}};
constexpr FieldRule approval_fields[] = {{"expires_seconds"}, {"remind_seconds"}, {"notify_url"}};
constexpr FieldRule hook_fields[] = {{"at"}, {"url"}, {"kind"}};
constexpr FieldRule budget_fields[] = {{"max_steps"}, {"max_tokens"}, {"max_seconds"}, {"max_usd"}};
constexpr FieldRule subagent_fields[] = {{"allow"}, {"max_depth"}, {"max_children"}};
constexpr FieldRule context_fields[] = {{"strategy"}, {"compact_at"}, {"result_cap_tokens"}};

constexpr std::string_view spawn_tool = "spawn_agent";

/// Integers that a double holds exactly: all that JSON carries unchanged from reader to reader.
constexpr double integer_max = 9'007'199'254'740'991;

/// One pass over a definition. Each part refuses what it does not take; the first error wins.
class AgentParser {
 public:
  explicit AgentParser(const boost::json::value& json) : fields_(json, "", agent_fields, error_) {}

  Result<AgentDefinition> parse() {
    agent_.agent_id = fields_.text("agent_id", 1, 64);
    if (!is_name(agent_.agent_id))
      fields_.invalid("agent_id",
                      "the id of an agent is a lower-case letter, then up to 63 of a-z, 0-9, _ and -");
    model();
    agent_.system_prompt = fields_.text("system_prompt", 0, limits::system_prompt_bytes_max, "");
    tools();
    policy();
    budgets();
    context();
    subagents();
    hooks();
    approval();
    agent_.interactive = fields_.boolean("interactive", false);
    if (error_) return tl::unexpected(*error_);
    return std::move(agent_);
  }

 private:
  void model() {
    auto model = fields_.object("model", model_fields, true);
    agent_.model = model.text("name", 1, 64);
    if (!is_name(agent_.model))
      model.invalid("name", "the name of a model is a lower-case letter, then up to 63 of a-z, 0-9, _ and -");
    ModelSettings& settings = agent_.settings;
    settings.max_output_tokens = model.integer("max_output_tokens", 1, limits::max_output_tokens_max, 0);
    settings.temperature = model.number_text("temperature", 0, 2);
    settings.top_p = model.number_text("top_p", 0, 1);
    settings.top_k = integer_text(model, "top_k", 0);
    settings.seed = integer_text(model, "seed", -integer_max);
  }

  std::string integer_text(ObjectReader& model, std::string_view field, double min) {
    auto text = model.number_text(field, min, integer_max);
    if (text.find_first_of(".e") != std::string::npos)
      model.invalid(field, fmt::format("{}: expected an integer, found {}", field, text));
    return text;
  }

  void tools() {
    agent_.tools = fields_.texts("tools", limits::agent_tools_max, 64);
    for (auto tool = agent_.tools.begin(); tool != agent_.tools.end(); ++tool) {
      const auto at = fmt::format("tools/{}", tool - agent_.tools.begin());
      if (!is_name(*tool)) fields_.invalid(at, fmt::format("'{}' is not the name of a tool", *tool));
      if (std::find(agent_.tools.begin(), tool, *tool) != tool)
        fields_.invalid(at, fmt::format("the tool {} comes twice", *tool));
    }
  }

  void policy() {
    for (const auto* value : fields_.array("policy", limits::policy_rules_max)) {
      auto rule = fields_.item(*value, "policy", agent_.policy.size(), policy_fields);
      agent_.policy.push_back({rule.text("tool", 1, 64), rule.choice<Decision>("then")});
      if (!is_glob(agent_.policy.back().tool))
        rule.invalid("tool", "expected the name of a tool, or a glob of such with *");
      const auto* when = rule.find("when");
      if (!when) continue;
      auto conditions = Conditions::compile(*when);
      if (conditions)
        agent_.policy.back().when = std::move(*conditions);
      else
        rule.refuse(conditions.error().code, "when" + conditions.error().pointer, conditions.error().text);
    }
  }

  static bool is_glob(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '*';
    });
  }

  void budgets() {
    auto budgets = fields_.object("budgets", budget_fields);
    Budgets& to = agent_.budgets;
    to.max_steps = budgets.integer("max_steps", 0, limits::max_steps_max, to.max_steps);
    to.max_tokens = budgets.integer("max_tokens", 0, limits::max_tokens_max, to.max_tokens);
    to.max_seconds = budgets.integer("max_seconds", 0, limits::max_seconds_max, to.max_seconds);
    if (!budgets.has("max_usd")) return;
    const auto usd = parse_usd(budgets.text("max_usd", 1, 40));
    if (usd)
      to.max_usd = *usd;
    else
      budgets.invalid("max_usd", "max_usd: " + usd.error().text);
  }

  void hooks() {
    for (const auto* value : fields_.array("hooks", limits::hooks_max)) {
      auto hook = fields_.item(*value, "hooks", agent_.hooks.size(), hook_fields);
      HookRule& rule = agent_.hooks.emplace_back();
      rule.at = hook.choice<HookPoint>("at");
      rule.kind = hook.choice<HookKind>("kind", HookKind::security);
      rule.url = url(hook, "url");
    }
  }

  static std::string url(ObjectReader& reader, std::string_view field) {
    auto text = reader.text(field, 1, limits::url_bytes_max);
    if (const auto url = parse_url(text); !url && !reader.failed()) reader.invalid(field, url.error().text);
    return text;
  }

  void approval() {
    auto approval = fields_.object("approval", approval_fields);
    ApprovalSettings& to = agent_.approval;
    to.expires_seconds =
        approval.integer("expires_seconds", 1, limits::approval_expires_seconds_max, to.expires_seconds);
    to.remind_seconds =
        approval.integer("remind_seconds", 1, limits::approval_expires_seconds_max, to.remind_seconds);
    if (to.remind_seconds >= to.expires_seconds)
      approval.invalid("remind_seconds",
                       fmt::format("a reminder after {} s comes too late: the approval expires after {} s",
                                   to.remind_seconds,
                                   to.expires_seconds));
    if (approval.has("notify_url")) to.notify_url = url(approval, "notify_url");
  }

  void context() {
    auto context = fields_.object("context", context_fields);
    ContextSettings& to = agent_.context;
    to.strategy = context.choice<ContextStrategy>("strategy", ContextStrategy::append_only);
    if (to.strategy == ContextStrategy::layered) {
      to.compact_at_permille = limits::layered_compact_at_permille;
      agent_.result_cap_tokens = limits::layered_result_cap_tokens;
    }
    if (context.has("compact_at")) to.compact_at_permille = permille(context, "compact_at");
    agent_.result_cap_tokens = static_cast<std::uint32_t>(
        context.integer("result_cap_tokens", 1, limits::result_cap_tokens_max, agent_.result_cap_tokens));
  }

  /// Who may start agents has the tool for it, whether it is among the tools or not.
  void subagents() {
    auto subagents = fields_.object("subagents", subagent_fields);
    SubagentSettings& to = agent_.subagents;
    to.allow = subagents.texts("allow", limits::subagents_allowed_max, 64);
    for (auto agent = to.allow.begin(); agent != to.allow.end(); ++agent) {
      const auto at = fmt::format("allow/{}", agent - to.allow.begin());
      if (!is_name(*agent)) subagents.invalid(at, fmt::format("'{}' is not the id of an agent", *agent));
      if (std::find(to.allow.begin(), agent, *agent) != agent)
        subagents.invalid(at, fmt::format("the agent {} comes twice", *agent));
    }
    const bool any = !to.allow.empty();
    to.max_depth = static_cast<std::uint32_t>(
        subagents.integer("max_depth", 0, limits::subagent_levels_max, any ? 1 : 0));
    to.max_children = static_cast<std::uint32_t>(
        subagents.integer("max_children", 0, limits::children_max, limits::children_default));
    const auto tool = std::find(agent_.tools.begin(), agent_.tools.end(), spawn_tool);
    const bool named = tool != agent_.tools.end();
    if (named && !any)
      fields_.invalid(fmt::format("tools/{}", tool - agent_.tools.begin()),
                      "spawn_agent needs subagents.allow, the agents that it may start");
    if (any && !named) agent_.tools.emplace_back(spawn_tool);
  }

  /// A part of one, in thousandths.
  static std::uint32_t permille(ObjectReader& reader, std::string_view field) {
    const double least = static_cast<double>(limits::compact_at_permille_min) / 1'000;
    const double most = static_cast<double>(limits::compact_at_permille_max) / 1'000;
    if (reader.number_text(field, least, most).empty()) return 0;  // refused
    return static_cast<std::uint32_t>(std::lround(reader.find(field)->to_number<double>() * 1'000));
  }

  std::optional<Error> error_;
  ObjectReader fields_;
  AgentDefinition agent_;
};

}  // namespace

Result<AgentDefinition> parse_agent(std::string_view json) {
  auto canonical = canonical_json(json);
  if (!canonical) return tl::unexpected(canonical.error());
  const auto value = parse_json(*canonical);
  if (!value) return tl::unexpected(value.error());
  auto agent = AgentParser(*value).parse();
  if (!agent) return agent;
  agent->source.text = std::move(*canonical);
  agent->digest = sha256(agent->source.text);
  return agent;
}

const ToolManifest* AgentVersion::find_tool(std::string_view name) const {
  const auto at = std::lower_bound(
      tools.begin(), tools.end(), name, [](const ToolManifest& tool, std::string_view wanted) {
        return tool.name < wanted;
      });
  return at != tools.end() && at->name == name ? &*at : nullptr;
}

bool AgentDefinition::has_hooks_at(HookPoint point) const {
  return std::any_of(hooks.begin(), hooks.end(), [&](const HookRule& hook) { return hook.at == point; });
}

}  // namespace ratchet
