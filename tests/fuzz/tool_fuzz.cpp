// Arguments of a model (the first line) and bytes of an artifact (the rest) against the tools: requests keep
// their shape, messages their bounds, and pages of an artifact are the artifact.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/json/canonical.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/builtin.hpp"
#include "runtime/tools/http_template.hpp"
#include "runtime/tools/url.hpp"

namespace ratchet {
namespace {

const ToolManifest& connector() {
  static const ToolManifest tool = *parse_manifest(R"json({
    "name": "t", "description": "d", "kind": "http", "side_effects": "none",
    "network": {"allow": ["h.example:443"]},
    "input_schema": {"type": "object", "required": ["a", "b"], "additionalProperties": false, "properties": {
      "a": {"type": ["string", "number"], "maxLength": 3, "pattern": "^[^x]*$"}, "b": true,
      "o": {"type": "array", "items": {"enum": [1, "x", null]}, "maxItems": 2}}},
    "http": {"url": "https://h.example/v1/{{/a}}/x-{{/b}}?f=1&q={{/o}}",
             "body": {"a": "{{/a}}", "t": "<{{/b}}>", "o": "{{/o}}"}}})json");
  return tool;
}

void check_request(std::string_view args) {
  const auto call = render_call(connector(), args, "key");
  if (!call) {
    RATCHET_ENSURE(is_valid_utf8(call.error().text), "an error text is not valid UTF-8");
    return;
  }
  const auto url = parse_url(call->url);
  RATCHET_ENSURE(url && url->endpoint() == "h.example:443", "a URL leads elsewhere");
  const auto path = std::string_view(call->url).substr(url->path_at, url->query_at - url->path_at);
  RATCHET_ENSURE(path.starts_with("/v1/") && std::count(path.begin(), path.end(), '/') == 3,
                 "a path has another shape");
  const auto query = std::string_view(call->url).substr(url->query_at);
  RATCHET_ENSURE(query.starts_with("?f=1") && std::count(query.begin(), query.end(), '&') <= 1,
                 "a query has other parameters");
  RATCHET_ENSURE(canonical_object(call->body).has_value(), "a body is no JSON");
}

void check_message(const std::optional<std::string>& message) {
  if (message)
    RATCHET_ENSURE(message->size() <= limits::schema_message_bytes_max && is_valid_utf8(*message),
                   "a message is too long or not valid UTF-8");
}

void check_answer(const ToolAnswer& answer) {
  RATCHET_ENSURE(is_valid_utf8(answer.text), "an answer is not valid UTF-8");
}

void check_pages(std::string_view artifact) {
  const ArtifactBounds bounds{limits::artifact_answer_bytes_min, {}};
  std::string shown;
  for (std::size_t offset = 0; offset < artifact.size();) {
    const auto answer = artifact_read(
        memory_source(artifact), "{\"artifact_id\":\"a\",\"offset\":" + std::to_string(offset) + "}", bounds);
    RATCHET_ENSURE(answer.status == ToolStatus::ok && answer.text.size() <= bounds.answer_bytes_max,
                   "a page is too long");
    const auto first_line = answer.text.find('\n');
    shown += answer.text.substr(first_line + 1);
    const auto next = answer.text.find("offset ");
    if (next > first_line) break;
    const std::size_t to = std::stoul(answer.text.substr(next + 7));
    RATCHET_ENSURE(to > offset, "a page leads nowhere");
    offset = to;
  }
  RATCHET_ENSURE(shown == sanitize_utf8(artifact), "the pages are not the artifact");
}

void run(std::string_view input) {
  const auto line = std::min(input.find('\n'), input.size());
  const auto args = input.substr(0, line);
  const auto artifact = input.substr(std::min(line + 1, input.size()));
  check_request(args);
  check_message(connector().schema.check(args));
  for (const auto& tool : builtin_manifests())
    check_message(tool.schema.check(args));
  const auto found =
      artifact_search(memory_source(artifact), args, ArtifactBounds{limits::artifact_answer_bytes_min, {}});
  check_answer(found);
  RATCHET_ENSURE(found.status != ToolStatus::ok || found.text.size() <= limits::artifact_answer_bytes_min,
                 "a list of matches is too long");
  check_pages(artifact);
  RunMemory memory;
  check_answer(apply_notes_write(memory, args));
  check_answer(apply_todo_write(memory, args));
  (void)wait_until(args, Timestamp{1'000'000});
}

}  // namespace
}  // namespace ratchet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ratchet::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
