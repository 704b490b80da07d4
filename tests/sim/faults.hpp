#pragma once
// What goes wrong in one simulation, and how often. Each seed draws its own mix, because a fault that is
// always there hides what only happens in its absence.

#include <cstdint>

#include "tests/sim/random.hpp"

namespace ratchet::sim {

/// Per mille of the occasions.
struct Faults {
  std::uint64_t crash = 0;          ///< between two actions
  std::uint64_t repeat = 0;         ///< a completion is told twice
  std::uint64_t model_fails = 0;    ///< an attempt of a model call
  std::uint64_t odd_usage = 0;      ///< missing, absurd or above the reservation
  std::uint64_t request_lost = 0;   ///< on its way to a tool's service, or its answer on the way back
  std::uint64_t service_fails = 0;  ///< a tool's service answers with an error
  std::uint64_t store_full = 0;     ///< a commit finds no room
  std::uint64_t takeover = 0;       ///< a run is activated a second time while its actor lives
  std::uint64_t load_fails = 0;     ///< an actor fails while it takes its run up
  std::uint64_t slow = 0;           ///< something takes very long
  std::uint64_t denies = 0;         ///< a hook or the decision point denies, or cannot be asked
  std::uint64_t rewrites = 0;       ///< a hook rewrites arguments
  std::uint64_t token_late = 0;     ///< the user's token expires on the way to a tool
  int crashes_max = 0;

  static Faults draw(Random& random) {
    Faults faults;
    const auto maybe = [&](std::uint64_t permille_max) {
      return random.chance(500) ? random.below(permille_max) : 0;
    };
    faults.crash = maybe(30);
    faults.repeat = maybe(200);
    faults.model_fails = maybe(400);
    faults.odd_usage = maybe(150);
    faults.request_lost = maybe(400);
    faults.service_fails = maybe(300);
    faults.store_full = maybe(150);
    faults.takeover = maybe(60);
    faults.load_fails = random.chance(100) ? 700 : maybe(150);
    faults.slow = maybe(60);
    faults.denies = maybe(300);
    faults.rewrites = maybe(300);
    faults.token_late = maybe(500);
    faults.crashes_max = static_cast<int>(random.below(7));
    return faults;
  }
};

}  // namespace ratchet::sim
