#include "runtime/json/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ratchet {

namespace {

constexpr bool is_continuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

/// How many bytes a lead byte announces; 0: it is none.
constexpr std::size_t announced(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

/// The number of ASCII bytes that `text` begins with.
std::size_t ascii_length(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t word; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080808080808080u) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80)
    ++at;
  return at;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto length = announced(byte(0));
  if (length <= 1) return length;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!is_continuation(byte(i))) return 0;
  if (byte(0) == 0xE0 && byte(1) < 0xA0) return 0;   // overlong
  if (byte(0) == 0xED && byte(1) >= 0xA0) return 0;  // a surrogate
  if (byte(0) == 0xF0 && byte(1) < 0x90) return 0;   // overlong
  if (byte(0) == 0xF4 && byte(1) >= 0x90) return 0;  // above U+10FFFF
  return length;
}

std::size_t utf8_mistake_length(std::string_view text) {
  const auto length = std::max<std::size_t>(1, announced(static_cast<unsigned char>(text[0])));
  std::size_t at = 1;
  while (at < std::min(length, text.size()) && is_continuation(static_cast<unsigned char>(text[at])))
    ++at;
  return at;
}

bool is_valid_utf8(std::string_view text) {
  while (true) {
    text.remove_prefix(ascii_length(text));
    if (text.empty()) return true;
    const auto length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
}

std::size_t utf8_cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text.size();
  auto at = bytes_max;
  while (at > 0 && is_continuation(static_cast<unsigned char>(text[at])))
    --at;
  return at;
}

std::string sanitize_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto length = ascii_length(text);
    if (length == 0) length = utf8_length(text);
    if (length > 0) {
      out.append(text, 0, length);
    } else {
      out.append(replacement_character);
      length = utf8_mistake_length(text);
    }
    text.remove_prefix(length);
  }
  return out;
}

void append_code_point(std::string& out, char32_t code_point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | (code_point >> 6));
    out += tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | (code_point >> 12));
    out += tail(6);
    out += tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code_point >> 18));
    out += tail(12);
    out += tail(6);
    out += tail(0);
  }
}

}  // namespace ratchet
