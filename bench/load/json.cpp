#include "bench/load/json.hpp"

#include <fmt/format.h>
#include <simdjson.h>

namespace ratchet::bench {

namespace {

/// The element lives until the next call.
std::optional<simdjson::dom::element> element_at(std::string_view json, std::string_view pointer) {
  static simdjson::dom::parser parser;
  simdjson::dom::element root, found;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS) return std::nullopt;
  if (root.at_pointer(pointer).get(found) != simdjson::SUCCESS) return std::nullopt;
  return found;
}

}  // namespace

std::optional<std::string> text_at(std::string_view json, std::string_view pointer) {
  const auto element = element_at(json, pointer);
  std::string_view text;
  if (!element || element->get(text) != simdjson::SUCCESS) return std::nullopt;
  return std::string(text);
}

std::optional<double> number_at(std::string_view json, std::string_view pointer) {
  const auto element = element_at(json, pointer);
  double number = 0;
  if (!element || element->get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

std::optional<std::size_t> size_at(std::string_view json, std::string_view pointer) {
  const auto element = element_at(json, pointer);
  simdjson::dom::array array;
  if (!element || element->get(array) != simdjson::SUCCESS) return std::nullopt;
  return array.size();
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

}  // namespace ratchet::bench
