// A run step by step: what was asked of the model and what it answered, the exact bytes of a request, and the
// proof that the record is whole.

#include "runtime/replay/steps.hpp"

#include <fmt/format.h>

#include "http/catalog.hpp"
#include "http/routes/parameters.hpp"
#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "runtime/context/inspect.hpp"
#include "runtime/event/json.hpp"
#include "runtime/json/object.hpp"
#include "runtime/limits.hpp"
#include "runtime/replay/version.hpp"

namespace ratchet {

namespace {

std::string render_call(const StepCall& call) {
  return json_object([&](JsonObject& object) {
    object.text("call_id", call.requested.call_id)
        .text("tool", call.requested.tool)
        .number("tier", call.requested.tier)
        .text("verdict", name(call.requested.verdict.decision))
        .optional("status", call.status, [](ToolStatus status) { return name(status); });
    if (call.status)
      object.number("latency_ms", call.latency_ms);
    else
      object.null("latency_ms");
    if (call.source != ResultSource::execution) object.text("source", name(call.source));
  });
}

}  // namespace

std::string render_step(const RunStep& step, const ModelConfig& model) {
  return json_object([&](JsonObject& object) {
    object.number("step", step.step).text("model", model.name);
    if (step.provider < model.providers.size())
      object.text("provider", name(model.providers[step.provider].protocol))
          .text("provider_model", model.providers[step.provider].model);
    object.number("attempts", step.attempts)
        .raw("usage", render_usage(step.usage))
        .money("cost_usd", step.cost_usd);
    if (step.reply)
      object.number("latency_ms", step.reply->latency_ms).number("ttft_ms", step.reply->ttft_ms);
    else
      object.null("latency_ms").null("ttft_ms");
    object.text("prompt_hash", to_string(step.prompt_hash));
    if (step.replayed) object.boolean("replayed", true);
    append_json_array(object.key("calls"), step.calls, [](std::string& out, const StepCall& call) {
      out += render_call(call);
    });
  });
}

namespace {

Result<Response> list(Api& api, const Call& call) {
  const auto page = Page::of(call);
  if (!page) return tl::unexpected(page.error());
  const auto row = find_run(api, call);
  if (!row) return tl::unexpected(row.error());
  std::uint32_t after = 0;
  if (!page->after().empty()) {
    const auto parsed = version_of(page->after());  // a number from 1, too
    if (!parsed) return fail(ErrorCode::invalid_cursor, "the cursor names no step");
    after = *parsed;
  }
  RunSteps steps;
  const auto read = each_event(api.journal, row->run_id, 1, [&](const Event& event) {
    steps.add(event);
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  std::vector<const RunStep*> shown;
  bool more = false;
  for (const auto& step : steps.all()) {
    if (step.step <= after || step.attempts == 0) continue;
    more = shown.size() == page->limit();
    if (more) break;
    shown.push_back(&step);
  }
  std::string items;
  append_json_array(
      items, shown, [&](std::string& out, const RunStep* step) { out += render_step(*step, steps.model()); });
  return page->answer(items, more ? std::to_string(shown.back()->step) : "");
}

Result<std::uint32_t> step_of(const Call& call) {
  const auto step = version_of(call.ids.at(1));
  if (!step) return fail(ErrorCode::invalid_id, "a step is a number from 1");
  return step;
}

/// The run that sent the request of this step: of a step that a replay has taken over, the one that it
/// replays.
Result<RunRow> sender_of(Api& api, const Call& call, RunRow row, std::uint32_t step) {
  while (row.replay_of) {
    bool taken_over = false;
    const auto read = each_event(api.journal, row.run_id, 1, [&](const Event& event) {
      if (event.step == step && std::holds_alternative<ModelRequested>(event.payload))
        taken_over = event.replayed;
      return event.step < step;
    });
    if (!read) return tl::unexpected(read.error());
    if (!taken_over) break;
    auto original = find_run(api, call, *row.replay_of);
    if (!original) return original;
    row = std::move(*original);
  }
  return row;
}

Result<Response> request(Api& api, const Call& call) {
  const auto step = step_of(call);
  auto row = find_run(api, call);
  if (!row) return tl::unexpected(row.error());
  if (!step) return tl::unexpected(step.error());
  const auto attempt = integer_parameter(call.target.query, "attempt", 1, UINT32_MAX);
  if (!attempt) return tl::unexpected(attempt.error());
  row = sender_of(api, call, std::move(*row), *step);
  if (!row) return tl::unexpected(row.error());
  const auto agent = version_of(api.catalog, api.journal, *row);
  if (!agent) return tl::unexpected(agent.error());
  std::vector<Event> events;
  const auto read = each_event(api.journal, row->run_id, 1, [&](const Event& event) {
    events.push_back(event);
    return event.step <= *step;
  });
  if (!read) return tl::unexpected(read.error());
  auto bytes = request_bytes(**agent, events, *step, static_cast<std::uint32_t>(attempt->value_or(0)));
  if (!bytes) return tl::unexpected(bytes.error());
  return json_response(200, std::move(*bytes));
}

Result<Response> response(Api& api, const Call& call) {
  const auto row = find_run(api, call);
  if (!row) return tl::unexpected(row.error());
  const auto step = step_of(call);
  if (!step) return tl::unexpected(step.error());
  std::optional<std::string> reply;
  const auto read = each_event(api.journal, row->run_id, 1, [&](const Event& event) {
    const auto* completed = std::get_if<ModelCompleted>(&event.payload);
    if (completed && event.step == *step && completed->purpose == CallPurpose::step) reply = to_json(event);
    return event.step <= *step;
  });
  if (!read) return tl::unexpected(read.error());
  if (!reply)
    return fail(*step > row->step ? ErrorCode::unknown_step : ErrorCode::not_found,
                fmt::format("step {} of run {} has no reply", *step, to_string(row->run_id)));
  auto shown = shown_to(api, call, *row, std::move(*reply));
  if (!shown) return tl::unexpected(shown.error());
  return json_response(200, std::move(*shown));
}

/// Recomputes the chain over the stored records and compares it with the head that the row holds.
Result<Response> verify(Api& api, const Call& call) {
  const auto row = find_run(api, call);
  if (!row) return tl::unexpected(row.error());
  Hash head;
  std::uint64_t events = 0;
  std::string broken;
  while (events < row->last_seq && broken.empty()) {
    const auto records = api.journal.records(row->run_id, events + 1, limits::verify_slice_bytes);
    if (!records && records.error().code == ErrorCode::corrupt) {
      broken = records.error().text;
      break;
    }
    if (!records) return tl::unexpected(records.error());
    const auto before = events;
    for (const auto& record : *records) {
      if (events >= row->last_seq || !broken.empty()) break;  // appended since the row was read
      if (record.head_before != head)
        broken = fmt::format("the record after event {} does not continue the chain", events);
      for (const auto& event : record.events)
        if (event.seq != ++events) broken = fmt::format("event {} is missing", events);
      head = chain_head(record);
    }
    if (events == before) broken = fmt::format("event {} is missing", events + 1);
  }
  if (broken.empty() && head != row->head) broken = "the chain's head is not the one of the run's row";
  return json_response(
      200, json_object([&](JsonObject& body) {
        body.boolean("ok", broken.empty()).number("events", events).text("head", to_string(head));
        if (!broken.empty()) body.text("error", broken);
      }));
}

}  // namespace

std::vector<Route> step_routes() {
  return {
      {"GET", "/v1/runs/{run_id}/steps", Role::read, {"limit", "cursor"}, now<list>},
      {"GET", "/v1/runs/{run_id}/steps/{step}/request", Role::audit, {"attempt"}, now<request>},
      {"GET", "/v1/runs/{run_id}/steps/{step}/response", Roles{Role::read, Role::audit}, {}, now<response>},
      {"GET", "/v1/runs/{run_id}/verify", Role::read, {}, now<verify>},
  };
}

}  // namespace ratchet
