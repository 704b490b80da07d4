#include "runtime/tools/conditions.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <string>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/limits.hpp"
#include "runtime/pointer.hpp"
#include "runtime/tools/pattern.hpp"

namespace ratchet {

namespace {

using Value = boost::json::value;
using Steps = std::span<const std::string>;
/// What is asked of one value; null: there is none.
using Test = std::function<bool(const Value*)>;

long double number_of(const Value& value) {
  if (value.is_int64()) return static_cast<long double>(value.get_int64());
  if (value.is_uint64()) return static_cast<long double>(value.get_uint64());
  return static_cast<long double>(value.get_double());
}

/// Whether the test holds of every value at the path; not of none where `*` found an array without elements.
bool every(const Value* value, Steps steps, const Test& test) {
  if (!value || steps.empty()) return test(value);
  if (steps[0] != "*") return every(child_at(*value, steps[0]), steps.subspan(1), test);
  if (!value->is_array()) return test(nullptr);
  const auto& items = value->get_array();
  return !items.empty() && std::all_of(items.begin(), items.end(), [&](const Value& item) {
    return every(&item, steps.subspan(1), test);
  });
}

std::string_view text_of(const Value* value) {
  return value->get_string();
}

bool is_text(const Value* value) {
  return value && value->is_string();
}

struct At {
  std::vector<std::string> steps;
  std::vector<Test> tests;
};

}  // namespace

struct Conditions::Compiled {
  std::vector<At> at;
  std::string command_pointer;
  std::vector<std::string> command_steps;
  std::vector<CommandPattern> commands;  ///< none: there is no such operator
};

namespace {

/// One pass over `when`; the first error wins.
class ConditionsParser {
 public:
  explicit ConditionsParser(Conditions::Compiled& to) : to_(to) {}

  Result<void> parse(const Value& when) {
    if (!when.is_object()) return invalid("", fmt::format("expected an object, found {}", kind_name(when)));
    const auto& members = when.get_object();
    if (members.empty() || members.size() > limits::policy_pointers_max)
      return invalid(
          "",
          fmt::format(
              "expected 1 to {} JSON pointers, found {}", limits::policy_pointers_max, members.size()));
    for (const auto& [pointer, operators] : members)
      if (auto parsed = at(pointer, operators); !parsed) return parsed;
    return {};
  }

 private:
  static tl::unexpected<Error> invalid(std::string pointer, std::string why) {
    return fail(ErrorCode::invalid_definition, std::move(why), std::move(pointer));
  }

  Result<void> at(std::string_view pointer, const Value& operators) {
    place_ = pointer_to("", pointer);
    auto steps = split_pointer(pointer);
    if (!steps)
      return invalid(place_, "not a JSON pointer: expected /name, /name/0 or /name/* for every element");
    if (!operators.is_object() || operators.get_object().empty())
      return invalid(
          place_,
          "expected an object of operators: equals, in, prefix, suffix, regex, lt, gt, absent, command");
    At at{std::move(*steps), {}};
    const auto* absent = operators.get_object().if_contains("absent");
    if (absent && absent->is_bool() && absent->get_bool() && operators.get_object().size() > 1)
      return invalid(place_ + "/absent", "where there is no value no other operator can hold");
    for (const auto& [name, operand] : operators.get_object()) {
      if (auto parsed = operation(name, operand, at, pointer); !parsed) return parsed;
    }
    if (!at.tests.empty()) to_.at.push_back(std::move(at));
    return {};
  }

  Result<void> operation(std::string_view name, const Value& operand, At& at, std::string_view pointer) {
    const std::string place = pointer_to(place_, name);
    const auto expected = [&](std::string_view what) {
      return invalid(place, fmt::format("{}: expected {}, found {}", name, what, kind_name(operand)));
    };
    if (name == "command") return command(operand, at, pointer);
    if (name == "equals") {
      at.tests.push_back([operand](const Value* value) { return value && *value == operand; });
    } else if (name == "in") {
      if (!operand.is_array() || operand.get_array().empty() ||
          operand.get_array().size() > limits::policy_values_max)
        return expected(fmt::format("an array of 1 to {} values", limits::policy_values_max));
      at.tests.push_back([all = operand.get_array()](const Value* value) {
        return value && std::find(all.begin(), all.end(), *value) != all.end();
      });
    } else if (name == "prefix" || name == "suffix") {
      if (!operand.is_string() || operand.get_string().empty()) return expected("a text that is not empty");
      at.tests.push_back(
          [text = std::string(operand.get_string()), front = name == "prefix"](const Value* v) {
            return is_text(v) && (front ? text_of(v).starts_with(text) : text_of(v).ends_with(text));
          });
    } else if (name == "regex") {
      if (!operand.is_string()) return expected("a regular expression");
      auto pattern = compile_pattern(operand.get_string());
      if (!pattern) return invalid(place, pattern.error().text);
      at.tests.push_back([pattern = std::shared_ptr<re2::RE2>(std::move(*pattern))](const Value* value) {
        if (!is_text(value)) return false;
        const auto text = text_of(value);
        return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *pattern);
      });
    } else if (name == "lt" || name == "gt") {
      if (!operand.is_number()) return expected("a number");
      at.tests.push_back([bound = number_of(operand), less = name == "lt"](const Value* value) {
        if (!value || !value->is_number()) return false;
        return less ? number_of(*value) < bound : number_of(*value) > bound;
      });
    } else if (name == "absent") {
      if (!operand.is_bool()) return expected("true or false");
      at.tests.push_back([absent = operand.get_bool()](const Value* value) { return !value == absent; });
    } else {
      return invalid(
          place,
          "there is no such operator; known are equals, in, prefix, suffix, regex, lt, gt, absent and "
          "command");
    }
    return {};
  }

  Result<void> command(const Value& operand, const At& at, std::string_view pointer) {
    const std::string place = place_ + "/command";
    if (!to_.commands.empty()) return invalid(place, "a rule speaks of the command lines at one pointer");
    if (!operand.is_array() || operand.get_array().empty() ||
        operand.get_array().size() > limits::policy_values_max)
      return invalid(place, fmt::format("expected an array of 1 to {} patterns", limits::policy_values_max));
    for (const Value& item : operand.get_array()) {
      auto pattern = item.is_string()
                         ? CommandPattern::parse(item.get_string())
                         : fail(ErrorCode::invalid_definition,
                                fmt::format("expected the pattern of a command, found {}", kind_name(item)));
      if (!pattern) return invalid(fmt::format("{}/{}", place, to_.commands.size()), pattern.error().text);
      to_.commands.push_back(std::move(*pattern));
    }
    to_.command_pointer = pointer;
    to_.command_steps = at.steps;
    return {};
  }

  Conditions::Compiled& to_;
  std::string place_;  ///< of the operators that are read
};

}  // namespace

Result<Conditions> Conditions::compile(const boost::json::value& when) {
  auto compiled = std::make_shared<Compiled>();
  if (auto parsed = ConditionsParser(*compiled).parse(when); !parsed) return tl::unexpected(parsed.error());
  Conditions conditions;
  conditions.compiled_ = std::move(compiled);
  return conditions;
}

bool Conditions::hold(const boost::json::value& args) const {
  if (!compiled_) return true;
  return std::all_of(compiled_->at.begin(), compiled_->at.end(), [&](const At& at) {
    return every(&args, at.steps, [&](const Value* value) {
      return std::all_of(at.tests.begin(), at.tests.end(), [&](const Test& test) { return test(value); });
    });
  });
}

std::optional<std::string_view> Conditions::command_pointer() const {
  if (!compiled_ || compiled_->commands.empty()) return std::nullopt;
  return compiled_->command_pointer;
}

std::vector<const boost::json::string*> Conditions::command_lines(const boost::json::value& args) const {
  std::vector<const boost::json::string*> lines;
  every(&args, compiled_->command_steps, [&](const Value* value) {
    if (value) lines.push_back(value->if_string());
    return true;
  });
  return lines;
}

LineMatch Conditions::match(const CommandPart& part, bool by_name) const {
  LineMatch best = LineMatch::no;
  for (const CommandPattern& pattern : compiled_->commands)
    best = std::max(best, pattern.match(part, by_name));
  return best;
}

}  // namespace ratchet
