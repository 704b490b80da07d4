#pragma once
// The values that a step of the standard workload puts into the journal: a reply of 150 tokens with one call,
// its plan, a result of 700 tokens and the next request.

#include <vector>

#include "runtime/agent.hpp"
#include "runtime/event/definitions.hpp"

namespace ratchet::bench {

AgentVersion agent_version();
ModelConfig model_config();

Event run_started();
/// `model.requested` of `step`.
Event model_requested(std::uint32_t step);
/// `model.completed`, `tool.requested` and `tool.planned`: the first append of a step.
std::vector<Event> model_replied(std::uint32_t step);
/// `tool.result`: the second append, together with the next request.
Event tool_replied(std::uint32_t step);

}  // namespace ratchet::bench
