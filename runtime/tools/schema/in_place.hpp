#pragma once
// Which schemas are held against the same value as another: by reference, by the combining keywords, by
// dependencies. Within one value nothing ends a chain of them, so it is bounded before any value is there.

#include <string>

#include "runtime/tools/schema/node.hpp"

namespace ratchet::schema {

/// Calls `visit` with each schema that `node` holds against its own value. `certain`: only those that have to
/// fit whenever the node does (`$ref`, allOf).
template <class Visit>
void for_each_in_place(const Node& node, bool certain, const Visit& visit) {
  if (const auto* rules = node.in_place.get()) {
    for (const Child child : {rules->ref, rules->dynamic_ref})
      if (child) visit(*child);
    for (const Child child : rules->all)
      visit(*child);
    if (!certain) {
      for (const auto* forms : {&rules->any, &rules->one})
        for (const Child child : *forms)
          visit(*child);
      for (const Child child : {rules->none, rules->condition, rules->consequence, rules->alternative})
        if (child) visit(*child);
    }
  }
  if (node.object && !certain)
    for (const auto& dependency : node.object->dependencies)
      if (dependency.schema) visit(*dependency.schema);
}

/// What makes a graph unfit for checking any value; empty: nothing. Refused are circles, chains longer than
/// limits::schema_chain_max, and more than limits::schema_in_place_max evaluations for one value.
std::string in_place_problem(const Graph& graph);

}  // namespace ratchet::schema
