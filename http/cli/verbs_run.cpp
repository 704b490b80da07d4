// Starting runs and following them.

#include <ostream>

#include <fmt/format.h>

#include "http/cli/fields.hpp"
#include "http/cli/follow.hpp"
#include "http/cli/verbs.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/json/writer.hpp"

namespace ratchet::cli {

namespace {

void append_member(std::string& json, std::string_view name, std::string_view text) {
  append_json_string(json += json.ends_with('{') ? "" : ",", name);
  append_json_string(json += ':', text);
}

void append_member(std::string& json, std::string_view name, std::int64_t number) {
  append_json_string(json += json.ends_with('{') ? "" : ",", name);
  append_json_number(json += ':', number);
}

std::string start_body(const StartOptions& options, const std::string& input) {
  std::string json = "{";
  append_member(json, "agent_id", options.agent_id);
  if (options.agent_version > 0)
    append_member(json, "agent_version", static_cast<std::int64_t>(options.agent_version));
  append_member(json, "input", input);
  append_member(json, "user_token", options.user_token);
  if (!options.idempotency_key.empty()) append_member(json, "idempotency_key", options.idempotency_key);
  std::string budgets = "{";
  if (options.max_steps) append_member(budgets, "max_steps", *options.max_steps);
  if (options.max_tokens) append_member(budgets, "max_tokens", *options.max_tokens);
  if (options.max_seconds) append_member(budgets, "max_seconds", *options.max_seconds);
  if (!options.max_usd.empty()) append_member(budgets, "max_usd", options.max_usd);
  if (budgets != "{") json += ",\"budgets\":" + budgets + "}";
  std::string labels = "{";
  for (const auto& [name, value] : options.labels)
    append_member(labels, name, value);
  if (labels != "{") json += ",\"metadata\":" + labels + "}";
  return json + "}";
}

void hint_of_approval(Context& context, const std::string& run_id, const std::string& approval_id) {
  context.err << fmt::format("decide with: ratchet approvals approve|reject {} {}\n", run_id, approval_id);
}

/// What a person can do about a run that waits.
void hint(Context& context, const std::string& run_id, const std::string& data) {
  for (const auto& reason : Fields(data).texts("reasons")) {
    if (reason == "message")
      context.err << fmt::format("answer with: ratchet runs message {} TEXT\n", run_id);
    if (reason == "approval")
      for (const auto& approval : Fields(data).texts("approval_ids"))
        hint_of_approval(context, run_id, approval);
    if (reason == "operator") context.err << fmt::format("go on with: ratchet runs resume {}\n", run_id);
    if (reason == "unknown_outcome")
      context.err << fmt::format(
          "resolve with: ratchet runs resolve {} CALL_ID --happened --result TEXT | --did-not-happen\n",
          run_id);
  }
}

Done follow(Context& context, const std::string& run_id, const FollowOptions& options) {
  EventPrinter printer(context.out, context.style);
  Follower follower;
  follower.on_event = [&](std::string_view type, const std::string& data) {
    if (context.json)
      context.out << data << "\n" << std::flush;
    else if (type == "model.delta")
      printer.delta(data);
    else if (type == "tool.output")
      printer.output(data);
    else
      printer.event(type, data);
    if (context.json) return;
    const auto below = Fields(data).text("run_id");
    if (type == "run.paused") hint(context, below.empty() ? run_id : below, data);
    // That the run below has paused is not shown otherwise.
    if (type == "approval.required" && !below.empty() && !options.children)
      hint_of_approval(context, below, Fields(data).text("approval_id"));
  };
  std::uint64_t broken_after = ~0ull;
  follower.on_break = [&](const std::string& why, std::uint64_t after) {
    // Once for each place: a server that is away for a while is asked many times.
    if (broken_after == after) return;
    broken_after = after;
    context.err << fmt::format("… {}; resuming after event {}\n", why, after) << std::flush;
  };
  return follow_run(context.api, run_id, options, follower);
}

}  // namespace

Done start_run(Context& context, const StartOptions& options) {
  const auto input = read_argument(options.input);
  if (!input) return tl::unexpected(input.error());
  if (!is_valid_utf8(*input)) context.err << "some bytes of the input are not UTF-8 and are sent as U+FFFD\n";
  const auto reply = context.api.post("/v1/runs", start_body(options, *input));
  if (!reply) return tl::unexpected(reply.error());

  return follow_started(context, *reply, options.detach);
}

Done follow_started(Context& context, const std::string& reply, bool detach) {
  const auto run_id = Fields(reply).text("run_id");
  if (run_id.empty())
    return failed(ExitStatus::ended_otherwise, "the server accepted the run without naming it", reply);
  context.out << (context.json ? reply : run_id) << "\n" << std::flush;
  if (detach) return ExitStatus::done;
  return follow(context, run_id, {.after = 0, .was_there = true});
}

Done tail_run(Context& context, const std::string& run_id, const TailOptions& options) {
  return follow(
      context,
      run_id,
      {.after = options.after, .children = options.children, .output = options.output, .was_there = false});
}

}  // namespace ratchet::cli
