#include "runtime/event/definitions.hpp"

namespace ratchet {

std::string_view type_name(const Event& event) {
  return std::visit([](const auto& payload) { return std::decay_t<decltype(payload)>::type; }, event.payload);
}

}  // namespace ratchet
