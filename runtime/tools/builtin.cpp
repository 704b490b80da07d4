#include "runtime/tools/builtin.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "runtime/tools/manifest.hpp"
#include "runtime/tools/sandbox_tools.hpp"

namespace ratchet {

namespace {

/// Those that need no sandbox. A change of a byte here is a change of the tool's digest.
constexpr std::string_view manifests[] = {
    R"json({
      "name": "artifact_read",
      "kind": "builtin", "side_effects": "none",
      "description": "Read part of an artifact: a large input or tool result that is kept outside of this conversation, of which you were shown only the head and the artifact_id. Returns the bytes from offset on, cut between characters; the first line says which bytes these are, how many there are, and the offset to go on with. To find a place first, use artifact_search: it gives the offset of each match.",
      "input_schema": {
        "type": "object", "additionalProperties": false, "required": ["artifact_id"],
        "properties": {
          "artifact_id": {"type": "string", "description": "The id of the artifact: art_ and 26 characters."},
          "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "The first byte to read."},
          "limit": {"type": "integer", "minimum": 1, "description": "How many bytes to read at most. Left out: as many as one result holds."}
        }
      }
    })json",
    R"json({
      "name": "artifact_search",
      "kind": "builtin", "side_effects": "none",
      "description": "Search an artifact line by line for a regular expression (RE2 syntax; begin with (?i) to ignore case). Each match is shown as line:offset:text, lines of context as line-offset-text, where offset is the byte at which the line begins or, of a long line, the shown part of it. Read on around a match with artifact_read and that offset.",
      "input_schema": {
        "type": "object", "additionalProperties": false, "required": ["artifact_id", "pattern"],
        "properties": {
          "artifact_id": {"type": "string", "description": "The id of the artifact: art_ and 26 characters."},
          "pattern": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "The regular expression, for example ERROR|FATAL."},
          "max_matches": {"type": "integer", "minimum": 1, "maximum": 200, "default": 20, "description": "How many matches to show at most; the rest are counted."},
          "context_lines": {"type": "integer", "minimum": 0, "maximum": 10, "default": 0, "description": "How many lines to show before and after each match."}
        }
      }
    })json",
    R"json({
      "name": "http_get",
      "kind": "builtin", "side_effects": "none", "timeout_ms": 30000,
      "description": "Fetch one page with HTTP GET and return its body as text. Only endpoints that the operator has listed are reached; a call for another one says which are. Redirects are not followed.",
      "input_schema": {
        "type": "object", "additionalProperties": false, "required": ["url"],
        "properties": {
          "url": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "An http or https URL, without a fragment."}
        }
      }
    })json",
    R"json({
      "name": "notes_read",
      "kind": "builtin", "side_effects": "none", "repeatable": true,
      "description": "Read your notes of this run.",
      "input_schema": {"type": "object", "additionalProperties": false, "properties": {}}
    })json",
    R"json({
      "name": "notes_write",
      "kind": "builtin", "side_effects": "none",
      "description": "Write to your notes of this run. Notes are kept when earlier parts of the conversation are summarised: put findings, decisions and what you will need later there.",
      "input_schema": {
        "type": "object", "additionalProperties": false, "required": ["text"],
        "properties": {
          "text": {"type": "string", "description": "The text to add, or the new notes."},
          "mode": {"type": "string", "enum": ["append", "replace"], "default": "append", "description": "append adds the text on a line of its own; replace makes it the whole of the notes."}
        }
      }
    })json",
    R"json({
      "name": "spawn_agent",
      "kind": "builtin", "side_effects": "none",
      "description": "Give a task to another agent and wait for its final message, which is the result. The agent sees nothing of this conversation: its input must say all that it needs. What it may use comes out of your own budgets; what it does not use comes back. Several started in one reply work side by side.",
      "input_schema": {
        "type": "object", "additionalProperties": false, "required": ["agent_id", "input"],
        "properties": {
          "agent_id": {"type": "string", "minLength": 1, "maxLength": 64, "description": "Which agent."},
          "input": {"type": "string", "minLength": 1, "description": "The task, with everything that the agent needs to know."},
          "budgets": {
            "type": "object", "additionalProperties": false,
            "description": "What it may use at most. Left out: a quarter of what you have left.",
            "properties": {
              "max_steps": {"type": "integer", "minimum": 1},
              "max_tokens": {"type": "integer", "minimum": 1},
              "max_seconds": {"type": "integer", "minimum": 1},
              "max_usd": {"type": "string", "description": "Dollars, such as \"0.25\"."}
            }
          }
        }
      }
    })json",
    R"json({
      "name": "todo_write",
      "kind": "builtin", "side_effects": "none",
      "description": "Set your list of todos of this run: the whole list, each time. Keep one item in the state doing, and set items to done as soon as they are.",
      "input_schema": {
        "type": "object", "additionalProperties": false, "required": ["items"],
        "properties": {
          "items": {
            "type": "array", "maxItems": 100,
            "items": {
              "type": "object", "additionalProperties": false, "required": ["text", "status"],
              "properties": {
                "text": {"type": "string", "minLength": 1, "maxLength": 1024},
                "status": {"type": "string", "enum": ["open", "doing", "done"]}
              }
            }
          }
        }
      }
    })json",
    R"json({
      "name": "wait",
      "kind": "builtin", "side_effects": "none", "repeatable": true,
      "description": "Wait before going on. Give either seconds or until. Waiting costs nothing; use it instead of asking again and again.",
      "input_schema": {
        "type": "object", "additionalProperties": false,
        "properties": {
          "seconds": {"type": "number", "minimum": 0, "maximum": 31536000, "description": "How long to wait."},
          "until": {"type": "string", "format": "date-time", "description": "When to go on: an RFC 3339 time, such as 2026-11-30T08:00:00Z."}
        }
      }
    })json",
};

}  // namespace

const std::vector<ToolManifest>& builtin_manifests() {
  static const std::vector<ToolManifest> parsed = [] {
    std::vector<ToolManifest> all;
    for (const auto& jsons : {std::span<const std::string_view>(manifests), sandbox_tool_manifests()}) {
      for (const auto json : jsons) {
        auto manifest = parse_manifest(json, ManifestOrigin::pinned);
        RATCHET_ENSURE(manifest.has_value(), "the built-in manifests are valid");
        all.push_back(std::move(*manifest));
      }
    }
    std::ranges::sort(all, {}, &ToolManifest::name);
    return all;
  }();
  return parsed;
}

const ToolManifest* find_builtin(std::string_view name) {
  const auto& all = builtin_manifests();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const ToolManifest& tool) { return tool.name == name; });
  return found != all.end() ? &*found : nullptr;
}

}  // namespace ratchet
