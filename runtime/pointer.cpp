#include "runtime/pointer.hpp"

namespace ratchet {

std::string pointer_to(std::string_view pointer, std::string_view key) {
  std::string to(pointer);
  to += '/';
  for (const char c : key) {
    if (c == '~')
      to += "~0";
    else if (c == '/')
      to += "~1";
    else
      to += c;
  }
  return to;
}

std::optional<std::vector<std::string>> split_pointer(std::string_view pointer) {
  std::vector<std::string> steps;
  if (pointer.empty()) return steps;
  if (pointer.front() != '/') return std::nullopt;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      steps.emplace_back();
    } else if (pointer[i] != '~') {
      steps.back() += pointer[i];
    } else {
      ++i;
      if (i == pointer.size() || (pointer[i] != '0' && pointer[i] != '1')) return std::nullopt;
      steps.back() += pointer[i] == '0' ? '~' : '/';
    }
  }
  return steps;
}

}  // namespace ratchet
