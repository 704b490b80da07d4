#include "runtime/tools/authzen.hpp"

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/hash.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/json/object.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {

namespace {

using boost::json::object;
using boost::json::value;

// --- questions ---------------------------------------------------------------------------------------------

void append_subject(std::string& out, const JudgeQuestion& question) {
  JsonObject subject(out);
  subject.text("type", "user");
  subject.text("id", question.user_id);
  JsonObject properties(subject.key("properties"));
  append_json_texts(properties.key("scopes"), question.scopes);
  properties.text("team", question.team);
}

void append_tool(std::string& out, const ToolManifest& tool) {
  JsonObject resource(out);
  resource.text("type", "tool");
  resource.text("id", tool.name);
  JsonObject properties(resource.key("properties"));
  properties.text("kind", name(tool.kind));
  properties.number("tier", tool.tier);
  properties.text("side_effects", name(tool.side_effects));
}

void append_context(std::string& out, const JudgeQuestion& question) {
  JsonObject context(out);
  context.text("run_id", to_string(question.run_id));
  context.text("root_run_id", to_string(question.root_run_id));
  context.text("call_id", question.call_id);
  context.number("step", question.step);
  context.text("team", question.team);
  context.text("agent_id", question.agent_id);
  context.number("agent_version", question.agent_version);
  context.key("arguments") += question.args;
  context.text("arguments_sha256", to_string(sha256(question.args)));
}

void append_evaluation(std::string& out, const JudgeQuestion& question) {
  JsonObject evaluation(out);
  append_subject(evaluation.key("subject"), question);
  {
    JsonObject action(evaluation.key("action"));
    action.text("name", question.tool->name);
  }
  append_tool(evaluation.key("resource"), *question.tool);
  append_context(evaluation.key("context"), question);
}

ConnectorCall call_to(const DecisionPointAddress& point, std::string method, std::string url) {
  ConnectorCall call;
  call.method = std::move(method);
  call.url = std::move(url);
  call.headers = {{"Accept", "application/json"}};
  if (!point.api_key.empty()) call.headers.emplace_back("Authorization", "Bearer " + point.api_key);
  call.timeout_ms = point.timeout_ms;
  call.network_allow = {parse_url(point.url)->endpoint()};
  call.trusted = true;
  call.reply_bytes_max = limits::decision_reply_bytes_max;
  call.repeatable = true;
  return call;
}

ConnectorCall question_to(const DecisionPointAddress& point, const std::string& url, std::string body) {
  ConnectorCall call = call_to(point, "POST", url);
  call.headers.emplace_back("Content-Type", "application/json");
  call.body = std::move(body);
  return call;
}

// --- answers -----------------------------------------------------------------------------------------------

AuthorizerFacts denied(std::string why) {
  return {false, std::move(why)};
}

std::string shown(std::string_view text) {
  return std::string(text.substr(0, utf8_cut(text, limits::decision_word_bytes_max)));
}

/// The reason that is meant for users: a text, or the first text of an object by status or language.
std::string reason_of(const object* context) {
  const value* reason = context ? context->if_contains("reason_user") : nullptr;
  if (reason && reason->is_object() && !reason->get_object().empty())
    reason = &reason->get_object().begin()->value();
  return reason && reason->is_string() ? shown(reason->get_string()) : std::string();
}

/// What has to be done before the call may happen, or nothing. No kind of obligation is understood.
std::string obligations_of(const object* context) {
  const value* obligations = context ? context->if_contains("obligations") : nullptr;
  if (!obligations || obligations->is_null()) return {};
  if (!obligations->is_array()) return "of an unknown form";
  std::string types;
  for (const value& each : obligations->get_array()) {
    const value* type = each.is_object() ? each.get_object().if_contains("type") : nullptr;
    types += types.empty() ? "" : ", ";
    types += type && type->is_string() ? std::string_view(type->get_string()) : "one without a type";
  }
  return shown(types);
}

/// What a decision and what came with it mean.
AuthorizerFacts judged(const value* decision, const value* context) {
  if (!decision || !decision->is_bool())
    return denied("the decision point's answer is not understood: it has no boolean decision");
  const object* words = context && context->is_object() ? &context->get_object() : nullptr;
  if (context && !words && !context->is_null())
    return denied("the decision point's answer is not understood: its context is no object");
  if (!decision->get_bool()) {
    const std::string reason = reason_of(words);
    return denied(reason.empty() ? "the decision point denies it"
                                 : "the decision point denies it: " + reason);
  }
  const std::string obligations = obligations_of(words);
  if (!obligations.empty())
    return denied("the decision point asks for obligations that are not understood: " + obligations);
  return {true, "ok"};
}

AuthorizerFacts judged(const value& evaluation) {
  if (!evaluation.is_object()) return judged(nullptr, nullptr);
  const object& members = evaluation.get_object();
  return judged(members.if_contains("decision"), members.if_contains("context"));
}

/// The answer as JSON. Errors: the word of the denial.
Result<value> json_of(const ConnectorOutcome& outcome) {
  if (outcome.kind != ConnectorOutcome::Kind::answered)
    return fail(ErrorCode::timeout, "the decision point did not answer: " + shown(outcome.text));
  if (outcome.status != 200)
    return fail(ErrorCode::invalid_request,
                fmt::format("the decision point answered with HTTP status {}", outcome.status));
  auto json = parse_json(outcome.body);
  if (!json || !json->is_object())
    return fail(ErrorCode::invalid_json,
                "the decision point's answer is not understood: it is no JSON object");
  return json;
}

/// OPA: an undefined rule has no `result`.
AuthorizerFacts read_opa(const object& answer) {
  const value* result = answer.if_contains("result");
  if (!result) return denied("the decision point has no such rule, or it is undefined for this call");
  if (!result->is_object()) return judged(result, nullptr);
  return judged(result->get_object().if_contains("allow"), result);
}

/// Whether an endpoint that the metadata name is on the server that was configured.
bool is_of(const DecisionPointAddress& point, std::string_view endpoint) {
  const auto ours = parse_url(point.url), theirs = parse_url(endpoint);
  return ours && theirs && theirs->scheme == ours->scheme && theirs->endpoint() == ours->endpoint();
}

}  // namespace

DecisionEndpoints usual_endpoints(const DecisionPointAddress& point) {
  if (point.protocol == DecisionPointAddress::Protocol::opa)
    return {fmt::format("{}/v1/data/{}", point.url, point.path), {}};
  return {point.url + "/access/v1/evaluation", {}};
}

ConnectorCall metadata_call(const DecisionPointAddress& point) {
  // A path of the point's name comes after the well-known one (RFC 8615 leaves that to AuthZEN, section 9.2).
  std::string url = point.url;
  url.insert(parse_url(url)->path_at, "/.well-known/authzen-configuration");
  return call_to(point, "GET", std::move(url));
}

Result<std::optional<DecisionEndpoints>> read_metadata(const DecisionPointAddress& point,
                                                       const ConnectorOutcome& outcome) {
  const bool answered = outcome.kind == ConnectorOutcome::Kind::answered;
  if (answered && outcome.status == 404) return std::nullopt;
  const auto json = json_of(outcome);
  if (!json) return tl::unexpected(json.error());
  const auto text_of = [&](std::string_view name) {
    const value* member = json->get_object().if_contains(name);
    return member && member->is_string() ? std::string(member->get_string()) : std::string();
  };
  std::string named = text_of("policy_decision_point");
  while (named.ends_with('/'))
    named.pop_back();
  if (named != point.url)
    return fail(ErrorCode::invalid_request,
                fmt::format("the metadata are of another decision point, '{}'", shown(named)));
  DecisionEndpoints out{text_of("access_evaluation_endpoint"), text_of("access_evaluations_endpoint")};
  if (out.evaluation.empty()) out.evaluation = usual_endpoints(point).evaluation;
  for (const auto& endpoint : {out.evaluation, out.evaluations})
    if (!endpoint.empty() && !is_of(point, endpoint))
      return fail(ErrorCode::invalid_request,
                  fmt::format("the metadata name an endpoint on another server, '{}'", shown(endpoint)));
  return out;
}

ConnectorCall evaluation_call(const DecisionPointAddress& point,
                              const DecisionEndpoints& endpoints,
                              const JudgeQuestion& question) {
  std::string body;
  if (point.protocol == DecisionPointAddress::Protocol::opa) {
    JsonObject input(body);
    append_evaluation(input.key("input"), question);
  } else {
    append_evaluation(body, question);
  }
  return question_to(point, endpoints.evaluation, std::move(body));
}

AuthorizerFacts read_evaluation(const DecisionPointAddress& point, const ConnectorOutcome& outcome) {
  const auto json = json_of(outcome);
  if (!json) return denied(json.error().text);
  return point.protocol == DecisionPointAddress::Protocol::opa ? read_opa(json->get_object()) : judged(*json);
}

ConnectorCall evaluations_call(const DecisionPointAddress& point,
                               const DecisionEndpoints& endpoints,
                               std::span<const JudgeQuestion> questions) {
  std::string body;
  {
    JsonObject request(body);
    append_json_array(request.key("evaluations"), questions, append_evaluation);
    JsonObject options(request.key("options"));
    options.text("evaluations_semantic", "execute_all");
  }
  return question_to(point, endpoints.evaluations, std::move(body));
}

std::vector<AuthorizerFacts> read_evaluations(const ConnectorOutcome& outcome, std::size_t questions) {
  const auto json = json_of(outcome);
  if (!json) return std::vector<AuthorizerFacts>(questions, denied(json.error().text));
  const value* evaluations = json->get_object().if_contains("evaluations");
  if (!evaluations || !evaluations->is_array() || evaluations->get_array().size() != questions)
    return std::vector<AuthorizerFacts>(
        questions,
        denied("the decision point's answer is not understood: not one evaluation for each question"));
  std::vector<AuthorizerFacts> out;
  for (const value& each : evaluations->get_array())
    out.push_back(judged(each));
  return out;
}

}  // namespace ratchet
