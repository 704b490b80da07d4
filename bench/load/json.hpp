#pragma once
// What the load generator reads from replies and writes into requests.

#include <optional>
#include <string>
#include <string_view>

namespace ratchet::bench {

/// The value at a JSON pointer (RFC 6901). nullopt: there is none, or it is of another kind.
std::optional<std::string> text_at(std::string_view json, std::string_view pointer);
std::optional<double> number_at(std::string_view json, std::string_view pointer);
/// The number of elements of the array at `pointer`.
std::optional<std::size_t> size_at(std::string_view json, std::string_view pointer);

/// With the quotes around it.
std::string json_string(std::string_view text);

}  // namespace ratchet::bench
