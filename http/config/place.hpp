#pragma once
// Where in a file of the user's something is wrong, in the form that editors and terminals jump to.

#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace ratchet {

/// `path:line:column: text` from an error of `parse_yaml` or `YamlDocument::at_line`, whose text begins with
/// `line N, column M: `; `path: text` from any other.
std::string in_file(std::string_view path, const Error& error);

}  // namespace ratchet
