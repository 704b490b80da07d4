#include "runtime/json/unescape.hpp"

#include <cstdint>
#include <optional>

#include "runtime/json/utf8.hpp"

namespace ratchet {

namespace {

std::optional<char32_t> four_hex_digits(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  char32_t value = 0;
  for (const char c : text.substr(0, 4)) {
    const auto lower = static_cast<char>(c | 0x20);
    const int digit = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<char32_t>(digit);
  }
  return value;
}

/// What a one-letter escape stands for; 0: there is no such escape.
char simple_escape(char letter) {
  switch (letter) {
    case '"':
    case '\\':
    case '/':
      return letter;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

/// Appends one UTF-16 unit; a low surrogate joins a high one that `out` ends with.
void append_unit(std::string& out, char32_t unit) {
  const bool low = unit >= 0xDC00 && unit <= 0xDFFF;
  if (!low || !ends_with_high_surrogate(out)) return append_code_point(out, unit);
  const auto byte = [&](std::size_t from_end) {
    return static_cast<char32_t>(static_cast<unsigned char>(out[out.size() - from_end]) & 0x3F);
  };
  const char32_t high = 0xD000 | (byte(2) << 6) | byte(1);
  out.resize(out.size() - 3);
  append_code_point(out, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
}

}  // namespace

bool ends_with_high_surrogate(std::string_view text) {
  if (text.size() < 3) return false;
  const auto second = static_cast<unsigned char>(text[text.size() - 2]);
  return text[text.size() - 3] == '\xED' && second >= 0xA0 && second < 0xB0;
}

std::size_t append_unescaped(std::string& out, std::string_view escaped) {
  std::size_t at = 0;
  while (at < escaped.size()) {
    const auto run_end = std::min(escaped.find('\\', at), escaped.size());
    out.append(escaped, at, run_end - at);
    at = run_end;
    if (at == escaped.size()) break;
    if (at + 1 == escaped.size()) return at;
    if (escaped[at + 1] == 'u') {
      const auto unit = four_hex_digits(escaped.substr(at + 2));
      if (!unit) return at;
      append_unit(out, *unit);
      at += 6;
    } else {
      const char c = simple_escape(escaped[at + 1]);
      if (c == 0) return at;
      out += c;
      at += 2;
    }
  }
  return at;
}

}  // namespace ratchet
