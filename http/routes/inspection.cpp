// A run as it was: one step with everything that happened in it, and the state at any of its events.

#include <fmt/format.h>

#include "http/catalog.hpp"
#include "http/routes/parameters.hpp"
#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "runtime/context/context.hpp"
#include "runtime/event/json.hpp"
#include "runtime/json/object.hpp"
#include "runtime/replay/version.hpp"
#include "runtime/run/state.hpp"

namespace ratchet {

namespace {

std::string hash_text(const Hash& hash) {
  return to_string(hash);
}

std::string render_pause(const std::optional<Pause>& pause) {
  if (!pause) return "null";
  return json_object([&](JsonObject& object) {
    append_json_texts(object.key("reasons"), pause->reasons, [](PauseReason reason) { return name(reason); });
    object.time("since", pause->since).time("expires_at", pause->expires_at);
  });
}

std::string render_calls(const std::vector<OpenCall>& calls) {
  std::string out;
  append_json_array(out, calls, [](std::string& to, const OpenCall& call) {
    to += json_object([&](JsonObject& object) {
      object.text("call_id", call.call_id)
          .text("tool", call.tool)
          .raw("args", call.args.text.empty() ? "null" : call.args.text)
          .text("stage", name(call.stage))
          .number("attempt", call.attempt);
    });
  });
  return out;
}

std::string render_todos(const std::vector<TodoItem>& todos) {
  std::string out;
  append_json_array(out, todos, [](std::string& to, const TodoItem& todo) {
    to += json_object(
        [&](JsonObject& object) { object.text("text", todo.text).text("status", name(todo.status)); });
  });
  return out;
}

void write_budgets(const RunState& state, JsonObject& object) {
  const Budgets& budgets = state.started->budgets;
  object.key("budgets") += json_object([&](JsonObject& limits) {
    limits.number("max_steps", budgets.max_steps)
        .number("max_tokens", budgets.max_tokens)
        .number("max_seconds", budgets.max_seconds)
        .money("max_usd", budgets.max_usd);
  });
  object.key("budgets_used") += json_object([&](JsonObject& used) {
    used.number("steps", state.steps_taken())
        .number("tokens", state.tokens_taken())
        .number("seconds", (state.last_at.us - state.created_at.us - state.paused_us) / 1'000'000)
        .money("usd", state.usd_taken());
  });
  object.key("reserved") += json_object([&](JsonObject& reserved) {
    reserved.number("tokens", state.reserved.tokens).money("usd", state.reserved.usd);
  });
}

std::string render(const RunState& state, const Context& context) {
  return json_object([&](JsonObject& object) {
    object.text("run_id", to_string(state.run_id))
        .number("seq", state.last_seq)
        .time("at", state.last_at)
        .number("step", state.step)
        .text("phase", name(state.phase))
        .raw("paused", render_pause(state.pause))
        .boolean("cancelled", state.cancel.has_value())
        .optional("stop_reason", state.stop_reason, [](StopReason reason) { return name(reason); })
        .time("deadline_at", state.deadline_at);
    write_budgets(state, object);
    object.raw("usage", render_usage(state.usage))
        .money("cost_usd", state.cost_usd)
        .raw("calls", render_calls(state.calls))
        .number("messages_pending", state.messages_pending)
        .text("notes", state.memory.notes)
        .raw("todos", render_todos(state.memory.todos))
        .optional("workspace", state.workspace, hash_text);
    object.key("context") += json_object(
        [&](JsonObject& at) { at.number("provider", context.provider()).number("bytes", context.bytes()); });
  });
}

Result<Response> state(Api& api, const Call& call) {
  const auto row = find_run(api, call);
  if (!row) return tl::unexpected(row.error());
  const auto given = integer_parameter(call.target.query, "seq", 1, INT64_MAX);
  if (!given) return tl::unexpected(given.error());
  const auto seq = static_cast<std::uint64_t>(given->value_or(static_cast<std::int64_t>(row->last_seq)));
  if (seq > row->last_seq)
    return fail(
        ErrorCode::not_found,
        fmt::format("run {} has {} events, and no event {}", to_string(row->run_id), row->last_seq, seq));
  std::vector<Event> events;
  RunState state;
  state.run_id = row->run_id;
  const auto read = each_event(api.journal, row->run_id, 1, [&](const Event& event) {
    apply(state, event);
    events.push_back(event);
    return event.seq < seq;
  });
  if (!read) return tl::unexpected(read.error());
  const auto agent = version_of(api.catalog, api.journal, *row);
  if (!agent) return tl::unexpected(agent.error());
  const RunStarted& started = *state.started;
  const std::uint32_t provider = state.model.provider;
  if (provider >= started.model.providers.size())
    return fail(ErrorCode::corrupt, "the run's events name a provider that it does not have");
  Context context(make_head(**agent, started.model, started.settings, provider),
                  started.model.providers[provider],
                  provider);
  for (const Event& event : events)
    context.apply(event);
  auto body = shown_to(api, call, *row, render(state, context));
  if (!body) return tl::unexpected(body.error());
  return json_response(200, std::move(*body));
}

Result<Response> step(Api& api, const Call& call) {
  const auto row = find_run(api, call);
  if (!row) return tl::unexpected(row.error());
  const auto number = version_of(call.ids.at(1));
  if (!number) return fail(ErrorCode::invalid_id, "a step is a number from 1");
  RunSteps steps;
  std::string events;
  std::optional<Hash> workspace;
  const auto read = each_event(api.journal, row->run_id, 1, [&](const Event& event) {
    if (event.step > *number) return false;
    if (const auto* result = std::get_if<ToolResult>(&event.payload); result && result->workspace)
      workspace = result->workspace;
    if (event.seq == 1 || event.step == *number) steps.add(event);
    if (event.step != *number) return true;
    if (!events.empty()) events += ',';
    write_json(event, events);
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  if (steps.all().empty() || steps.all().back().attempts == 0)
    return fail(ErrorCode::unknown_step,
                fmt::format("run {} has no step {}", to_string(row->run_id), *number));
  auto body = json_object([&](JsonObject& object) {
    object.raw("step", render_step(steps.all().back(), steps.model()))
        .raw("events", '[' + events + ']')
        .optional("workspace", workspace, hash_text);
  });
  auto shown = shown_to(api, call, *row, std::move(body));
  if (!shown) return tl::unexpected(shown.error());
  return json_response(200, std::move(*shown));
}

}  // namespace

std::vector<Route> state_routes() {
  return {
      {"GET", "/v1/runs/{run_id}/state", Role::read, {"seq"}, now<state>},
      {"GET", "/v1/runs/{run_id}/steps/{step}", Role::read, {}, now<step>},
  };
}

}  // namespace ratchet
