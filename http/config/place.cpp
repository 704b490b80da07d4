#include "http/config/place.hpp"

#include <cstdio>

#include <fmt/format.h>

namespace ratchet {

std::string in_file(std::string_view path, const Error& error) {
  unsigned line = 0, column = 0;
  int length = 0;
  if (std::sscanf(error.text.c_str(), "line %u, column %u: %n", &line, &column, &length) < 2)
    return fmt::format("{}: {}", path, error.text);
  return fmt::format("{}:{}:{}: {}", path, line, column, error.text.substr(static_cast<std::size_t>(length)));
}

}  // namespace ratchet
