#include "sandbox/launch/container_state.hpp"

#include "runtime/json/dom.hpp"

namespace ratchet::sandbox {

std::string container_name(std::string_view state) {
  const auto parsed = parse_json(state);
  if (!parsed) return {};
  const auto* container = child_at(*parsed, "state");
  const auto* id = container != nullptr ? child_at(*container, "id") : nullptr;
  return id != nullptr && id->is_string() ? std::string(id->as_string()) : std::string();
}

}  // namespace ratchet::sandbox
