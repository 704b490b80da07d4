#include "http/server/target.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/json/utf8.hpp"

namespace ratchet {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Percent-decoding; in a query `+` is a space.
Result<std::string> decode(std::string_view text, bool query) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && query) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return fail(ErrorCode::invalid_request, "the URL has a broken % escape");
      out += static_cast<char>(high << 4 | low);
      i += 2;
    }
  }
  const bool control = std::any_of(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (control || !is_valid_utf8(out))
    return fail(ErrorCode::invalid_request, "the URL holds bytes that are no printable UTF-8");
  return out;
}

/// Calls `visit` with each part of `text` between `separator`s.
template <class Visit>
Result<void> split(std::string_view text, char separator, Visit visit) {
  while (true) {
    const auto end = text.find(separator);
    if (auto done = visit(text.substr(0, end)); !done) return done;
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<std::string_view> Query::get(std::string_view name) const {
  for (const auto& [key, value] : parameters_)
    if (key == name) return value;
  return std::nullopt;
}

Result<Target> parse_target(std::string_view target) {
  if (!target.starts_with('/'))
    return fail(ErrorCode::invalid_request, "the request target has to be a path that begins with /");
  Target parsed;
  const auto mark = target.find('?');
  const auto path = target.substr(0, mark);
  parsed.path = std::string(path);
  auto done = split(path.substr(1), '/', [&](std::string_view segment) -> Result<void> {
    auto text = decode(segment, false);
    if (!text) return tl::unexpected(text.error());
    parsed.segments.push_back(std::move(*text));
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  if (mark == std::string_view::npos || mark + 1 == target.size()) return parsed;
  done = split(target.substr(mark + 1), '&', [&](std::string_view pair) -> Result<void> {
    if (pair.empty()) return {};
    const auto equals = pair.find('=');
    auto name = decode(pair.substr(0, equals), true);
    auto value = decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1), true);
    if (!name) return tl::unexpected(name.error());
    if (!value) return tl::unexpected(value.error());
    if (parsed.query.get(*name))
      return fail(ErrorCode::invalid_request, fmt::format("the parameter '{}' is given twice", *name));
    parsed.query.add(std::move(*name), std::move(*value));
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  return parsed;
}

}  // namespace ratchet
