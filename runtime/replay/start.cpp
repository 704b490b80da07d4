#include "runtime/replay/start.hpp"

#include <algorithm>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/limits.hpp"
#include "runtime/replay/patch.hpp"
#include "runtime/replay/take_over.hpp"
#include "runtime/run/draft.hpp"

namespace ratchet {

namespace {

/// The scopes of the record's user when it came to this step.
std::vector<std::string> scopes_at(std::span<const Event> original, std::uint32_t step) {
  std::vector<std::string> scopes;
  for (const Event& event : original) {
    if (const auto* started = std::get_if<RunStarted>(&event.payload)) scopes = started->scopes;
    if (event.step >= step) break;
    if (const auto* token = std::get_if<UserTokenReceived>(&event.payload)) scopes = token->scopes;
  }
  return scopes;
}

Result<void> pin(RunStarted& started, Nondeterminism choice) {
  if (choice == Nondeterminism::accept_divergence) return {};
  const char* parameter = choice == Nondeterminism::pin_seed ? "seed" : "temperature";
  const auto& takes = started.model.sampling;
  if (std::find(takes.begin(), takes.end(), parameter) == takes.end())
    return fail(ErrorCode::not_replayable,
                fmt::format("{}: the model {} does not take a {}; only accept_divergence is honest with it",
                            name(choice),
                            started.model.name,
                            parameter),
                "/nondeterminism");
  if (choice == Nondeterminism::temperature_0)
    started.settings.temperature = "0";
  else if (started.settings.seed.empty())
    started.settings.seed = std::to_string(started.seed);
  return {};
}

/// A budget of the patch is the replay's; the others are those of the run that is replayed, which may have
/// been lowered.
Budgets budgets_of(const Budgets& original, const AgentDefinition& definition, const Json& patch) {
  Budgets budgets = original;
  const auto value = parse_json(patch.text);
  const auto* given = value && value->is_object() ? value->get_object().if_contains("budgets") : nullptr;
  if (!given || !given->is_object()) return budgets;
  const auto& members = given->get_object();
  if (members.contains("max_steps")) budgets.max_steps = definition.budgets.max_steps;
  if (members.contains("max_tokens")) budgets.max_tokens = definition.budgets.max_tokens;
  if (members.contains("max_seconds")) budgets.max_seconds = definition.budgets.max_seconds;
  if (members.contains("max_usd")) budgets.max_usd = definition.budgets.max_usd;
  return budgets;
}

bool asks_before_model(const AgentDefinition& definition) {
  return std::any_of(definition.hooks.begin(), definition.hooks.end(), [](const HookRule& hook) {
    return hook.at == HookPoint::pre_model && hook.kind == HookKind::security;
  });
}

Result<void> check_mocks(const Json& patch, const AgentVersion& version) {
  const auto mocks = mocks_of(patch);
  if (!mocks) return tl::unexpected(mocks.error());
  for (const auto& [tool, result] : *mocks) {
    const auto refuse = [&, &name = tool](std::string_view why) {
      return fail(ErrorCode::not_replayable, fmt::format("a mock of {}: {}", name, why), "/patch/mocks");
    };
    if (!version.find_tool(tool)) return refuse("the agent has no such tool");
    if (is_own_tool(tool)) return refuse("it touches nothing but the run itself, so it always runs");
  }
  return {};
}

/// A tool that would run as a user needs one.
Result<void> check_user(const ReplayOrder& order, const AgentVersion& version) {
  if (order.user) return {};
  const ReplayRule rule{order.origin.tools, order.environment};
  for (const ToolManifest& tool : version.tools)
    if (tool.auth.as_user && may_execute(rule, tool))
      return fail(ErrorCode::invalid_request,
                  fmt::format("{} acts as the user and would run: live tools need `user_token`", tool.name),
                  "/user_token");
  return {};
}

Result<RunStarted> start_of(const ReplayOrder& order,
                            std::span<const Event> original,
                            const AgentVersion& version,
                            Timestamp now) {
  RunStarted started = std::get<RunStarted>(original.front().payload);
  const AgentDefinition& definition = version.definition;
  const Json& patch = order.origin.patch;
  started.agent_digest = definition.digest;
  started.tools.clear();
  for (const ToolManifest& tool : version.tools)
    started.tools.push_back({tool.name, tool.digest});
  if (changes(patch, "model")) started.settings = definition.settings;
  if (order.model) started.model = *order.model;
  if (order.input) started.input = *order.input;
  if (order.user) {
    started.user_id = order.user->id;
    started.scopes = order.user->scopes;
    started.token_expires_at = order.user->token_expires_at;
  } else {
    started.scopes = scopes_at(original, order.origin.from_step);
    started.token_expires_at.reset();
  }
  started.parent_run_id.reset();
  started.root_run_id = {};
  started.depth = 0;
  started.budgets = budgets_of(started.budgets, definition, patch);
  started.deadline_at = now.plus_ms(started.budgets.max_seconds * 1'000);
  started.harness_version = order.harness_version;
  started.rules_version = RunStarted{}.rules_version;
  started.pre_model_hooks = asks_before_model(definition);
  started.replay_of = order.origin.run_id;
  started.replay = order.origin;
  if (auto pinned = pin(started, order.origin.nondeterminism); !pinned) return tl::unexpected(pinned.error());
  return started;
}

}  // namespace

Result<std::vector<Event>> replay_events(const ReplayOrder& order,
                                         std::span<const Event> original,
                                         const AgentVersion& version,
                                         Timestamp now) {
  if (original.empty() || !std::holds_alternative<RunStarted>(original.front().payload))
    return fail(ErrorCode::corrupt, "the run's first event is not run.started");
  auto taken = take_over(original, order.origin.from_step, order.model != nullptr, now);
  if (!taken) return taken;
  if (auto sound = check_mocks(order.origin.patch, version); !sound) return tl::unexpected(sound.error());
  if (auto sound = check_user(order, version); !sound) return tl::unexpected(sound.error());
  auto started = start_of(order, original, version, now);
  if (!started) return tl::unexpected(started.error());
  std::vector<Event> events(1);
  events.front().seq = 1;
  events.front().at = now;
  events.front().lease_version = 1;
  events.front().payload = std::move(*started);
  std::move(taken->begin(), taken->end(), std::back_inserter(events));
  return events;
}

Decided start_replay(const RunId& run_id, std::vector<Event> events, Stamp& stamp) {
  Decided decision;
  RunState& state = decision.after;
  state.run_id = run_id;
  auto& started = std::get<RunStarted>(events.front().payload);
  started.root_run_id = run_id;
  const Shown shown = shown_of_words(started);
  std::uint32_t n = 0;  // what is taken over has the numbers of the record, under other ids
  for (Block& block : started.input) {
    auto artifact = spill(block, n + 1, shown, stamp);
    if (!artifact) continue;
    ++n;
    decision.blobs.push_back(std::move(*artifact));
  }
  for (const Event& event : events)
    apply(state, event);
  decision.events = std::move(events);
  decision.accepted_seq = 1;
  return decision;
}

ReplayOrigin inherited(const ReplayOrigin& origin) {
  ReplayOrigin child = origin;
  child.from_step = 1;
  child.patch = only(origin.patch, "mocks");
  return child;
}

}  // namespace ratchet
