#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"
#include "runtime/pointer.hpp"
#include "runtime/tools/schema.hpp"
#include "runtime/tools/schema_node.hpp"

namespace ratchet {

namespace {

using boost::json::value;

constexpr std::size_t faults_shown = 3;

std::string cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  return std::string(text.substr(0, utf8_cut(text, bytes_max))) + "…";
}

unsigned types_of(const value& given) {
  switch (given.kind()) {
    case boost::json::kind::null:
      return type_null;
    case boost::json::kind::bool_:
      return type_boolean;
    case boost::json::kind::object:
      return type_object;
    case boost::json::kind::array:
      return type_array;
    case boost::json::kind::string:
      return type_string;
    case boost::json::kind::double_:
      return std::trunc(given.get_double()) == given.get_double() ? type_number | type_integer : type_number;
    default:
      return type_number | type_integer;
  }
}

/// "a string or null", "one of 1, 2"
std::string expected(const SchemaNode& node) {
  if (node.choices) return (node.choices->size() > 1 ? "one of " : "") + cut(node.choices_text, 120);
  std::string text;
  for (const auto& [type, word, phrase] : schema_type_names)
    if (node.types & type) text.append(text.empty() ? "" : " or ").append(phrase);
  return text.empty() ? "a value" : text;
}

class Checker {
 public:
  void check(const SchemaNode& node, const value& given, const std::string& pointer) {
    if (!spend(1)) return;
    if (node.never) return fault(pointer, "is not allowed here");
    if (node.types && !(node.types & types_of(given)))
      return fault(pointer, fmt::format("expected {}, found {}", expected(node), shown(given)));
    if (node.choices && !is_choice(node, given))
      return fault(pointer, fmt::format("expected {}, found {}", expected(node), shown(given)));
    if (given.is_string()) string(node, given.get_string(), pointer);
    if (given.is_number()) number(node, given, pointer);
    if (given.is_array()) array(node, given.get_array(), pointer);
    if (given.is_object()) object(node, given.get_object(), pointer);
  }

  std::optional<std::string> message() const {
    if (steps_left_ == 0 && faults_ == 0) return "the arguments are too large to be checked";
    if (faults_ == 0) return std::nullopt;
    return cut(text_ + (faults_ > faults_shown ? "; and more" : ""), limits::schema_message_bytes_max - 3);
  }

 private:
  /// The check goes on while it has found little and cost little.
  bool spend(std::size_t steps) {
    steps_left_ -= std::min(steps, steps_left_);
    return steps_left_ > 0 && faults_ <= faults_shown;
  }

  void fault(std::string_view pointer, std::string_view what) {
    if (++faults_ > faults_shown) return;
    if (!text_.empty()) text_ += "; ";
    text_ += pointer.empty() ? "the arguments" : cut(pointer, 80);
    text_.append(": ").append(what);
  }

  static std::string shown(const value& given) {
    if (given.is_object() || given.is_array()) return std::string(kind_name(given));
    std::string json;
    append_json(json, given);
    if (given.is_string()) return fmt::format("the string {}", cut(json, 40));
    return cut(json, 40);
  }

  bool is_choice(const SchemaNode& node, const value& given) {
    // Both were read from canonical form, where equal numbers are written alike.
    if (!spend(node.choices_text.size() / 16)) return true;
    return std::find(node.choices->begin(), node.choices->end(), given) != node.choices->end();
  }

  void string(const SchemaNode& node, std::string_view text, const std::string& pointer) {
    if (node.min_length || node.max_length) {
      const auto length = static_cast<std::uint64_t>(
          std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
      size(length, node.min_length, node.max_length, "characters", pointer);
    }
    if (!node.pattern) return;
    if (!spend(text.size() * static_cast<std::size_t>(node.pattern->ProgramSize()) / 256)) return;
    if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *node.pattern))
      fault(pointer, fmt::format("expected a match of the pattern {}", cut(node.pattern->pattern(), 100)));
  }

  void number(const SchemaNode& node, const value& given, const std::string& pointer) {
    const SchemaNumber number = schema_number(given);
    const auto refuse = [&](std::string_view relation, SchemaNumber bound) {
      fault(pointer,
            fmt::format("expected a number {} {}, found {}", relation, text_of(bound), shown(given)));
    };
    if (node.minimum && number < *node.minimum) refuse("of at least", *node.minimum);
    if (node.maximum && number > *node.maximum) refuse("of at most", *node.maximum);
    if (node.exclusive_minimum && number <= *node.exclusive_minimum) refuse("above", *node.exclusive_minimum);
    if (node.exclusive_maximum && number >= *node.exclusive_maximum) refuse("below", *node.exclusive_maximum);
  }

  static std::string text_of(SchemaNumber number) {
    std::string text;
    append_json_number(text, static_cast<double>(number));
    return text;
  }

  void size(std::uint64_t found,
            const std::optional<std::uint64_t>& min,
            const std::optional<std::uint64_t>& max,
            std::string_view what,
            const std::string& pointer) {
    if (min && found < *min)
      fault(pointer, fmt::format("expected at least {} {}, found {}", *min, what, found));
    if (max && found > *max)
      fault(pointer, fmt::format("expected at most {} {}, found {}", *max, what, found));
  }

  void array(const SchemaNode& node, const boost::json::array& items, const std::string& pointer) {
    size(items.size(), node.min_items, node.max_items, "items", pointer);
    if (!node.items) return;
    for (std::size_t i = 0; i < items.size() && spend(1); ++i)
      check(*node.items, items[i], pointer_to(pointer, std::to_string(i)));
  }

  void object(const SchemaNode& node, const boost::json::object& members, const std::string& pointer) {
    for (const std::string& name : node.required) {
      if (members.contains(name)) continue;
      const SchemaNode* property = node.find(name);
      fault(
          pointer,
          fmt::format(
              "the property {} is required ({})", cut(name, 80), property ? expected(*property) : "a value"));
    }
    for (const auto& [key, member] : members) {
      if (!spend(1)) return;
      const std::string_view name(key);
      if (const SchemaNode* property = node.find(name)) {
        check(*property, member, pointer_to(pointer, name));
      } else if (node.additional && node.additional->never) {
        fault(pointer, fmt::format("there is no property {}; known are {}", cut(name, 80), known(node)));
      } else if (node.additional) {
        check(*node.additional, member, pointer_to(pointer, name));
      }
    }
  }

  static std::string known(const SchemaNode& node) {
    std::string names;
    for (const auto& [name, property] : node.properties) {
      if (names.size() > 120) break;
      names.append(names.empty() ? "" : ", ").append(name);
    }
    return names.empty() ? "none" : cut(names, 120);
  }

  std::size_t steps_left_ = limits::schema_steps_max;
  std::size_t faults_ = 0;
  std::string text_;
};

}  // namespace

std::optional<std::string> ArgumentSchema::check(std::string_view args_json) const {
  const auto args = parse_json(args_json);
  if (!args) return "the arguments are not valid JSON: " + args.error().text;
  if (!args->is_object()) return fmt::format("the arguments: expected an object, found {}", kind_name(*args));
  if (!root_) return std::nullopt;
  Checker checker;
  checker.check(*root_, *args, "");
  return checker.message();
}

}  // namespace ratchet
