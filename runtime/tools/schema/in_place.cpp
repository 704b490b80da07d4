#include "runtime/tools/schema/in_place.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "runtime/limits.hpp"

namespace ratchet::schema {

namespace {

/// Of one schema, over all ways that lead to it.
struct Load {
  std::size_t waiting = 0;      // schemas below it that are not settled yet
  std::size_t chain = 1;        // the longest chain that begins here
  std::size_t evaluations = 1;  // for one value
  std::vector<Child> above;
};

}  // namespace

std::string in_place_problem(const Graph& graph) {
  std::unordered_map<Child, Load> loads;
  for (const Node& node : graph.nodes)
    for_each_in_place(node, false, [&](const Node& below) {
      ++loads[&node].waiting;
      loads[&below].above.push_back(&node);
    });
  // From the ends of the chains upwards; what is in a circle is never reached.
  std::vector<Child> settled;
  for (const Node& node : graph.nodes)
    if (const auto load = loads.find(&node); load != loads.end() && load->second.waiting == 0)
      settled.push_back(&node);
  for (std::size_t i = 0; i < settled.size(); ++i) {
    const Load& below = loads[settled[i]];
    if (below.chain > limits::schema_chain_max)
      return fmt::format("more than {} schemas in a row refer to each other for the same value",
                         limits::schema_chain_max);
    if (below.evaluations > limits::schema_in_place_max)
      return fmt::format("one value would be checked against more than {} schemas",
                         limits::schema_in_place_max);
    for (const Child node : below.above) {
      Load& above = loads[node];
      above.chain = std::max(above.chain, below.chain + 1);
      above.evaluations += below.evaluations;
      if (--above.waiting == 0) settled.push_back(node);
    }
  }
  return settled.size() == loads.size() ? "" : "a schema refers to itself for the same value, without end";
}

}  // namespace ratchet::schema
