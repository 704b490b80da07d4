#pragma once
// What must hold when a simulation is over, however it went.

#include "tests/sim/simulation.hpp"

namespace ratchet::sim {

/// Adds to `sim.witness` what does not hold.
void check_everything(Simulation& sim);

}  // namespace ratchet::sim
