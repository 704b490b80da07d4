// Two runs side by side.

#include "runtime/replay/diff.hpp"

#include <fmt/format.h>

#include "http/routes/reads.hpp"
#include "http/routes/route.hpp"
#include "runtime/json/object.hpp"
#include "runtime/json/utf8.hpp"

namespace ratchet {

namespace {

constexpr std::size_t shown_bytes_max = 4u << 10;  // of a reply's text; `text_bytes` says how long it is

/// One of the runs, read.
struct Side {
  RunRow row;
  RunSteps steps;
};

Result<Side> read_side(Api& api, Result<RunRow> row) {
  if (!row) return tl::unexpected(row.error());
  Side side{std::move(*row), {}};
  const auto read = each_event(api.journal, side.row.run_id, 1, [&](const Event& event) {
    side.steps.add(event);
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  return side;
}

std::string text_of(const ModelCompleted& reply) {
  std::string text;
  for (const ReplyBlock& block : reply.content)
    if (block.type == ReplyBlockType::text) text += block.text;
  return text;
}

std::string render_request(const RunStep& step) {
  return json_object([&](JsonObject& object) {
    object.text("prompt_hash", to_string(step.prompt_hash))
        .text("request_hash", to_string(step.request_hash))
        .number("attempts", step.attempts)
        .boolean("replayed", step.replayed);
  });
}

std::string render_reply(const RunStep& step) {
  if (!step.reply) return "null";
  const std::string text = text_of(*step.reply);
  return json_object([&](JsonObject& object) {
    object.text("stop_reason", name(step.reply->stop_reason))
        .text("text", std::string_view(text).substr(0, utf8_cut(text, shown_bytes_max)))
        .number("text_bytes", text.size());
  });
}

std::string render_call(const StepCall& call) {
  return json_object([&](JsonObject& object) {
    object.text("call_id", call.requested.call_id)
        .text("tool", call.requested.tool)
        .raw("args", call.requested.args.text)
        .text("verdict", name(call.requested.verdict.decision))
        .optional("status", call.status, [](ToolStatus status) { return name(status); })
        .text("source", name(call.source))
        .optional("result_sha256",
                  call.status ? std::optional(call.result) : std::nullopt,
                  [](const Hash& hash) { return to_string(hash); });
  });
}

/// `{same, run, against}`, each side by `render`, or null where the run has nothing there.
template <class Part, class Render>
std::string render_sides(bool same, const Part* run, const Part* against, Render render) {
  return json_object([&](JsonObject& object) {
    object.boolean("same", same)
        .raw("run", run ? render(*run) : "null")
        .raw("against", against ? render(*against) : "null");
  });
}

std::string render_calls(const StepPair& pair) {
  static const std::vector<StepCall> none;
  const auto& ours = pair.run ? pair.run->calls : none;
  const auto& theirs = pair.against ? pair.against->calls : none;
  std::string out = "[";
  for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    if (i > 0) out += ',';
    const StepCall* a = i < ours.size() ? &ours[i] : nullptr;
    const StepCall* b = i < theirs.size() ? &theirs[i] : nullptr;
    out += render_sides(a && b && same_call(*a, *b), a, b, render_call);
  }
  return out + ']';
}

std::string render_pair(const StepPair& pair) {
  return json_object([&](JsonObject& object) {
    object.number("step", pair.step)
        .boolean("same", pair.same())
        .raw("request", render_sides(pair.same_request, pair.run, pair.against, render_request))
        .raw("reply", render_sides(pair.same_reply, pair.run, pair.against, render_reply))
        .raw("calls", render_calls(pair));
  });
}

std::string render(const Side& run, const Side& against) {
  const RunDiff diff = compare(run.steps.all(), against.steps.all());
  return json_object([&](JsonObject& object) {
    object.text("run_id", to_string(run.row.run_id)).text("against", to_string(against.row.run_id));
    if (diff.first_divergent_step)
      object.number("first_divergent_step", *diff.first_divergent_step);
    else
      object.null("first_divergent_step");
    append_json_array(object.key("steps"), diff.steps, [](std::string& out, const StepPair& pair) {
      out += render_pair(pair);
    });
    object.money("cost_delta_usd", run.row.cost_usd - against.row.cost_usd);
  });
}

Result<Response> diff(Api& api, const Call& call) {
  const auto given = call.target.query.get("against");
  if (!given) return fail(ErrorCode::invalid_request, "against: the other run's id is needed");
  const auto other = parse_id<RunKind>(*given);
  if (!other) return tl::unexpected(other.error());
  const auto run = read_side(api, find_run(api, call));
  if (!run) return tl::unexpected(run.error());
  const auto against = read_side(api, find_run(api, call, *other));
  if (!against) return tl::unexpected(against.error());
  // The arguments and texts of both runs are in it, so what either hides is hidden.
  auto body = shown_to(api, call, run->row, render(*run, *against));
  if (body) body = shown_to(api, call, against->row, std::move(*body));
  if (!body) return tl::unexpected(body.error());
  return json_response(200, std::move(*body));
}

}  // namespace

std::vector<Route> diff_routes() {
  return {{"GET", "/v1/runs/{run_id}/diff", Role::read, {"against"}, now<diff>}};
}

}  // namespace ratchet
