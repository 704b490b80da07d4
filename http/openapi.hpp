#pragma once
// The description of the API (OpenAPI 3.1), kept by hand in openapi.yaml and embedded at build.

#include <string_view>

namespace ratchet {

/// As JSON. Converted once.
std::string_view openapi_json();

}  // namespace ratchet
