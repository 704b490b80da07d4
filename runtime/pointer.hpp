#pragma once
// JSON pointers (RFC 6901): how an error names the place in a document, and a template the value it wants.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ratchet {

/// `pointer` one step further down, to the member `key` or the item of that index.
std::string pointer_to(std::string_view pointer, std::string_view key);

/// The steps of a pointer, unescaped; none for the whole document. Nothing if it is not a pointer.
std::optional<std::vector<std::string>> split_pointer(std::string_view pointer);

}  // namespace ratchet
