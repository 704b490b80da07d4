#include "runtime/tools/schema/check.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"

namespace ratchet::schema {

namespace {

using boost::json::value;

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

std::size_t size_of(const value& given) {
  if (given.is_object()) return given.get_object().size();
  return given.is_array() ? given.get_array().size() : 0;
}

bool has_unevaluated(const Node& node, const value& given) {
  if (given.is_object()) return node.object && node.object->unevaluated;
  return given.is_array() && node.array && node.array->unevaluated;
}

/// Above this many forms, those that are told apart only in a message are no longer compared.
constexpr std::size_t forms_compared = 32;

}  // namespace

bool Checker::spend(std::size_t steps) {
  steps_left_ -= std::min(steps, steps_left_);
  return steps_left_ > 0 && !too_deep_;
}

bool Checker::fault(const Subject& subject, std::string_view text) const {
  if (subject.faults) subject.faults->add(subject.place, text);
  return false;
}

bool Checker::count(std::size_t found,
                    const SizeRange& range,
                    std::string_view what,
                    const Subject& subject) const {
  if (range.min && found < *range.min)
    return subject.faults &&
           fault(subject, fmt::format("expected at least {} {}, found {}", *range.min, what, found));
  if (range.max && found > *range.max)
    return subject.faults &&
           fault(subject, fmt::format("expected at most {} {}, found {}", *range.max, what, found));
  return true;
}

bool Checker::fits(const Node& node, const Subject& subject) {
  if (!spend(1)) return false;
  if (node.never) return fault(subject, "is not allowed here");
  const value& given = subject.given;
  const bool is_wrong_type = node.types && !(node.types & types_of(given));
  if (is_wrong_type || (node.choices && !is_among(*node.choices, subject)) ||
      (node.constant && !is_among(*node.constant, subject))) {
    if (subject.faults) subject.faults->add_wrong_value(subject.place, expected(node), given);
    return false;
  }
  if (depth_ == limits::schema_depth_max) {
    too_deep_ = true;
    return false;
  }
  ++depth_;
  bool result = false;
  if (has_unevaluated(node, given)) {
    // It asks for what the rules beside it have looked at, whether or not somebody further out asks too.
    spend(size_of(given) / 64);
    Evaluated own(size_of(given));
    result = rules(node, subject.as(&own, subject.faults));
    if (subject.evaluated) subject.evaluated->add(own);
  } else {
    result = rules(node, subject);
  }
  --depth_;
  return result;
}

bool Checker::rules(const Node& node, const Subject& subject) {
  Verdict verdict{subject};
  const value& given = subject.given;
  if (node.number && given.is_number() && !verdict.add(number(*node.number, subject))) return false;
  if (node.string && given.is_string() && !verdict.add(string(*node.string, subject))) return false;
  if (node.array && given.is_array() && !verdict.add(array(*node.array, subject))) return false;
  if (node.object && given.is_object() && !verdict.add(object(node, subject))) return false;
  if (node.in_place && !verdict.add(combinations(*node.in_place, subject))) return false;
  if (node.array && given.is_array() && node.array->unevaluated)
    verdict.add(unevaluated_items(*node.array, subject));
  if (node.object && given.is_object() && node.object->unevaluated)
    verdict.add(unevaluated_members(node, subject));
  return verdict.fits;
}

bool Checker::is_among(const Choices& choices, const Subject& subject) {
  std::size_t steps = 0;
  const auto found = std::lower_bound(
      choices.values.begin(),
      choices.values.end(),
      subject.given,
      [&](const value& choice, const value& given) { return compare_values(choice, given, steps) < 0; });
  const bool is_there = found != choices.values.end() && compare_values(*found, subject.given, steps) == 0;
  return spend(steps) && is_there;
}

bool Checker::number(const NumberRules& rules, const Subject& subject) const {
  const Number number = number_of(subject.given);
  const auto holds = [&](bool does, std::string_view relation, const std::optional<Number>& bound) {
    if (does || !subject.faults) return does;
    std::string text;
    append_json_number(text, static_cast<double>(*bound));
    return fault(
        subject,
        fmt::format(
            "expected a number {} {}, found {}", relation, text, subject.faults->shown(subject.given)));
  };
  const auto& [minimum, maximum, above, below, unit] = rules;
  Verdict verdict{subject};
  verdict.add(holds(!minimum || number >= *minimum, "of at least", minimum));
  verdict.add(holds(!maximum || number <= *maximum, "of at most", maximum));
  verdict.add(holds(!above || number > *above, "above", above));
  verdict.add(holds(!below || number < *below, "below", below));
  if (unit && !is_multiple(decimal_of(subject.given), *unit))
    verdict.add(subject.faults && fault(subject,
                                        fmt::format("expected a multiple of {}, found {}",
                                                    text_of(*unit),
                                                    subject.faults->shown(subject.given))));
  return verdict.fits;
}

bool Checker::string(const StringRules& rules, const Subject& subject) {
  const std::string_view text(subject.given.get_string());
  Verdict verdict{subject};
  if (rules.length.min || rules.length.max) {
    const auto length = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
    verdict.add(count(static_cast<std::size_t>(length), rules.length, "characters", subject));
  }
  if (rules.pattern) {
    if (!spend(rules.pattern->steps(text.size()))) return false;
    verdict.add(rules.pattern->matches(text) ||
                fault(subject, "expected a match of the pattern " + cut(rules.pattern->text, 100)));
  }
  return verdict.fits;
}

bool Checker::in_place(const Node& node, const Subject& subject) {
  if (!subject.evaluated) return fits(node, subject);
  spend(size_of(subject.given) / 64);
  Evaluated own(size_of(subject.given));
  const bool does = fits(node, subject.as(&own, subject.faults));
  // What is told of a fault is told once: it does not make what it is about unevaluated as well.
  if (does || subject.faults) subject.evaluated->add(own);
  return does;
}

bool Checker::combinations(const InPlaceRules& rules, const Subject& subject) {
  Verdict verdict{subject};
  for (const Child child : {rules.ref, rules.dynamic_ref})
    if (child && !verdict.add(in_place(*child, subject))) return false;
  for (const Child child : rules.all)
    if (!verdict.add(in_place(*child, subject))) return false;
  if (!rules.any.empty() && !verdict.add(any(rules, subject))) return false;
  if (!rules.one.empty() && !verdict.add(one(rules, subject))) return false;
  if (rules.none && fits(*rules.none, subject.as(nullptr, nullptr)) &&
      !verdict.add(fault(subject, "must not fit " + rules.none_text)))
    return false;
  if (rules.condition) {
    const bool holds = in_place(*rules.condition, subject.as(subject.evaluated, nullptr));
    const Child then = holds ? rules.consequence : rules.alternative;
    if (then) verdict.add(in_place(*then, subject));
  }
  return verdict.fits;
}

bool Checker::any(const InPlaceRules& rules, const Subject& subject) {
  bool found = false;
  for (const Child form : rules.any) {
    found = in_place(*form, subject.as(subject.evaluated, nullptr)) || found;
    if (found && !subject.evaluated) return true;
  }
  return found || no_form(rules.any, subject);
}

bool Checker::one(const InPlaceRules& rules, const Subject& subject) {
  std::size_t fitting = 0, first = 0;
  for (std::size_t i = 0; i < rules.one.size(); ++i) {
    if (!in_place(*rules.one[i], subject.as(subject.evaluated, nullptr))) continue;
    if (++fitting == 1) first = i;
    if (fitting == 2)
      return subject.faults &&
             fault(subject,
                   fmt::format("fits two forms that exclude each other, number {} and number {} of {}",
                               first + 1,
                               i + 1,
                               rules.one.size()));
  }
  return fitting == 1 || no_form(rules.one, subject);
}

bool Checker::no_form(const std::vector<Child>& forms, const Subject& subject) {
  if (!subject.faults) return false;
  std::vector<Faults> tried(forms.size(), Faults(subject.faults->values()));
  for (std::size_t i = 0; i < std::min(forms.size(), forms_compared); ++i) {
    (void)fits(*forms[i], subject.as(nullptr, &tried[i]));
  }
  // Of what fits none of the forms nothing more is said: it would be that nothing has looked at its members.
  if (subject.evaluated) subject.evaluated->add_all();
  subject.faults->add_no_form(subject.place, tried, subject.given);
  return false;
}

std::optional<std::string> check(const Graph& graph, const value& given, Values values) {
  const Place root;
  Checker quick(limits::schema_steps_max);
  const bool fits = quick.fits(graph.root(), {given, root, nullptr, nullptr});
  if (quick.gave_up()) return "the arguments are too large to be checked";
  if (fits) return std::nullopt;
  Faults faults(values);
  Checker thorough(limits::schema_steps_max);
  (void)thorough.fits(graph.root(), {given, root, nullptr, &faults});
  return faults.empty() ? "the arguments do not fit the schema" : faults.message();
}

}  // namespace ratchet::schema
