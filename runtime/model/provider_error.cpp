#include "runtime/model/provider_error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <initializer_list>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

namespace json = boost::json;

std::string text_of(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  if (!value || value->is_null()) return {};
  if (const auto* text = value->if_string()) return std::string(*text);
  return json::serialize(*value);
}

int number_of(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  const auto* number = value ? value->if_int64() : nullptr;
  return number && *number > 0 && *number < 1000 ? static_cast<int>(*number) : 0;
}

const json::object* object_of(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value ? value->if_object() : nullptr;
}

std::string first_text(const json::object& object, std::initializer_list<std::string_view> keys) {
  for (const auto key : keys)
    if (auto text = text_of(object, key); !text.empty()) return text;
  return {};
}

ProviderError read_object(const json::object& body) {
  ProviderError error;
  const auto* inner = object_of(body, "error");
  const auto& said = inner ? *inner : body;
  error.type = first_text(said, {"type", "status"});
  error.message = first_text(said, {"message", "detail", "error", "msg"});
  error.status = number_of(said, "code");
  if (error.status == 0) error.code = text_of(said, "code");
  if (const auto* details = object_of(said, "details")) {
    if (auto code = text_of(*details, "error_code"); !code.empty()) error.code = std::move(code);
  }
  if (error.type.empty() && error.code.empty() && error.message.empty())
    error.message = json::serialize(body);
  return error;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool says(std::string_view message, std::initializer_list<std::string_view> phrases) {
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view phrase) {
    return message.find(phrase) != std::string_view::npos;
  });
}

bool is_money(std::string_view word) {
  return word.starts_with("linked_organization_") || is_one_of(word,
                                                               {"billing_error",
                                                                "insufficient_quota",
                                                                "credit_balance_exhausted",
                                                                "enforced_spend_limit_reached",
                                                                "contract_spend_limit_reached",
                                                                "organization_spend_limit_exceeded",
                                                                "project_spend_limit_exceeded",
                                                                "organization_usage_limit_exceeded",
                                                                "billing_hard_limit_reached",
                                                                "billing_not_active"});
}

bool is_overflow(std::string_view word) {
  return is_one_of(word,
                   {"context_length_exceeded",
                    "exceed_context_size_error",
                    "model_context_window_exceeded",
                    "request_too_large"});
}

bool is_overloaded(std::string_view word) {
  return word.find("overloaded") != std::string_view::npos ||
         is_one_of(word, {"slow_down", "ramp_limit_exceeded"});
}

/// The HTTP status that an error type stands for: in a stream the status was 200.
int status_of(std::string_view type) {
  static constexpr std::pair<std::string_view, int> table[] = {
      {"invalid_request_error", 400},
      {"authentication_error", 401},
      {"permission_error", 403},
      {"not_found_error", 404},
      {"conflict_error", 409},
      {"rate_limit_error", 429},
      {"api_error", 500},
      {"server_error", 500},
      {"timeout_error", 504},
  };
  for (const auto& [name, status] : table)
    if (name == type) return status;
  return 0;
}

/// Words that make a 400 a matter of this provider, not of the request.
bool concerns_this_provider(const ProviderError& error) {
  return is_one_of(error.type, {"authentication_error", "permission_error", "not_found_error"}) ||
         is_one_of(error.code,
                   {"invalid_api_key", "model_not_found", "unsupported_country_region_territory"});
}

FailureClass by_status(int status, const ProviderError& error) {
  if (status == 0 || status >= 500) return FailureClass::transient;
  if (status == 408 || status == 409 || status == 425 || status == 429) return FailureClass::transient;
  if ((status == 400 || status == 422) && !concerns_this_provider(error)) return FailureClass::rejected;
  return FailureClass::permanent;
}

// --- what must not be shown

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || is_one_of({&c, 1}, {"_", "-", ".", "*", "+"});
}

bool looks_like_a_key(std::string_view word) {
  static constexpr std::string_view prefixes[] = {
      "sk-", "sk_", "pk-", "rk-", "gsk_", "xai-", "AIza", "hf_", "nvapi-", "eyJ", "ghp_", "key-"};
  return word.size() >= 8 &&
         std::any_of(std::begin(prefixes), std::end(prefixes), [&](auto p) { return word.starts_with(p); });
}

bool is_bearer(std::string_view word) {
  return word.size() == 6 && std::equal(word.begin(), word.end(), "bearer", [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         });
}

std::string without(std::string_view secret, std::string_view text) {
  std::string out;
  if (secret.size() < 4) return std::string(text);  // nobody's key, and it would tear words apart
  for (std::size_t at; (at = text.find(secret)) != std::string_view::npos;) {
    out.append(text, 0, at).append("[REDACTED]");
    text.remove_prefix(at + secret.size());
  }
  return out.append(text);
}

// --- retry-after

std::optional<double> decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7, the form that servers must send).
std::optional<Timestamp> http_date(std::string_view text) {
  if (text.size() != 29 || !text.ends_with(" GMT")) return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t size) {
    int value = -1;
    const auto end = text.data() + at + size;
    return std::from_chars(text.data() + at, end, value).ptr == end ? value : -1;
  };
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const auto month = months.find(text.substr(8, 3));
  const int day = number(5, 2), year = number(12, 4);
  const int hour = number(17, 2), minute = number(20, 2), second = number(23, 2);
  if (month % 3 != 0 || day < 1 || year < 1970 || hour < 0 || minute < 0 || second < 0) return std::nullopt;
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(year),
                            std::chrono::month(static_cast<unsigned>(month / 3 + 1)),
                            std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const auto at = sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
  return Timestamp{duration_cast<microseconds>(at.time_since_epoch()).count()};
}

}  // namespace

ProviderError read_provider_error(std::string_view body) {
  boost::system::error_code failed;
  const auto value = json::parse(body, failed);
  if (!failed) {
    const json::value* first = &value;
    if (const auto* list = value.if_array(); list && !list->empty()) first = &list->front();
    if (const auto* object = first->if_object()) return read_object(*object);
  }
  return ProviderError{{}, {}, std::string(body), 0};
}

FailureClass classify(const ProviderError& error, const ReplyEnd& end) {
  int status = end.http_status >= 300 ? end.http_status : error.status;
  if (status == 0) status = status_of(error.type);

  if (status == 402 || is_money(error.type) || is_money(error.code) ||
      says(error.message, {"credit balance is too low"}))
    return FailureClass::money;
  if (status == 413 || is_overflow(error.type) || is_overflow(error.code) ||
      says(
          error.message,
          {"prompt is too long", "maximum context length", "exceed context limit", "available context size"}))
    return FailureClass::overflow;

  const bool overloaded = status == 529 || is_overloaded(error.type) || is_overloaded(error.code);
  const auto by_itself = overloaded ? FailureClass::overloaded : by_status(status, error);
  const bool again = by_itself == FailureClass::transient || by_itself == FailureClass::overloaded;
  if (end.x_should_retry == "true" && !again) return FailureClass::transient;
  if (end.x_should_retry == "false" && again) return FailureClass::permanent;
  return by_itself;
}

std::int64_t retry_after_ms(const ReplyEnd& end) {
  constexpr double ms_max = 1e12;  // thirty years: above it is no answer
  const auto bounded = [](double ms) {
    return ms >= 0 && ms <= ms_max ? static_cast<std::int64_t>(ms) : std::int64_t{-1};
  };
  if (const auto ms = decimal(end.retry_after_ms)) return bounded(*ms);
  if (const auto seconds = decimal(end.retry_after)) return bounded(*seconds * 1000);
  if (const auto at = http_date(end.retry_after)) return std::max<std::int64_t>(0, ms_between(end.now, *at));
  return -1;
}

std::string error_text(std::string_view text, std::string_view secret) {
  const auto safe = sanitize_utf8(without(secret, text));
  std::string out;
  bool bearer = false, space = false;
  for (std::size_t at = 0; at < safe.size() && out.size() <= limits::error_text_bytes_max;) {
    const char c = safe[at];
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') {
      space = !out.empty();
      ++at;
      continue;
    }
    if (space) out += ' ';
    space = false;
    auto end = at;
    while (end < safe.size() && (is_word(safe[end]) || (bearer && safe[end] == '/')))
      ++end;
    const auto word = std::string_view(safe).substr(at, std::max<std::size_t>(end - at, 1));
    out += looks_like_a_key(word) || (bearer && word.size() >= 8) ? "[REDACTED]" : word;
    bearer = is_bearer(word) || (bearer && word.size() == 1 && !std::isalnum(static_cast<unsigned char>(c)));
    at += word.size();
  }
  out.resize(utf8_cut(out, limits::error_text_bytes_max));
  return out;
}

ModelFailure provider_failure(const ProviderError& error, const ReplyEnd& end) {
  ModelFailure failure;
  failure.kind = classify(error, end);
  failure.retry_after_ms = retry_after_ms(end);
  std::string text = end.http_status >= 300 ? fmt::format("HTTP {}", end.http_status) : "error in the stream";
  for (const auto* word : {&error.type, &error.code})
    if (!word->empty()) text += ' ' + *word;
  if (end.http_status >= 300 && end.http_status < 400) text += ": redirects are not followed";
  if (!error.message.empty()) text += ": " + error.message;
  failure.text = error_text(text, end.secret);
  // llama-server parses a reply after having generated all of it, and then says nothing of what it cost.
  failure.produced = says(error.message, {"does not match the expected"});
  return failure;
}

}  // namespace ratchet
