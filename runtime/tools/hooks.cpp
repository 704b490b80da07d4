#include "runtime/tools/hooks.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/json/object.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/schema.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {

namespace {

std::string body_of(const HookRule& hook, const JudgeQuestion& question, const CallEnd* end) {
  return json_object([&](JsonObject& body) {
    body.text("at", name(hook.at))
        .text("run_id", to_string(question.run_id))
        .number("step", question.step)
        .text("agent_id", question.agent_id)
        .text("user_id", question.user_id);
    if (question.tool)
      body.raw("call", json_object([&](JsonObject& call) {
                 call.text("call_id", question.call_id)
                     .text("tool", question.tool->name)
                     .raw("args", question.args);
               }));
    if (end) body.text("status", name(end->status)).text("result", end->text);
    body.boolean("replay", question.replay);
  });
}

/// A hook's words go into the event and to the model: one line, bounded.
std::string one_line(std::string_view text) {
  std::string line = sanitize_utf8(text);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  line.resize(utf8_cut(line, limits::hook_reason_bytes_max));
  return line;
}

HookAnswer failed(std::string_view why) {
  return {HookOutcome::failed, one_line(why), {}, {}};
}

/// Members that an answer may have, and no others: a slip of the pen must not read as consent.
std::string fault_of(const boost::json::object& answer, std::string_view rewrite) {
  for (const auto& [name, value] : answer) {
    if (name == rewrite) continue;
    if (name != "verdict" && name != "reason")
      return fmt::format("its answer has the unknown member {}", std::string_view(name));
    if (!value.is_string()) return fmt::format("its {} is not a string", std::string_view(name));
  }
  return answer.contains("verdict") ? "" : "its answer has no verdict";
}

/// What an answer may have beside its verdict.
std::string_view member_of(HookPoint at) {
  switch (at) {
    case HookPoint::pre_tool:
      return "args";
    case HookPoint::pre_model:
      return "context";
    default:
      return "result";
  }
}

/// The answer of a hook at `pre_model`, whose form has been looked at.
HookAnswer model_answer(HookOutcome verdict, const boost::json::value* context) {
  if (verdict == HookOutcome::rewrite) return failed("there is nothing to rewrite before a model call");
  if (!context) return {verdict, {}, {}, {}};
  if (verdict != HookOutcome::allow) return failed("its answer has context and does not allow the call");
  if (!context->is_string()) return failed("its context is not a text");
  std::string text = sanitize_utf8(std::string_view(context->get_string()));
  if (text.size() > limits::hook_context_bytes_max)
    return failed(fmt::format("its context is longer than {} bytes", limits::hook_context_bytes_max));
  return {verdict, {}, {}, std::move(text)};
}

bool is_refusal(const HookAnswer& answer) {
  return answer.outcome == HookOutcome::failed || answer.outcome == HookOutcome::deny;
}

std::string_view reason_of(const HookAnswer& answer) {
  return answer.reason.empty() ? std::string_view("no reason given") : answer.reason;
}

}  // namespace

ConnectorCall hook_call(const HookRule& hook, const JudgeQuestion& question, const CallEnd* end) {
  ConnectorCall call;
  call.method = "POST";
  call.url = hook.url;
  call.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  call.body = body_of(hook, question, end);
  call.timeout_ms = limits::hook_timeout_ms;
  if (const auto url = parse_url(hook.url)) call.network_allow = {url->endpoint()};
  call.reply_bytes_max = end ? limits::hook_result_bytes_max : limits::hook_reply_bytes_max;
  call.repeatable = true;
  return call;
}

HookAnswer read_hook_answer(HookPoint at, const ConnectorOutcome& outcome) {
  if (outcome.kind != ConnectorOutcome::Kind::answered) return failed("it did not answer: " + outcome.text);
  if (outcome.status != 200) return failed(fmt::format("it answered {}", outcome.status));
  const auto json = parse_json(outcome.body);
  if (!json) return failed("its answer cannot be read: " + json.error().text);
  const auto* members = json->if_object();
  if (!members) return failed(fmt::format("its answer is {}", kind_name(*json)));
  const bool of_args = at == HookPoint::pre_tool;
  const std::string_view member = member_of(at);
  if (const auto fault = fault_of(*members, member); !fault.empty()) return failed(fault);

  const std::string_view word = members->at("verdict").get_string();
  const auto verdict = parse_enum<HookOutcome>(word);
  if (!verdict || *verdict == HookOutcome::failed) return failed(fmt::format("unknown verdict '{}'", word));
  const auto* said = members->if_contains("reason");
  const std::string reason = said ? one_line(said->get_string()) : std::string();
  const auto* rewrite = members->if_contains(member);
  if (at == HookPoint::pre_model) {
    HookAnswer answer = model_answer(*verdict, rewrite);
    if (answer.outcome != HookOutcome::failed) answer.reason = reason;
    return answer;
  }
  if (rewrite && *verdict != HookOutcome::rewrite)
    return failed(fmt::format("its answer has {} and is no rewrite", member));
  if (*verdict == HookOutcome::rewrite &&
      !(rewrite && (of_args ? rewrite->is_object() : rewrite->is_string())))
    return failed(of_args ? "its rewrite has no object of args" : "its rewrite has no text as result");
  HookAnswer answer{*verdict, reason, {}, {}};
  if (rewrite && of_args) append_json(answer.rewrite, *rewrite);
  if (rewrite && !of_args) answer.rewrite = rewrite->get_string();
  return answer;
}

void take_answer(HookFacts& facts, JudgeQuestion& question, std::size_t number, HookAnswer answer) {
  const auto refuse = [&](std::string_view why) {
    facts.denied = true;
    facts.args.reset();
    facts.word = fmt::format("hook {}: {}", number, why);
  };
  if (is_refusal(answer)) return refuse(reason_of(answer));
  // A rewrite that changes nothing is none.
  if (answer.outcome == HookOutcome::allow || answer.rewrite == question.args) return;

  const auto schema = ArgumentSchema::compile(question.tool->input_schema.text);
  if (!schema) return refuse("its rewrite cannot be checked: " + schema.error().text);
  if (const auto fault = argument_fault(*question.tool, *schema, answer.rewrite))
    return refuse(one_line("its rewrite does not fit the tool: " + *fault));
  const std::string why = answer.reason.empty() ? "" : ": " + answer.reason;
  facts.word = facts.args ? fmt::format("{}; then by hook {}{}", facts.word, number, why)
                          : fmt::format("rewritten by hook {}{}", number, why);
  facts.args = answer.rewrite;
  question.args = std::move(answer.rewrite);
}

bool take_answer(ModelFacts& facts, std::size_t number, HookAnswer answer) {
  if (is_refusal(answer)) {
    const bool denied = answer.outcome == HookOutcome::deny;
    facts.outcome = denied ? ModelFacts::Outcome::denied : ModelFacts::Outcome::unanswered;
    facts.word = fmt::format("hook {}: {}", number, reason_of(answer));
    facts.context.clear();
    return false;
  }
  if (!facts.context.empty() && !answer.context.empty()) facts.context += '\n';
  facts.context += answer.context;
  return true;
}

bool has_result(const CallEnd& end) {
  return end.kind == CallEnd::Kind::ended &&
         (end.status == ToolStatus::ok || end.status == ToolStatus::error);
}

bool take_answer(CallEnd& end, std::size_t number, HookAnswer answer) {
  if (is_refusal(answer)) {
    withhold(end, fmt::format("hook {}: {}", number, reason_of(answer)));
    return false;
  }
  if (answer.outcome == HookOutcome::rewrite) end.text = std::move(answer.rewrite);
  return true;
}

void withhold(CallEnd& end, std::string_view why) {
  end.text = end.status == ToolStatus::ok
                 ? fmt::format(
                       "The call was carried out, but what it returned is withheld ({}). Do not call "
                       "it again for its result.",
                       why)
                 : fmt::format("The call ended with an error, and what it said is withheld ({}).", why);
}

}  // namespace ratchet
