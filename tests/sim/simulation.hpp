#pragma once
// One seed: a world, a model, clients, a node that is killed now and then, and the checks afterwards.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/tools/facts.hpp"
#include "store/memory_journal.hpp"
#include "tests/sim/agents.hpp"
#include "tests/sim/faults.hpp"
#include "tests/sim/model.hpp"
#include "tests/sim/random.hpp"
#include "tests/sim/schedule.hpp"
#include "tests/sim/witness.hpp"
#include "tests/sim/world.hpp"

namespace ratchet::sim {

/// What the parts of a simulation share.
struct Simulation {
  explicit Simulation(std::uint64_t seed)
      : random(seed),
        schedule(random),
        faults(Faults::draw(random)),
        agent(draw_agent(random)),
        world(schedule, random, faults),
        model(random, faults) {}

  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  Random random;
  Schedule schedule;
  Faults faults;
  Agent agent;
  World world;
  Model model;
  MemoryJournal journal;
  Witness witness;
  bool chaos = true;  ///< false: faults are over, everything shall come to its end
  bool tracing = false;
  std::map<std::string, int> seen;  ///< how often what happened, by name

  Timestamp now() const { return schedule.now(); }

  Stamp stamp() { return {now(), Entropy(random.bytes())}; }

  bool fault(std::uint64_t permille) { return chaos && random.chance(permille); }

  template <class... Args>
  void trace(fmt::format_string<Args...> format, Args&&... args) {
    if (tracing)
      fmt::print(
          stderr, "{} {}\n", to_string(now()).substr(11), fmt::format(format, std::forward<Args>(args)...));
  }
};

struct Outcome {
  std::vector<std::string> complaints;  ///< empty: all is well
  Hash journal;                         ///< over all that was written
  std::map<std::string, int> seen;      ///< how often what happened, by name
  std::size_t events = 0;
};

/// Runs the seed to its end and checks everything. `tracing` prints what happens.
Outcome simulate(std::uint64_t seed, bool tracing);

/// What the hooks and the decision point say about a call, by the seed's mix of faults.
CallFacts draw_facts(Simulation& sim, const JudgeQuestion& question);
/// The same of a call of the model.
ModelFacts draw_model_facts(Simulation& sim);

}  // namespace ratchet::sim
