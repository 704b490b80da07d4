#include "runtime/tools/hooks.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/schema.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {

namespace {

void append_member(std::string& out, std::string_view name, std::string_view text) {
  append_json_string(out, name);
  out += ':';
  append_json_string(out, text);
  out += ',';
}

std::string body_of(const HookRule& hook, const JudgeQuestion& question) {
  std::string body = "{";
  append_member(body, "at", name(hook.at));
  append_member(body, "run_id", to_string(question.run_id));
  body += "\"step\":";
  append_json_number(body, std::uint64_t{question.step});
  body += ',';
  append_member(body, "agent_id", question.agent_id);
  append_member(body, "user_id", question.user_id);
  body += "\"call\":{";
  append_member(body, "call_id", question.call_id);
  append_member(body, "tool", question.tool->name);
  body += "\"args\":" + question.args + "},\"replay\":false}";
  return body;
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
  return {HookOutcome::failed, one_line(why), {}};
}

/// Members that an answer may have, and no others: a slip of the pen must not read as consent.
std::string fault_of(const boost::json::object& answer) {
  for (const auto& [name, value] : answer) {
    if (name == "args") continue;
    if (name != "verdict" && name != "reason")
      return fmt::format("its answer has the unknown member {}", std::string_view(name));
    if (!value.is_string()) return fmt::format("its {} is not a string", std::string_view(name));
  }
  return answer.contains("verdict") ? "" : "its answer has no verdict";
}

}  // namespace

ConnectorCall hook_call(const HookRule& hook, const JudgeQuestion& question) {
  ConnectorCall call;
  call.method = "POST";
  call.url = hook.url;
  call.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  call.body = body_of(hook, question);
  call.timeout_ms = limits::hook_timeout_ms;
  if (const auto url = parse_url(hook.url)) call.network_allow = {url->endpoint()};
  call.reply_bytes_max = limits::hook_reply_bytes_max;
  return call;
}

HookAnswer read_hook_answer(const ConnectorOutcome& outcome) {
  if (outcome.kind != ConnectorOutcome::Kind::answered) return failed("it did not answer: " + outcome.text);
  if (outcome.status != 200) return failed(fmt::format("it answered {}", outcome.status));
  const auto json = parse_json(outcome.body);
  if (!json) return failed("its answer cannot be read: " + json.error().text);
  const auto* members = json->if_object();
  if (!members) return failed(fmt::format("its answer is {}", kind_name(*json)));
  if (const auto fault = fault_of(*members); !fault.empty()) return failed(fault);

  const std::string_view word = members->at("verdict").get_string();
  const auto verdict = parse_enum<HookOutcome>(word);
  if (!verdict || *verdict == HookOutcome::failed) return failed(fmt::format("unknown verdict '{}'", word));
  const auto* args = members->if_contains("args");
  if (args && *verdict != HookOutcome::rewrite) return failed("its answer has args and is no rewrite");
  if (*verdict == HookOutcome::rewrite && (!args || !args->is_object()))
    return failed("its rewrite has no object of args");
  HookAnswer answer{*verdict, {}, {}};
  if (const auto* reason = members->if_contains("reason")) answer.reason = one_line(reason->get_string());
  if (args) append_json(answer.args, *args);
  return answer;
}

void take_answer(HookFacts& facts, JudgeQuestion& question, std::size_t number, HookAnswer answer) {
  const auto refuse = [&](std::string_view why) {
    facts.denied = true;
    facts.args.reset();
    facts.word = fmt::format("hook {}: {}", number, why);
  };
  if (answer.outcome == HookOutcome::failed) return refuse(answer.reason);
  if (answer.outcome == HookOutcome::deny)
    return refuse(answer.reason.empty() ? "no reason given" : answer.reason);
  // A rewrite that changes nothing is none.
  if (answer.outcome == HookOutcome::allow || answer.args == question.args) return;

  const auto schema = ArgumentSchema::compile(question.tool->input_schema.text);
  if (!schema) return refuse("its rewrite cannot be checked: " + schema.error().text);
  if (const auto fault = schema->check(answer.args))
    return refuse(one_line("its rewrite does not fit the tool: " + *fault));
  const std::string why = answer.reason.empty() ? "" : ": " + answer.reason;
  facts.word = facts.args ? fmt::format("{}; then by hook {}{}", facts.word, number, why)
                          : fmt::format("rewritten by hook {}{}", number, why);
  facts.args = answer.args;
  question.args = std::move(answer.args);
}

}  // namespace ratchet
