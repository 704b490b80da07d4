#pragma once
// UTF-8 as we let it in and out: text is always valid, and it is only ever cut between code points.

#include <cstddef>
#include <string>
#include <string_view>

namespace ratchet {

/// U+FFFD, which stands for what was not valid.
inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

/// The bytes of the code point that `text` begins with; 0 if it begins with none (RFC 3629: no overlong
/// forms, no surrogates, nothing above U+10FFFF) or is empty.
std::size_t utf8_length(std::string_view text);

/// The bytes to skip when `utf8_length` is 0 and `text` is not empty: a broken sequence, an encoded surrogate
/// or a stray byte each count as one mistake.
std::size_t utf8_mistake_length(std::string_view text);

bool is_valid_utf8(std::string_view text);

/// The largest length of at most `bytes_max` at which valid `text` can be cut between two code points.
std::size_t utf8_cut(std::string_view text, std::size_t bytes_max);

/// The text with U+FFFD for each mistake in it.
std::string sanitize_utf8(std::string_view text);

/// Appends a code point of at most U+10FFFF. Surrogates are encoded too (as WTF-8 does), for the sake of
/// pairs whose halves arrive apart: `sanitize_utf8` ends that.
void append_code_point(std::string& out, char32_t code_point);

}  // namespace ratchet
