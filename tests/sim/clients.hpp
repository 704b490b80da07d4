#pragma once
// Those who talk to the node: clients that start runs, send messages (some twice, under the same key), cancel
// and lose patience; and an operator who looks at calls in doubt and says what became of them, truthfully.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/node.hpp"
#include "tests/sim/simulation.hpp"

namespace ratchet::sim {

class Clients {
 public:
  Clients(Simulation& sim, Node& node) : sim_(sim), node_(node) {}

  /// Starts `count` runs, the first at once.
  void begin(std::uint64_t count);
  /// The operator's rounds, until the end of the simulation.
  void watch();
  /// Something that a client does now.
  void act();

  const std::vector<RunId>& runs() const { return runs_; }

 private:
  void start(std::uint64_t number);
  void send(const RunId& run, const input::Message& message, int patience);
  void round();
  void look_at(const RunRow& row);
  void look_at(const ApprovalRow& row);

  Simulation& sim_;
  Node& node_;
  std::vector<RunId> runs_;
  std::vector<std::pair<RunId, input::Message>> sent_;
  std::uint64_t messages_ = 0;
  int rounds_ = 0;
};

}  // namespace ratchet::sim
