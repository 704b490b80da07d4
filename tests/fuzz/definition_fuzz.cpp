// Any text as a definition in YAML: whoever reads it understands the same, what is taken can be read again
// from what is stored, and what is refused is refused at a place in the file.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/agent.hpp"
#include "runtime/json/canonical.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/tools/manifest.hpp"
#include "runtime/yaml.hpp"

namespace ratchet {
namespace {

template <class Parse>
void check(const YamlDocument& document, std::size_t lines, Parse&& parse) {
  const auto parsed = parse(document.json);
  if (parsed) {
    const auto again = parse(parsed->source.text);
    RATCHET_ENSURE(again && again->digest == parsed->digest, "what is stored reads otherwise");
    return;
  }
  const TextPosition position = document.locate(parsed.error().pointer);
  RATCHET_ENSURE(position.line >= 1 && position.line <= lines, "an error lies outside of the file");
  RATCHET_ENSURE(is_valid_utf8(parsed.error().text), "an error text is not valid UTF-8");
}

void run(std::string_view text) {
  const auto document = parse_yaml(text);
  if (!document) {
    RATCHET_ENSURE(is_valid_utf8(document.error().text), "an error text is not valid UTF-8");
    return;
  }
  RATCHET_ENSURE(canonical_json(document->json).has_value(), "YAML that was taken is no JSON");
  const auto lines = 1 + static_cast<std::size_t>(std::count_if(
                             text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }));
  check(*document, lines, [](std::string_view json) { return parse_manifest(json); });
  check(*document, lines, [](std::string_view json) { return parse_agent(json); });
}

}  // namespace
}  // namespace ratchet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ratchet::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
