#include "runtime/json/writer.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "runtime/json/utf8.hpp"
#include "runtime/result.hpp"

namespace ratchet {

namespace {

/// True where one of the eight bytes needs a look: a control character, `"`, `\`, or not ASCII.
bool needs_care(std::uint64_t word) {
  constexpr std::uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
  const auto zero_in = [](std::uint64_t v) { return (v - ones) & ~v & highs; };
  const auto below_space = (word - ones * 0x20) & ~word & highs;
  return ((word & highs) | below_space | zero_in(word ^ (ones * '"')) | zero_in(word ^ (ones * '\\'))) != 0;
}

bool is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/// How much of `text` can be copied as it stands.
std::size_t plain_length(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t word; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if (needs_care(word)) break;
  }
  while (at < text.size()) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (is_plain(c)) {
      ++at;
    } else if (const auto length = c < 0x80 ? 0 : utf8_length(text.substr(at)); length > 0) {
      at += length;
    } else {
      break;
    }
  }
  return at;
}

void append_escape(std::string& out, unsigned char c) {
  constexpr std::string_view hex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
  }
}

template <class Integer>
void append_integer(std::string& out, Integer value) {
  std::array<char, 24> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  out.append(text.data(), end);
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto plain = plain_length(text);
    out.append(text, 0, plain);
    text.remove_prefix(plain);
    if (text.empty()) return;
    const auto c = static_cast<unsigned char>(text[0]);
    if (c < 0x80) {
      append_escape(out, c);
      text.remove_prefix(1);
    } else {
      out.append(replacement_character);
      text.remove_prefix(utf8_mistake_length(text));
    }
  }
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  append_json_escaped(out, text);
  out += '"';
}

void append_json_number(std::string& out, std::int64_t value) {
  append_integer(out, value);
}

void append_json_number(std::string& out, std::uint64_t value) {
  append_integer(out, value);
}

void append_json_number(std::string& out, double value) {
  RATCHET_ENSURE(std::isfinite(value), "JSON has no infinite numbers");
  if (value == 0) {  // -0 too
    out += '0';
    return;
  }
  // "d.ddde±xx", the shortest that reads back the same, taken apart and laid out as ECMA-262 6.1.6.1.20 says.
  std::array<char, 32> buffer;
  const auto end =
      std::to_chars(
          buffer.data(), buffer.data() + buffer.size(), std::abs(value), std::chars_format::scientific)
          .ptr;
  const std::string_view scientific(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const auto e = scientific.find('e');
  std::string digits(1, scientific[0]);
  if (e > 2) digits += scientific.substr(2, e - 2);
  int exponent = 0;
  const auto exponent_at = scientific.data() + e + (scientific[e + 1] == '+' ? 2 : 1);
  std::from_chars(exponent_at, end, exponent);

  if (value < 0) out += '-';
  const int count = static_cast<int>(digits.size());
  const int point = exponent + 1;  // the place of the decimal point after the first digit's place
  if (count <= point && point <= 21) {
    out.append(digits).append(static_cast<std::size_t>(point - count), '0');
  } else if (0 < point && point <= 21) {
    out.append(digits, 0, static_cast<std::size_t>(point)).append(1, '.');
    out.append(digits, static_cast<std::size_t>(point));
  } else if (-6 < point && point <= 0) {
    out.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
  } else {
    out += digits[0];
    if (count > 1) out.append(1, '.').append(digits, 1);
    out += exponent < 0 ? "e-" : "e+";
    append_integer(out, std::abs(exponent));
  }
}

}  // namespace ratchet
