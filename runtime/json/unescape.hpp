#pragma once
// The inside of a JSON string, decoded.

#include <string>
#include <string_view>

namespace ratchet {

/// Appends what `escaped`, the inside of a JSON string without its quotes, stands for. A surrogate without
/// its partner is appended as WTF-8; it joins its partner where that is the next thing appended to `out`, so
/// that a pair may be split over two pieces of a stream. `sanitize_utf8` turns what stays alone into U+FFFD.
/// Returns the number of bytes read: all of them, or up to an escape that JSON does not have.
std::size_t append_unescaped(std::string& out, std::string_view escaped);

/// Whether `text` ends with the first half of a surrogate pair, as `append_unescaped` leaves it (3 bytes).
bool ends_with_high_surrogate(std::string_view text);

}  // namespace ratchet
