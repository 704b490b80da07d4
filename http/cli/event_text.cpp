#include "http/cli/event_text.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/json/utf8.hpp"

namespace ratchet::cli {

namespace {

constexpr std::size_t value_bytes_max = 160;  // of one value in a line; the API has all of it

/// `{path}` stands for the value at that path, `{words|path}` for the words and the value where there is one,
/// `{tool}` for the name of the tool that the event's call is of. `below`: the first of the paths that says
/// something.
struct Form {
  std::string_view type, line, below, otherwise = {};
};

constexpr Form forms[] = {
    {"run.started",
     "agent {agent_id} version {agent_version}, model {model/name}, user {user_id}{, replays |replay_of}"
     "{ from step |replay/from_step}",
     "input"},
    {"message.received", "from {from}", "content"},
    {"model.requested", "step {step}, {purpose}, attempt {attempt}", ""},
    {"model.completed",
     "{stop_reason}, {usage/input_tokens} tokens in, {usage/output_tokens} out, ${cost_usd}, {latency_ms} ms",
     "content"},
    {"model.failed", "{class}: {error}{, again at |retry_at}", ""},
    {"tool.requested", "{tool} {args} → {verdict/decision}", ""},
    {"tool.planned", "{tool}, attempt {attempt}", ""},
    {"tool.result", "{tool} {status}, {bytes} bytes, {latency_ms} ms", "content"},
    {"approval.required", "{approval_id}: {tool} {args}, until {expires_at} ({why})", ""},
    {"approval.reminded", "{approval_id}: nobody has decided yet", ""},
    {"approval.decided",
     "{approval_id}: {decision} ({reason}){ by |by}{, edited to |edited_args}",
     "comment"},
    {"context.compacted", "up to event {up_to_seq}, {tokens_before} tokens → {tokens_after}", "summary"},
    {"user_token.received", "scopes {scopes}, from {from}", ""},
    {"subagent.started",
     "{agent} version {agent_version} as {child_run_id}: {share/steps} steps, {share/tokens} tokens, "
     "${share/usd}, until {deadline_at}",
     ""},
    {"subagent.finished",
     "{child_run_id}: {stop_reason} after {used/steps} steps, {used/tokens} tokens, ${used/usd}",
     "result"},
    {"budget.warning", "{which}: {used} of {limit} used", ""},
    {"call.unknown", "{tool} ({call_id}): {why}", ""},
    {"call.resolved", "{tool} {outcome}, by {by}", "result"},
    {"run.paused", "waits for {reasons} until {expires_at}{: |error}", ""},
    {"run.resumed", "{reason}", ""},
    {"run.cancel_requested", "by {by}{: |reason}", ""},
    {"run.finished",
     "{stop_reason} after {steps} steps, ${cost_usd}{: |error}",
     "result/text",
     "report/text"},
};

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() <= value_bytes_max) return text;
  text.resize(utf8_cut(text, value_bytes_max));
  return text + "…";
}

std::string fill(std::string_view form, const std::function<std::string(std::string_view)>& value_of) {
  std::string out;
  for (std::size_t begin = 0; begin < form.size();) {
    const auto open = std::min(form.find('{', begin), form.size());
    out += form.substr(begin, open - begin);
    if (open == form.size()) break;
    const auto close = form.find('}', open);
    auto path = form.substr(open + 1, close - open - 1);
    begin = close + 1;
    const auto bar = path.find('|');
    const auto words = bar == std::string_view::npos ? std::string_view{} : path.substr(0, bar);
    if (bar != std::string_view::npos) path.remove_prefix(bar + 1);
    const auto value = one_line(value_of(path));
    if (!value.empty()) out.append(words).append(value);
  }
  return out;
}

/// What tells an event of a replay from one of any other run.
std::string_view origin_of(const Fields& event) {
  if (event.text("replayed") == "true") return ", taken over";
  const auto source = event.text("source");
  if (source == "record") return ", from the record";
  if (source == "mock") return ", from a mock";
  return {};
}

}  // namespace

EventText event_text(std::string_view type,
                     const Fields& event,
                     const std::map<std::string, std::string>& tools) {
  const auto* form =
      std::find_if(std::begin(forms), std::end(forms), [&](const Form& f) { return f.type == type; });
  if (form == std::end(forms)) return {one_line(event.text("")), ""};
  EventText out;
  out.line = fill(form->line, [&](std::string_view path) {
    const auto known = path == "tool" ? tools.find(event.text("call_id")) : tools.end();
    if (known != tools.end()) return known->second;
    const auto items = event.texts(path);
    return items.empty() ? event.text(path) : fmt::format("{}", fmt::join(items, ", "));
  });
  out.line += origin_of(event);
  if (!form->below.empty()) out.below = event.content(form->below);
  if (out.below.empty() && !form->otherwise.empty()) out.below = event.content(form->otherwise);
  return out;
}

}  // namespace ratchet::cli
