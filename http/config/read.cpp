#include "http/config/read.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "runtime/ids.hpp"

namespace ratchet::config {

namespace {

std::string_view kind_name(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return "nothing";
    case Value::Kind::boolean:
      return "a truth value (for a text, put it in quotes)";
    case Value::Kind::number:
      return "a number (for a text, put it in quotes)";
    case Value::Kind::text:
      return "a text";
    case Value::Kind::list:
      return "a list";
    case Value::Kind::map:
      return "a section";
  }
  return "something else";
}

Done wrong_kind(const Value& value, std::string_view expected) {
  return fail_at(
      value, ErrorCode::invalid_request, fmt::format("expected {}, found {}", expected, kind_name(value)));
}

/// How many single-letter edits lead from `a` to `b` (Levenshtein).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

Done read_text(const Value& value, std::string& out) {
  if (value.kind != Value::Kind::text) return wrong_kind(value, "a text");
  if (value.text.empty()) return fail_at(value, ErrorCode::invalid_request, "the text is empty");
  if (value.text.find('\0') != std::string::npos)
    return fail_at(value, ErrorCode::invalid_request, "the text holds a NUL");
  out = value.text;
  return {};
}

Done read_optional_text(const Value& value, std::string& out) {
  return value.kind == Value::Kind::null ? Done{} : read_text(value, out);
}

Done read_name(const Value& value, std::string& out) {
  if (auto done = read_text(value, out); !done) return done;
  if (is_name(out)) return {};
  return fail_at(value, ErrorCode::invalid_request, not_a_name(out));
}

Done read_integer(const Value& value, std::int64_t min, std::int64_t max, std::int64_t& out) {
  if (value.kind != Value::Kind::number) return wrong_kind(value, "a whole number");
  const auto* end = value.text.data() + value.text.size();
  const auto [rest, error] = std::from_chars(value.text.data(), end, out);
  if (error != std::errc{} || rest != end || out < min || out > max)
    return fail_at(value,
                   ErrorCode::invalid_request,
                   fmt::format("{} is not a whole number within {} and {}", value.text, min, max));
  return {};
}

Done read_usd(const Value& value, Usd& out) {
  if (value.kind != Value::Kind::text && value.kind != Value::Kind::number)
    return wrong_kind(value, "an amount in US dollars");
  auto amount = parse_usd(value.text);
  if (!amount) return fail_at(value, ErrorCode::invalid_request, amount.error().text);
  out = *amount;
  return {};
}

Done read_boolean(const Value& value, bool& out) {
  if (value.kind != Value::Kind::boolean)
    return fail_at(value, ErrorCode::invalid_request, "expected true or false");
  out = value.text == "true";
  return {};
}

Done read_off(const Value& value, std::string_view standard, std::string_view what) {
  const bool scalar = value.kind != Value::Kind::list && value.kind != Value::Kind::map;
  if (scalar && (value.kind == Value::Kind::null ? "null" : value.text) == standard) return {};
  return fail_at(value,
                 ErrorCode::not_supported,
                 fmt::format("this version does not have {}; only {} is taken here", what, standard));
}

std::string not_a_name(std::string_view text) {
  return fmt::format("'{}' is not a name: a small letter, then up to 63 of a-z, 0-9, _ and -", text);
}

std::string suggestion(std::string_view text, const std::vector<std::string_view>& offered) {
  std::string_view best;
  auto fewest = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const auto word : offered) {
    const auto count = edits(text, word);
    if (count < fewest) {
      fewest = count;
      best = word;
    }
  }
  return best.empty() ? "" : fmt::format("; did you mean '{}'?", best);
}

Done read_list(const Value& value, const std::function<Done(const Value&)>& read_item) {
  if (value.kind != Value::Kind::list) return wrong_kind(value, "a list");
  for (const auto& item : value.items)
    if (auto done = read_item(item); !done) return done;
  return {};
}

Done read_map(const Value& value, const std::function<Done(const std::string&, const Value&)>& read_entry) {
  if (value.kind == Value::Kind::null) return {};
  if (value.kind != Value::Kind::map) return wrong_kind(value, "a section of keys");
  for (const auto& [key, inner] : value.entries)
    if (auto done = read_entry(key, inner); !done) return done;
  return {};
}

}  // namespace ratchet::config
