#pragma once
// Comparing the words of HTTP, which know no upper and lower case.

#include <algorithm>
#include <string_view>

namespace ratchet {

inline char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

inline bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return ascii_lower(x) == ascii_lower(y);
  });
}

}  // namespace ratchet
