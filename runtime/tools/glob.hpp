#pragma once

#include <string_view>

namespace ratchet {

/// `*` stands for any run of bytes, none too; everything else for itself. At most quadratic.
bool glob_matches(std::string_view glob, std::string_view text);

}  // namespace ratchet
