#include "tests/sim/agents.hpp"

#include <algorithm>

#include "runtime/result.hpp"
#include "runtime/run/start.hpp"

namespace ratchet::sim {

namespace {

constexpr std::string_view schema =
    R"({"type":"object","properties":{"to":{"type":"string"},"n":{"type":"integer"}},)"
    R"("required":["to"],"additionalProperties":false})";

ToolManifest tool(std::string name,
                  SideEffects effects,
                  Idempotency idempotency,
                  std::int64_t ttl_seconds = 86'400) {
  ToolManifest manifest;
  manifest.description = "Does what " + name + " says.";
  manifest.digest = sha256(name);
  manifest.name = std::move(name);
  manifest.input_schema.text = schema;
  manifest.kind = ToolKind::http;
  manifest.side_effects = effects;
  manifest.idempotency = idempotency;
  manifest.idempotency_ttl_seconds = ttl_seconds;
  manifest.timeout_ms = 2'000;
  return manifest;
}

std::vector<ToolManifest> all_tools() {
  std::vector<ToolManifest> tools{
      tool("look_up", SideEffects::none, Idempotency::none),
      tool("poll", SideEffects::none, Idempotency::none),
      tool("send", SideEffects::external, Idempotency::key),
      tool("send_soon", SideEffects::external, Idempotency::key, 4),
      tool("update", SideEffects::internal, Idempotency::key, 60),
      tool("transfer", SideEffects::external, Idempotency::status_check),
      tool("publish", SideEffects::external, Idempotency::none),
      tool("forbidden", SideEffects::external, Idempotency::none),
      tool("pay", SideEffects::external, Idempotency::key),
      tool("edit", SideEffects::none, Idempotency::none),
      tool("mail", SideEffects::external, Idempotency::key),
  };
  ToolManifest& edit = tools[tools.size() - 2];
  edit.kind = ToolKind::command;
  edit.tier = 3;
  edit.filesystem = Filesystem::workspace;
  tools[1].repeatable = true;
  tools.back().auth = {true, {"mail"}, {}};
  for (const char* name : {"artifact_read",
                           "artifact_search",
                           "notes_write",
                           "notes_read",
                           "todo_write",
                           "wait",
                           "spawn_agent"}) {
    const ToolManifest* builtin = find_builtin(name);
    RATCHET_ENSURE(builtin, "the simulator names a built-in tool that there is");
    tools.push_back(*builtin);
  }
  std::sort(tools.begin(), tools.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return tools;
}

ProviderConfig draw_provider(Random& random) {
  ProviderConfig provider;
  provider.protocol = random.pick({Protocol::anthropic, Protocol::openai, Protocol::scripted});
  provider.base_url = "http://model.example";
  provider.model = "sim-" + std::to_string(random.below(100));
  if (random.chance(300)) provider.max_tokens_field = "max_tokens";
  return provider;
}

Budgets draw_budgets(Random& random) {
  Budgets budgets;
  budgets.max_steps = random.between(1, 12);
  budgets.max_tokens = random.chance(200) ? random.between(0, 6'000) : 200'000;
  budgets.max_usd = random.chance(200) ? Usd{random.between(0, 60'000'000)} : Usd{5'000'000'000};
  budgets.max_seconds = random.chance(200) ? random.between(0, 30) : 600;
  if (random.chance(20)) budgets.max_steps = 0;
  return budgets;
}

}  // namespace

Agent draw_agent(Random& random) {
  auto version = std::make_shared<AgentVersion>();
  version->version = 1;
  version->tools = all_tools();
  AgentDefinition& definition = version->definition;
  definition.agent_id = "worker";
  definition.model = "sim";
  definition.system_prompt = "You work.";
  definition.policy = {{"forbidden", Decision::deny}, {"pay", Decision::ask}, {"*", Decision::allow}};
  if (random.chance(100)) definition.policy.insert(definition.policy.begin(), {"look_up", Decision::ask});
  if (random.chance(300))
    definition.hooks = {{HookPoint::pre_tool, "http://hook.example", HookKind::security}};
  if (random.chance(200))
    definition.hooks.push_back({HookPoint::pre_model, "http://hook.example", HookKind::security});
  definition.approval.expires_seconds = random.between(5, 200);
  if (random.chance(500)) definition.approval.remind_seconds = definition.approval.expires_seconds / 3;
  definition.result_cap_tokens = random.chance(300) ? 50 : 2'000;
  if (random.chance(400)) definition.context.strategy = ContextStrategy::layered;
  definition.context.compact_at_permille =
      static_cast<std::uint32_t>(random.between(100, random.chance(500) ? 500 : 950));
  definition.interactive = random.chance(200);
  if (random.chance(700)) {
    definition.subagents.allow = {"worker"};
    definition.subagents.max_depth = static_cast<std::uint32_t>(random.between(1, 2));
    definition.subagents.max_children = static_cast<std::uint32_t>(random.between(1, 4));
  }
  definition.digest = sha256("worker");
  for (const ToolManifest& each : version->tools)
    definition.tools.push_back(each.name);

  Agent agent;
  agent.decision_point = random.chance(200);
  agent.model.name = "sim";
  agent.model.context_window_tokens = random.chance(600) ? random.between(3'000, 9'000) : 200'000;
  agent.model.max_output_tokens = random.chance(300) ? 100 : 1'000;
  agent.model.prices = {Usd{3'000'000'000}, Usd{300'000'000}, Usd{3'750'000'000}, Usd{15'000'000'000}};
  if (random.chance(100)) agent.model.prices = {};
  for (std::uint64_t i = 0, count = 1 + random.below(3); i < count; ++i)
    agent.model.providers.push_back(draw_provider(random));
  auto book = ToolBook::make(version);
  RATCHET_ENSURE(book, "the simulator's tools are sound");
  agent.book = *book;
  agent.version = std::move(version);
  return agent;
}

RunStarted draw_child(Random& random, const Agent& agent) {
  RunStarted started = started_of(*agent.version, agent.model, "sim");
  started.budgets = draw_budgets(random);
  return started;
}

RunStarted draw_run(Random& random, const Agent& agent, Timestamp now) {
  RunStarted started = draw_child(random, agent);
  started.input = text_content(draw_text(random, "the task"));
  started.user_id = "user";
  if (!random.chance(100)) started.scopes = {"mail"};
  if (random.chance(300)) started.token_expires_at = now.plus_ms(random.between(0, 40'000));
  started.team = "team";
  started.deadline_at = now.plus_ms(started.budgets.max_seconds * 1'000);
  started.seed = random.next();
  return started;
}

std::string draw_text(Random& random, std::string_view name) {
  std::string text(name);
  if (random.chance(80)) {
    const std::size_t bytes = random.below(40'000);
    while (text.size() < bytes)
      text += random.chance(500) ? " – naïve 🏷" : " or words";
  }
  return text;
}

}  // namespace ratchet::sim
