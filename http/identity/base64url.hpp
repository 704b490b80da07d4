#pragma once
// Base64url without padding (RFC 7515 section 2), read strictly: one text for each value.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ratchet {

/// Nothing for a text with other characters, an impossible length, or bits that say nothing.
inline std::optional<std::string> base64url_decoded(std::string_view text) {
  const auto value_of = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
  };
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = value_of(c);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  const bool leftover = count == 6 || (bits & ((1u << count) - 1)) != 0;
  if (leftover) return std::nullopt;
  return out;
}

}  // namespace ratchet
