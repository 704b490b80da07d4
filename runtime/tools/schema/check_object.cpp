#include <algorithm>

#include <fmt/format.h>

#include "runtime/tools/schema/check.hpp"
#include "runtime/tools/schema/shape.hpp"

namespace ratchet::schema {

namespace {

using boost::json::value;

std::string known(const Node& node) {
  std::string text;
  for (const std::string_view name : property_names(node)) {
    if (text.size() > 120) break;
    text.append(text.empty() ? "" : ", ").append(name);
  }
  return text.empty() ? "none" : cut(text, 120);
}

}  // namespace

bool Checker::object(const Node& node, const Subject& subject) {
  const ObjectRules& rules = *node.object;
  Verdict verdict{subject};
  if (!verdict.add(count(subject.given.get_object().size(), rules.size, "properties", subject))) return false;
  if (!verdict.add(required(node, rules.required, "", subject))) return false;
  if (!verdict.add(members(node, subject))) return false;
  if (!rules.dependencies.empty()) verdict.add(dependencies(node, subject));
  return verdict.fits;
}

bool Checker::required(const Node& node,
                       const std::vector<std::string>& names,
                       std::string_view why,
                       const Subject& subject) {
  Verdict verdict{subject};
  for (const std::string& name : names) {
    if (!spend(1)) return false;
    if (subject.given.get_object().contains(name)) continue;
    if (!subject.faults) return false;
    const Child property = node.object->find(name);
    const bool goes_on = verdict.add(fault(subject,
                                           fmt::format("the property {} is required{} ({})",
                                                       cut(name, 80),
                                                       why,
                                                       property ? expected(*property) : "a value")));
    if (!goes_on) return false;
  }
  return verdict.fits;
}

bool Checker::members(const Node& node, const Subject& subject) {
  const ObjectRules& rules = *node.object;
  if (rules.properties.empty() && rules.patterns.empty() && !rules.additional && !rules.names) return true;
  Verdict verdict{subject};
  std::size_t index = 0;
  for (const auto& each : subject.given.get_object()) {
    if (!spend(1)) return false;
    const std::string_view name(each.key());
    if (rules.names && !verdict.add(name_of_member(node, name, subject))) return false;
    bool is_named = false;
    if (const Child property = rules.find(name)) {
      is_named = true;
      if (!verdict.add(member(*property, name, each.value(), subject))) return false;
    }
    for (const auto& [pattern, child] : rules.patterns) {
      if (!spend(pattern.steps(name.size()))) return false;
      if (!pattern.matches(name)) continue;
      is_named = true;
      if (!verdict.add(member(*child, name, each.value(), subject))) return false;
    }
    if (!is_named && rules.additional) {
      is_named = true;
      const bool fits = rules.additional->never ? unknown_member(node, name, subject)
                                                : member(*rules.additional, name, each.value(), subject);
      if (!verdict.add(fits)) return false;
    }
    if (is_named && subject.evaluated) subject.evaluated->add(index);
    ++index;
  }
  return verdict.fits;
}

bool Checker::member(const Node& node, std::string_view name, const value& given, const Subject& subject) {
  const Place place{&subject.place, name};
  return fits(node, {given, place, nullptr, subject.faults});
}

bool Checker::name_of_member(const Node& node, std::string_view name, const Subject& subject) {
  const value given(boost::json::string_view(name.data(), name.size()));
  Faults faults(subject.faults ? subject.faults->values() : Values::quoted);
  const Place root;
  if (fits(*node.object->names, {given, root, nullptr, subject.faults ? &faults : nullptr})) return true;
  return subject.faults &&
         fault(subject,
               fmt::format("the property {} has a name that is not allowed{}",
                           cut(name, 80),
                           faults.empty() ? "" : " (" + cut(faults.first_text(), 160) + ")"));
}

bool Checker::unknown_member(const Node& node, std::string_view name, const Subject& subject) const {
  return subject.faults &&
         fault(subject, fmt::format("there is no property {}; known are {}", cut(name, 80), known(node)));
}

bool Checker::dependencies(const Node& node, const Subject& subject) {
  Verdict verdict{subject};
  for (const auto& [property, names, schema] : node.object->dependencies) {
    if (!spend(1)) return false;
    if (!subject.given.get_object().contains(property)) continue;
    const std::string why = subject.faults ? fmt::format(" where {} is", cut(property, 80)) : "";
    if (!verdict.add(required(node, names, why, subject))) return false;
    if (schema && !verdict.add(in_place(*schema, subject))) return false;
  }
  return verdict.fits;
}

bool Checker::unevaluated_members(const Node& node, const Subject& subject) {
  const Node& rest = *node.object->unevaluated;
  Verdict verdict{subject};
  std::size_t index = 0;
  for (const auto& each : subject.given.get_object()) {
    if (!spend(1)) return false;
    const std::size_t at = index++;
    if (subject.evaluated->has(at)) continue;
    const std::string_view name(each.key());
    if (!verdict.add(rest.never ? unknown_member(node, name, subject)
                                : member(rest, name, each.value(), subject)))
      return false;
    subject.evaluated->add(at);
  }
  return verdict.fits;
}

}  // namespace ratchet::schema
