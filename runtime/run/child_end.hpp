#pragma once
// What a parent is told of a sub-agent that has finished, from its row and its last event.

#include "runtime/run/inputs.hpp"
#include "runtime/run/row.hpp"

namespace ratchet {

input::ChildEnded child_end(const RunRow& row, const RunFinished& finished);

}  // namespace ratchet
