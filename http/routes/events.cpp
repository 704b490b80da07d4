// A run's events: as a stream of server-sent events, or as pages of JSON.

#include <fmt/format.h>

#include "http/routes/event_pages.hpp"
#include "http/routes/parameters.hpp"
#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "http/server/event_stream.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

/// All types that a run can have, those of later versions too: a filter for them is no mistake.
const std::set<std::string_view> event_types = {
    "run.started",       "message.received",    "model.requested",  "model.completed",
    "model.failed",      "tool.requested",      "tool.planned",     "tool.result",
    "approval.required", "approval.reminded",   "approval.decided", "subagent.started",
    "subagent.finished", "context.compacted",   "budget.warning",   "call.unknown",
    "call.resolved",     "run.paused",          "run.resumed",      "run.cancel_requested",
    "run.finished",      "user_token.received", "model.delta"};

enum class Form { stream, json, neither };

/// The first of the accepted types that is offered decides; a client that takes anything gets the stream if
/// it names it, JSON otherwise.
Form wanted_form(const Request& request) {
  const auto accept = request.header("Accept").value_or("*/*");
  if (accept.find("text/event-stream") != std::string_view::npos) return Form::stream;
  for (const char* json : {"application/json", "application/*", "*/*"})
    if (accept.find(json) != std::string_view::npos) return Form::json;
  return Form::neither;
}

/// Where to begin: after the larger of the parameter and `Last-Event-ID`, which a browser sends when it
/// connects again to the URL it began with.
Result<std::uint64_t> read_after(const Call& call) {
  const auto parameter = integer_parameter(call.target.query, "after", 0, INT64_MAX);
  if (!parameter) return tl::unexpected(parameter.error());
  auto after = parameter->value_or(0);
  if (const auto header = call.request.header("Last-Event-ID"); header && !header->empty()) {
    Query query;
    query.add("Last-Event-ID", std::string(*header));
    const auto last = integer_parameter(query, "Last-Event-ID", 0, INT64_MAX);
    if (!last) return tl::unexpected(last.error());
    after = std::max(after, last->value_or(0));
  }
  return static_cast<std::uint64_t>(after);
}

Result<EventSelection> read_selection(const Call& call, const RunId& run) {
  const auto& query = call.target.query;
  const auto after = read_after(call);
  if (!after) return tl::unexpected(after.error());
  auto types = words_parameter(query, "types", event_types);
  if (!types) return tl::unexpected(types.error());
  const auto children = flag_parameter(query, "children");
  if (!children) return tl::unexpected(children.error());
  const auto output = flag_parameter(query, "output");
  if (!output) return tl::unexpected(output.error());
  return EventSelection{run, *after, std::move(*types), *children, nullptr, *output};
}

Result<Response> stream(Api& api, const RunRow& row, EventSelection selection) {
  if (row.status == RunStatus::finished && selection.after >= row.last_seq) {
    Response nothing_new;
    nothing_new.status = 204;
    return nothing_new;
  }
  if (api.server.counts().streams_open >= limits::streams_max)
    return fail(ErrorCode::too_many_requests, fmt::format("{} streams are open", limits::streams_max));
  Response response;
  response.headers = {{"Content-Type", "text/event-stream"}, {"X-Accel-Buffering", "no"}};
  response.stream = make_event_stream(api.events, std::move(selection));
  return response;
}

Result<Response> page(Api& api, const Call& call, const EventSelection& selection) {
  const auto limit = integer_parameter(call.target.query, "limit", 1, limits::events_page_max);
  if (!limit) return tl::unexpected(limit.error());
  return events_page(api, selection, static_cast<std::size_t>(limit->value_or(limits::events_page_default)));
}

Result<Response> events(Api& api, const Call& call) {
  const auto row = find_run(api, call);
  if (!row) return tl::unexpected(row.error());
  auto selection = read_selection(call, row->run_id);
  if (!selection) return tl::unexpected(selection.error());
  // What is wrong with the run itself is answered now; a stream could only end.
  if (const auto view = view_of(api, call.client, *row); !view) return tl::unexpected(view.error());
  selection->view_of = [&api, client = call.client](const RunRow& shown) {
    return view_of(api, client, shown);
  };
  switch (wanted_form(call.request)) {
    case Form::stream:
      if (call.target.query.get("limit"))
        return fail(ErrorCode::invalid_request, "limit: a stream has none; ask for application/json");
      return stream(api, *row, std::move(*selection));
    case Form::json:
      if (selection->output)
        return fail(ErrorCode::invalid_request, "output: a page has no previews; ask for text/event-stream");
      return page(api, call, *selection);
    case Form::neither:
      return fail(ErrorCode::not_acceptable, "offered are text/event-stream and application/json");
  }
  return fail(ErrorCode::internal_error, "unreachable");
}

}  // namespace

std::vector<Route> event_routes() {
  return {{"GET",
           "/v1/runs/{run_id}/events",
           Role::read,
           {"after", "types", "children", "output", "limit"},
           now<events>}};
}

}  // namespace ratchet
