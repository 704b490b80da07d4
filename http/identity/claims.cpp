#include "http/identity/claims.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

using boost::json::object;
using boost::json::value;

constexpr std::size_t shown_bytes_max = 100;
constexpr double seconds_max = 253'402'300'799.0;  // the end of year 9999, the last that RFC 3339 can write

tl::unexpected<Error> refuse(std::string why) {
  return fail(ErrorCode::invalid_user_token, std::move(why), "/user_token");
}

std::string_view shown(std::string_view text) {
  return text.substr(0, utf8_cut(text, shown_bytes_max));
}

bool is(const value* member, std::string_view text) {
  return member && member->is_string() && member->get_string() == text;
}

Result<void> check_parties(const object& claims, const TokenRules& rules) {
  const auto* issuer = claims.if_contains("iss");
  if (!is(issuer, rules.issuer))
    return refuse(fmt::format("the user token is not of the issuer '{}'", shown(rules.issuer)));
  const auto* audience = claims.if_contains("aud");
  const bool among = audience && audience->is_array() &&
                     std::any_of(audience->get_array().begin(),
                                 audience->get_array().end(),
                                 [&](const value& each) { return is(&each, rules.audience); });
  if (!among && !is(audience, rules.audience))
    return refuse(fmt::format("the user token is not meant for the audience '{}'", shown(rules.audience)));
  return {};
}

/// A NumericDate; nothing where there is none. Errors: invalid_user_token.
Result<std::optional<Timestamp>> time_of(const object& claims, std::string_view name) {
  const auto* member = claims.if_contains(name);
  if (!member) return std::nullopt;
  const double seconds = member->is_number() ? member->to_number<double>() : -1;
  if (!(seconds >= 0 && seconds <= seconds_max))
    return refuse(fmt::format("`{}` of the user token is not a time in seconds", name));
  return Timestamp{static_cast<std::int64_t>(std::floor(seconds)) * 1'000'000};
}

/// When the token expires, if it is valid now.
Result<Timestamp> check_times(const object& claims, Timestamp now) {
  constexpr std::int64_t leeway_ms = limits::token_leeway_s * 1'000;
  const auto expires = time_of(claims, "exp"), begins = time_of(claims, "nbf"),
             issued = time_of(claims, "iat");
  for (const auto* each : {&expires, &begins, &issued})
    if (!*each) return tl::unexpected(each->error());
  if (!*expires) return refuse("the user token has no `exp`: one that never expires is not accepted");
  if (now >= (*expires)->plus_ms(leeway_ms))
    return refuse(fmt::format("the user token expired at {}", to_string(**expires)));
  if (*begins && **begins > now.plus_ms(leeway_ms))
    return refuse(fmt::format("the user token is not valid before {}", to_string(**begins)));
  if (*issued && **issued > now.plus_ms(leeway_ms))
    return refuse(fmt::format("the user token was issued in the future, at {}", to_string(**issued)));
  return **expires;
}

Result<std::string> subject_of(const object& claims) {
  const auto* member = claims.if_contains("sub");
  if (!member || !member->is_string()) return refuse("the user token names no subject (`sub`)");
  std::string subject(member->get_string());
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (subject.empty() || subject.size() > limits::user_id_bytes_max ||
      std::any_of(subject.begin(), subject.end(), control))
    return refuse(
        fmt::format("the subject of the user token has to have 1 to {} bytes and no control characters",
                    limits::user_id_bytes_max));
  return subject;
}

/// The words of a text, by single spaces or more.
void split_words(std::string_view text, std::vector<std::string>& out) {
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Visible ASCII without quotes and backslashes (RFC 6749 section 3.3).
bool is_scope(std::string_view scope) {
  return !scope.empty() && scope.size() <= limits::scope_bytes_max &&
         std::all_of(
             scope.begin(), scope.end(), [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

Result<std::vector<std::string>> scopes_of(const object& claims) {
  const auto* member = claims.if_contains("scope");
  const bool usual = member != nullptr;
  if (!usual) member = claims.if_contains("scp");
  std::vector<std::string> scopes;
  if (!member) return scopes;
  if (member->is_string()) {
    split_words(member->get_string(), scopes);
  } else if (!usual && member->is_array()) {
    for (const value& each : member->get_array())
      scopes.emplace_back(each.is_string() ? std::string_view(each.get_string()) : std::string_view());
  } else {
    return refuse(fmt::format("`{}` of the user token is not a text of scopes", usual ? "scope" : "scp"));
  }
  if (scopes.size() > limits::scopes_max)
    return refuse(fmt::format("the user token has more than {} scopes", limits::scopes_max));
  if (!std::all_of(scopes.begin(), scopes.end(), [](const std::string& scope) { return is_scope(scope); }))
    return refuse("a scope of the user token is empty, too long, or has characters that are not visible");
  std::sort(scopes.begin(), scopes.end());
  scopes.erase(std::unique(scopes.begin(), scopes.end()), scopes.end());
  return scopes;
}

}  // namespace

Result<User> read_claims(std::string_view payload, const TokenRules& rules, Timestamp now) {
  const auto json = parse_json(payload);
  if (!json || !json->is_object()) return refuse("the user token's payload is not a JSON object");
  const object& claims = json->get_object();
  if (const auto parties = check_parties(claims, rules); !parties) return tl::unexpected(parties.error());
  const auto expires = check_times(claims, now);
  if (!expires) return tl::unexpected(expires.error());
  auto subject = subject_of(claims);
  if (!subject) return tl::unexpected(subject.error());
  auto scopes = scopes_of(claims);
  if (!scopes) return tl::unexpected(scopes.error());
  return User{std::move(*subject), std::move(*scopes), *expires};
}

}  // namespace ratchet
