// A run step by step: what was asked of the model and what it answered, the exact bytes of a request, and the
// proof that the record is whole.

#include <map>

#include <fmt/format.h>

#include "http/catalog.hpp"
#include "http/routes/parameters.hpp"
#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "runtime/context/inspect.hpp"
#include "runtime/event/json.hpp"
#include "runtime/json/object.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

struct StepCall {
  ToolRequested requested;
  std::optional<ToolStatus> status;
  std::int64_t latency_ms = 0;
};

struct Step {
  std::uint32_t step = 0;
  std::uint32_t attempts = 0;
  std::uint32_t provider = 0;
  Hash prompt_hash;
  std::optional<ModelCompleted> reply;
  Usage usage;   ///< of all attempts
  Usd cost_usd;  ///< of all attempts
  std::vector<StepCall> calls;
};

/// Gathers events into steps, in order.
class StepFold {
 public:
  void add(const Event& event) {
    std::visit([&](const auto& payload) { on(event, payload); }, event.payload);
  }

  const std::vector<Step>& steps() const { return steps_; }

  const ModelConfig& model() const { return model_; }

 private:
  Step& at(const Event& event) {
    if (steps_.empty() || steps_.back().step != event.step) {
      steps_.emplace_back();
      steps_.back().step = event.step;
    }
    return steps_.back();
  }

  void on(const Event&, const RunStarted& started) { model_ = started.model; }

  void on(const Event& event, const ModelRequested& requested) {
    auto& step = at(event);
    step.attempts = requested.attempt;
    // A compaction is paid for in its step, but is not what the step was about.
    if (requested.purpose == CallPurpose::compaction) return;
    step.provider = requested.provider;
    step.prompt_hash = requested.prompt_hash;
  }

  void on(const Event& event, const ModelCompleted& completed) {
    auto& step = at(event);
    if (completed.purpose == CallPurpose::step) step.reply = completed;
    step.usage += completed.usage;
    step.cost_usd += completed.cost_usd;
  }

  void on(const Event& event, const ModelFailed& failed) {
    auto& step = at(event);
    step.usage += failed.charged;
    step.cost_usd += failed.charged_usd;
  }

  void on(const Event& event, const ToolRequested& requested) {
    auto& step = at(event);
    calls_[requested.call_id] = {steps_.size() - 1, step.calls.size()};
    step.calls.push_back({requested, std::nullopt, 0});
  }

  void on(const Event&, const ToolResult& result) {
    const auto at = calls_.find(result.call_id);
    if (at == calls_.end()) return;  // the result of a call that was never judged has no place in the list
    auto& call = steps_[at->second.first].calls[at->second.second];
    call.status = result.status;
    call.latency_ms = result.latency_ms;
  }

  template <class Other>
  void on(const Event&, const Other&) {}

  ModelConfig model_;
  std::vector<Step> steps_;
  std::map<std::string, std::pair<std::size_t, std::size_t>> calls_;  ///< where each call stands
};

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
  });
}

std::string render_step(const Step& step, const ModelConfig& model) {
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
    append_json_array(object.key("calls"), step.calls, [](std::string& out, const StepCall& call) {
      out += render_call(call);
    });
  });
}

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
  StepFold fold;
  const auto read = each_event(api.journal, row->run_id, 1, [&](const Event& event) {
    fold.add(event);
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  std::vector<const Step*> shown;
  bool more = false;
  for (const auto& step : fold.steps()) {
    if (step.step <= after || step.attempts == 0) continue;
    more = shown.size() == page->limit();
    if (more) break;
    shown.push_back(&step);
  }
  std::string items;
  append_json_array(
      items, shown, [&](std::string& out, const Step* step) { out += render_step(*step, fold.model()); });
  return page->answer(items, more ? std::to_string(shown.back()->step) : "");
}

Result<std::uint32_t> step_of(const Call& call) {
  const auto step = version_of(call.ids.at(1));
  if (!step) return fail(ErrorCode::invalid_id, "a step is a number from 1");
  return step;
}

Result<Response> request(Api& api, const Call& call) {
  const auto row = find_run(api, call);
  if (!row) return tl::unexpected(row.error());
  const auto step = step_of(call);
  if (!step) return tl::unexpected(step.error());
  const auto attempt = integer_parameter(call.target.query, "attempt", 1, UINT32_MAX);
  if (!attempt) return tl::unexpected(attempt.error());
  const auto agent = api.catalog.find(row->team, row->agent_id, row->agent_version);
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
    return fail(ErrorCode::not_found,
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
      {"GET", "/v1/runs/{run_id}/steps/{step}/response", Role::read, {}, now<response>},
      {"GET", "/v1/runs/{run_id}/verify", Role::read, {}, now<verify>},
  };
}

}  // namespace ratchet
