#pragma once
// The version of this build: printed, served in the OpenAPI document, and written into every run that starts.

#include <string_view>

namespace ratchet {

inline constexpr std::string_view version = "0.1.0";

}  // namespace ratchet
