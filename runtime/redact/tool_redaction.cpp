#include "runtime/redact/tool_redaction.hpp"

#include <boost/json/value.hpp>

#include "runtime/json/dom.hpp"
#include "runtime/pointer.hpp"
#include "runtime/redact/redactor.hpp"

namespace ratchet {

namespace {

namespace json = boost::json;
using Steps = std::span<const std::string>;

bool hide(json::value& value, Steps steps) {
  if (steps.empty()) {
    value = redaction_mark("tool");
    return true;
  }
  if (value.is_array() && steps[0] == "*") {
    bool changed = false;
    for (auto& item : value.get_array())
      changed = hide(item, steps.subspan(1)) || changed;
    return changed;
  }
  const auto* child = child_at(value, steps[0]);
  return child && hide(const_cast<json::value&>(*child), steps.subspan(1));
}

template <class Paths>
bool hide_all(json::value& value, const Paths& paths) {
  bool changed = false;
  for (const auto& path : paths)
    changed = hide(value, path) || changed;
  return changed;
}

/// A text that may be JSON, or a note with JSON behind it. What is cut, and so none any more, may have begun
/// as such.
template <class Paths>
bool hide_in_text(json::value& text, const Paths& paths) {
  if (!text.is_string()) return false;
  std::string_view given = text.get_string();
  const std::string note(given.starts_with(edited_args_note) ? edited_args_note : "");
  given.remove_prefix(note.size());
  const auto first = given.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (given[first] != '{' && given[first] != '[')) return false;
  auto value = parse_json(given);
  if (!value) {
    text = note + redaction_mark("tool");
    return true;
  }
  if (!hide_all(*value, paths)) return false;
  std::string shown = note;
  append_json(shown, *value);
  text = shown;
  return true;
}

}  // namespace

ToolRedaction::ToolRedaction(std::span<const ToolManifest> tools) {
  for (const ToolManifest& tool : tools) {
    for (const std::string& pointer : tool.redact) {
      auto steps = split_pointer(pointer);
      if (!steps) continue;  // not of a manifest that was parsed
      all_.push_back(*steps);
      by_tool_[tool.name].push_back(std::move(*steps));
    }
  }
}

std::optional<std::string> ToolRedaction::apply(std::string_view text) const {
  if (empty()) return std::nullopt;
  auto value = parse_json(text);
  if (!value) return redaction_mark("tool");
  bool changed = false;
  const auto call = [&](json::object& object) {
    const Paths* paths = &all_;
    if (const auto* tool = object.if_contains("tool"); tool && tool->is_string()) {
      const auto own = by_tool_.find(std::string_view(tool->get_string()));
      if (own == by_tool_.end()) return;
      paths = &own->second;
    }
    for (const char* member : {"args", "edited_args"})
      if (auto* args = object.if_contains(member)) changed = hide_all(*args, *paths) || changed;
    if (auto* args = object.if_contains("args_text")) {
      *args = redaction_mark("tool");
      changed = true;
    }
  };
  const auto result = [&](json::object& object) {
    auto* content = object.if_contains("content");
    if (!object.contains("call_id") || !content || !content->is_array()) return;
    for (auto& block : content->get_array()) {
      if (!block.is_object()) continue;
      for (const char* member : {"text", "head"})
        if (auto* said = block.get_object().if_contains(member))
          changed = hide_in_text(*said, all_) || changed;
    }
  };
  const auto visit = [&](const auto& self, json::value& at) -> void {
    if (at.is_array())
      for (auto& item : at.get_array())
        self(self, item);
    if (!at.is_object()) return;
    call(at.get_object());
    result(at.get_object());
    for (auto& member : at.get_object())
      if (member.key() != "args" && member.key() != "edited_args") self(self, member.value());
  };
  visit(visit, *value);
  if (!changed) return std::nullopt;
  std::string shown;
  append_json(shown, *value);
  return shown;
}

}  // namespace ratchet
