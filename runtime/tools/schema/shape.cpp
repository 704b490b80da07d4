#include "runtime/tools/schema/shape.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "runtime/tools/schema/in_place.hpp"

namespace ratchet::schema {

namespace {

/// The schemas, and those that they hold against the same value: all that may be, or the certain ones.
std::vector<Child> closure(std::vector<Child> nodes, bool certain) {
  std::unordered_set<Child> seen(nodes.begin(), nodes.end());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Child node = nodes[i];
    for_each_in_place(*node, certain, [&](const Node& child) {
      const bool excludes = node->in_place && node->in_place->none == &child;
      if (!excludes && seen.insert(&child).second) nodes.push_back(&child);
    });
  }
  return nodes;
}

std::optional<std::size_t> index_in(std::string_view step) {
  std::size_t index = 0;
  const auto end = step.data() + step.size();
  const auto read = std::from_chars(step.data(), end, index);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return index;
}

/// The schemas that `node` has for what is one step below its value.
void add_below(const Node& node, const std::string& step, std::vector<Child>& below) {
  if (const auto* rules = node.object.get()) {
    if (const Child property = rules->find(step)) below.push_back(property);
    for (const auto& [pattern, child] : rules->patterns)
      if (pattern.matches(step)) below.push_back(child);
  }
  const auto index = index_in(step);
  if (const auto* rules = node.array.get(); rules && index) {
    const Child item = *index < rules->prefix.size() ? rules->prefix[*index] : rules->items;
    for (const Child child : {item, rules->contains, rules->unevaluated})
      if (child) below.push_back(child);
  }
}

}  // namespace

bool promises(const Node& node, const std::vector<std::string>& steps) {
  std::vector<Child> here = {&node};
  for (const std::string& step : steps) {
    here = closure(std::move(here), true);
    bool is_object = false, is_there = false;
    std::vector<Child> below;
    for (const Child each : here) {
      is_object = is_object || each->types == type_object;
      if (!each->object) continue;
      const auto& required = each->object->required;
      is_there = is_there || std::binary_search(required.begin(), required.end(), step);
      if (const Child property = each->object->find(step)) below.push_back(property);
    }
    if (!is_object || !is_there) return false;
    here = std::move(below);
  }
  return true;
}

bool names(const Node& node, const std::vector<std::string>& steps) {
  std::vector<Child> here = {&node};
  for (const std::string& step : steps) {
    std::vector<Child> below;
    for (const Child each : closure(std::move(here), false))
      add_below(*each, step, below);
    if (below.empty()) return false;
    here = std::move(below);
  }
  return true;
}

std::vector<std::string_view> property_names(const Node& node) {
  std::vector<std::string_view> names;
  for (const Child each : closure({&node}, false))
    if (each->object)
      for (const auto& [name, child] : each->object->properties)
        names.push_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace ratchet::schema
