#pragma once
// JSON is written by appending: punctuation as literals, values through these. Strings and numbers come out
// as RFC 8785 wants them, so that what we write can be hashed as it stands.

#include <cstdint>
#include <string>
#include <string_view>

namespace ratchet {

/// Appends `text` quoted and escaped. Bytes that are no UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);
/// The same without the quotes, for a string that is written in pieces. A piece ends between code points.
void append_json_escaped(std::string& out, std::string_view text);

void append_json_number(std::string& out, std::int64_t value);
void append_json_number(std::string& out, std::uint64_t value);
/// Shortest form that reads back the same (ECMA-262, Number::toString). `value` is finite.
void append_json_number(std::string& out, double value);

inline void append_json_bool(std::string& out, bool value) {
  out += value ? "true" : "false";
}

}  // namespace ratchet
