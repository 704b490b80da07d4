#include "http/openapi.hpp"

#include <string>

#include "runtime/yaml.hpp"

namespace ratchet {

/// The bytes of openapi.yaml; defined by a file that the build makes (cmake/embed.cmake).
extern const std::string_view openapi_yaml;

std::string_view openapi_json() {
  static const std::string json = [] {
    auto converted = yaml_to_json(openapi_yaml);
    RATCHET_ENSURE(converted.has_value(), converted ? "" : "openapi.yaml: " + converted.error().text);
    return std::move(*converted);
  }();
  return json;
}

}  // namespace ratchet
