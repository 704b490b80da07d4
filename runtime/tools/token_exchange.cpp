#include "runtime/tools/token_exchange.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {

namespace {

using boost::json::object;

constexpr std::string_view access_token_type = "urn:ietf:params:oauth:token-type:access_token";
constexpr std::size_t error_bytes_max = 64;
constexpr double life_s_max = 366.0 * 86'400;

std::string base64(std::string_view text) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6)
      out += alphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) out += alphabet[bits << (6 - count) & 63];
  while (out.size() % 4 != 0)
    out += '=';
  return out;
}

void append_field(std::string& form, std::string_view name, std::string_view value) {
  if (!form.empty()) form += '&';
  form.append(name).append("=");
  append_percent_encoded(form, value);
}

ExchangeAnswer failed(std::string why) {
  return {.kind = ExchangeAnswer::Kind::failed, .why = std::move(why)};
}

std::string_view text_of(const object& answer, std::string_view name) {
  const auto* member = answer.if_contains(name);
  return member && member->is_string() ? std::string_view(member->get_string()) : std::string_view();
}

/// Of RFC 6749 section 5.2, or nothing: only a word of that form is repeated to others.
std::string error_of(const ConnectorOutcome& outcome) {
  const auto json = parse_json(outcome.body);
  if (!json || !json->is_object()) return {};
  const std::string_view word = text_of(json->get_object(), "error");
  const bool plain = word.size() <= error_bytes_max && std::all_of(word.begin(), word.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || c == '_';
                     });
  return plain ? std::string(word) : std::string();
}

ExchangeAnswer refused(const ConnectorOutcome& outcome) {
  const std::string error = error_of(outcome);
  // A 401 without a word may be about the user's token or about our client; `invalid_client` is about us.
  if (error == "invalid_grant" || (outcome.status == 401 && error != "invalid_client"))
    return {.kind = ExchangeAnswer::Kind::needs_user,
            .why = "the token endpoint does not take the user's token"};
  return failed(fmt::format("the token endpoint answered with HTTP status {}{}{}",
                            outcome.status,
                            error.empty() ? "" : ": ",
                            error));
}

bool is_bearer(std::string type) {
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type == "bearer";
}

}  // namespace

ConnectorCall exchange_call(const ExchangeEndpoint& endpoint,
                            std::string_view user_token,
                            std::string_view audience,
                            const std::vector<std::string>& scopes) {
  std::string scope;
  for (const auto& each : scopes)
    scope.append(scope.empty() ? "" : " ").append(each);
  ConnectorCall call;
  call.method = "POST";
  call.url = endpoint.token_url;
  append_field(call.body, "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange");
  append_field(call.body, "subject_token", user_token);
  append_field(call.body, "subject_token_type", access_token_type);
  append_field(call.body, "requested_token_type", access_token_type);
  append_field(call.body, "audience", audience);
  if (!scope.empty()) append_field(call.body, "scope", scope);
  std::string client;
  append_percent_encoded(client, endpoint.client_id);
  client += ':';
  append_percent_encoded(client, endpoint.client_secret);
  call.headers = {{"Authorization", "Basic " + base64(client)},
                  {"Content-Type", "application/x-www-form-urlencoded"},
                  {"Accept", "application/json"}};
  call.timeout_ms = limits::exchange_timeout_ms;
  call.network_allow = {parse_url(endpoint.token_url)->endpoint()};
  call.trusted = true;
  call.reply_bytes_max = limits::exchange_reply_bytes_max;
  call.repeatable = true;
  return call;
}

ExchangeAnswer read_exchange(const ConnectorOutcome& outcome) {
  if (outcome.kind != ConnectorOutcome::Kind::answered)
    return failed(fmt::format("the token endpoint gave no answer: {}", outcome.text));
  if (outcome.status != 200) return refused(outcome);
  const auto json = parse_json(outcome.body);
  if (!json || !json->is_object()) return failed("the token endpoint's answer is not a JSON object");
  const object& answer = json->get_object();
  const std::string_view token = text_of(answer, "access_token");
  const bool visible = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (token.empty() || token.size() > limits::user_token_bytes_max || !visible)
    return failed("the token endpoint's answer has no usable access_token");
  if (!is_bearer(std::string(text_of(answer, "token_type"))))
    return failed("the token endpoint's token is not of the type Bearer");
  ExchangeAnswer out{.kind = ExchangeAnswer::Kind::token, .token = std::string(token)};
  if (const auto* life = answer.if_contains("expires_in")) {
    const double seconds = life->is_number() ? life->to_number<double>() : -1;
    if (!(seconds >= 0)) return failed("the token endpoint's answer has an expires_in that is no time");
    out.life_ms = static_cast<std::int64_t>(std::min(seconds, life_s_max) * 1'000);
  }
  return out;
}

}  // namespace ratchet
