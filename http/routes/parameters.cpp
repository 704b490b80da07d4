#include "http/routes/parameters.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/hash.hpp"
#include "runtime/json/object.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A hash of everything that decides what the list holds.
std::string list_hash(const Call& call) {
  auto parameters = call.target.query.all();
  std::erase_if(parameters, [](const auto& p) { return p.first == "limit" || p.first == "cursor"; });
  std::sort(parameters.begin(), parameters.end());
  std::string key = call.client.team + '\n' + call.target.path;
  for (const auto& [name, value] : parameters)
    key += fmt::format("\n{}\n{}", name, value);
  return to_string(sha256(key)).substr(0, 16);
}

}  // namespace

Result<std::optional<std::int64_t>> integer_parameter(const Query& query,
                                                      std::string_view name,
                                                      std::int64_t min,
                                                      std::int64_t max) {
  const auto text = query.get(name);
  if (!text) return std::nullopt;
  const auto value = parse_integer(*text);
  if (!value || *value < min || *value > max)
    return fail(ErrorCode::invalid_request,
                fmt::format("{}: expected an integer from {} to {}, found '{}'", name, min, max, *text));
  return value;
}

Result<std::optional<Timestamp>> time_parameter(const Query& query, std::string_view name) {
  const auto text = query.get(name);
  if (!text) return std::nullopt;
  // The + of an offset means a space in a query, where it is not escaped.
  std::string mended(*text);
  std::replace(mended.begin(), mended.end(), ' ', '+');
  const auto at = parse_timestamp(mended);
  if (!at) return fail(ErrorCode::invalid_request, fmt::format("{}: {}", name, at.error().text));
  return *at;
}

Result<bool> flag_parameter(const Query& query, std::string_view name) {
  const auto text = query.get(name).value_or("false");
  if (text == "true" || text == "false") return text == "true";
  return fail(ErrorCode::invalid_request, fmt::format("{}: expected true or false", name));
}

Result<std::set<std::string>> words_parameter(const Query& query,
                                              std::string_view name,
                                              const std::set<std::string_view>& known) {
  std::set<std::string> words;
  auto rest = query.get(name);
  while (rest) {
    const auto comma = rest->find(',');
    const auto word = rest->substr(0, comma);
    if (!known.contains(word))
      return fail(ErrorCode::invalid_request,
                  fmt::format("{}: expected some of {}, found '{}'", name, fmt::join(known, ", "), word));
    words.emplace(word);
    if (comma == std::string_view::npos) break;
    rest = rest->substr(comma + 1);
  }
  return words;
}

Result<std::string> name_of(std::string_view text, std::string_view what) {
  if (is_name(text)) return std::string(text);
  return fail(ErrorCode::invalid_id,
              fmt::format("{} is named [a-z][a-z0-9_-]{{0,63}}, not '{}'", what, text.substr(0, 80)));
}

Result<std::uint32_t> version_of(std::string_view text) {
  const auto value = parse_integer(text);
  if (value && *value >= 1 && *value <= UINT32_MAX) return static_cast<std::uint32_t>(*value);
  return fail(ErrorCode::invalid_id,
              fmt::format("a version is a number from 1, not '{}'", text.substr(0, 80)));
}

Result<Page> Page::of(const Call& call) {
  const auto& query = call.target.query;
  const auto limit = integer_parameter(query, "limit", 1, limits::list_items_max);
  if (!limit) return tl::unexpected(limit.error());
  Page page;
  page.limit_ = static_cast<std::size_t>(limit->value_or(limits::list_items_default));
  page.list_ = list_hash(call);
  if (const auto cursor = query.get("cursor")) {
    if (!cursor->starts_with(page.list_ + '.') || cursor->size() == page.list_.size() + 1)
      return fail(ErrorCode::invalid_cursor, "the cursor was not given out by this list with these filters");
    page.after_ = std::string(cursor->substr(page.list_.size() + 1));
  }
  return page;
}

Response Page::answer(std::string_view items, std::string_view next) const {
  return json_response(200, json_object([&](JsonObject& body) {
                         body.raw("items", items);
                         if (next.empty())
                           body.null("next_cursor");
                         else
                           body.text("next_cursor", fmt::format("{}.{}", list_, next));
                       }));
}

}  // namespace ratchet
