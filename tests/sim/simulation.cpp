#include "tests/sim/simulation.hpp"

#include "tests/sim/checks.hpp"
#include "tests/sim/clients.hpp"
#include "tests/sim/node.hpp"

namespace ratchet::sim {

namespace {

/// More tasks than this mean that something runs in circles.
constexpr int tasks_max = 200'000;

/// What clients and bad luck do, spread over the first minute.
void plan_chaos(Simulation& sim, Node& node, Clients& clients) {
  const std::int64_t length_us = sim.random.between(5'000'000, 60'000'000);
  for (std::uint64_t i = 0, count = sim.random.below(25); i < count; ++i)
    sim.schedule.after_us(sim.random.between(0, length_us), [&clients] { clients.act(); });
  if (sim.faults.crashes_max > 0) {
    for (std::uint64_t i = 0, count = sim.random.below(3); i < count; ++i)
      sim.schedule.after_us(sim.random.between(0, length_us), [&node] { node.crash(); });
    if (sim.random.chance(200))
      sim.schedule.after_us(sim.random.between(0, length_us), [&node] { node.drain(); });
  }
  sim.schedule.after_us(length_us, [&sim] {
    sim.trace("chaos ends");
    sim.chaos = false;
  });
}

Hash digest(Simulation& sim) {
  Sha256 hash;
  for (const auto& [run, told] : sim.witness.runs()) {
    hash.add(run.ulid.view());
    for (const Record& record : told.records)
      hash.add(encode(record));
  }
  return hash.finish();
}

}  // namespace

Outcome simulate(std::uint64_t seed, bool tracing) {
  Simulation sim(seed);
  sim.tracing = tracing;
  Node node(sim);
  Clients clients(sim, node);
  node.boot();
  clients.begin(1 + sim.random.below(sim.random.chance(200) ? 8 : 3));
  clients.watch();
  plan_chaos(sim, node, clients);
  int tasks = 0;
  while (tasks < tasks_max && sim.schedule.step())
    ++tasks;
  if (tasks == tasks_max) sim.witness.complain("it runs in circles");
  check_everything(sim);

  Outcome outcome;
  outcome.complaints = sim.witness.complaints();
  outcome.journal = digest(sim);
  outcome.crashes = node.crashes();
  for (const auto& [run, told] : sim.witness.runs()) {
    outcome.events += told.events.size();
    if (told.events.empty()) continue;
    if (const auto* finished = std::get_if<RunFinished>(&told.events.back().payload))
      ++outcome.ends[finished->stop_reason];
  }
  return outcome;
}

}  // namespace ratchet::sim
