#pragma once
// The agents of a simulation: tools of every class, one to three providers of different protocols, budgets
// from nothing to plenty.

#include <memory>
#include <string>
#include <vector>

#include "runtime/event/definitions.hpp"
#include "runtime/tools/book.hpp"
#include "tests/sim/random.hpp"

namespace ratchet::sim {

struct Agent {
  bool decision_point = false;
  std::shared_ptr<const AgentVersion> version;
  std::shared_ptr<const ToolBook> book;
  ModelConfig model;
};

Agent draw_agent(Random& random);

/// What a run of `agent` starts with, at `now`.
RunStarted draw_run(Random& random, const Agent& agent, Timestamp now);

/// What a sub-agent of `agent` is like before its parent gives it its share.
RunStarted draw_child(Random& random, const Agent& agent);

/// A text that names itself, now and then longer than what is shown of it or kept inline.
std::string draw_text(Random& random, std::string_view name);

}  // namespace ratchet::sim
