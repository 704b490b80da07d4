#pragma once
// The other side of the tools: services that execute requests, remember idempotency keys for as long as the
// manifest says, answer status checks truthfully, and count every effect. A crash of the node does not touch
// them: a request that has left arrives.
//
// One assumption is the manifest's own promise: a request arrives within half of its tool's timeout, or
// never.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/tools/connector.hpp"
#include "runtime/tools/manifest.hpp"
#include "tests/sim/faults.hpp"
#include "tests/sim/schedule.hpp"

namespace ratchet::sim {

class World {
 public:
  using Reply = std::function<void(ConnectorOutcome)>;

  World(Schedule& schedule, Random& random, const Faults& faults)
      : schedule_(schedule), random_(random), faults_(faults) {}

  /// A call under its key. `reply` is called once, whatever happens on the way.
  void call(const ToolManifest& tool, const std::string& key, Reply reply);
  /// The question what became of the call under this key.
  void check(const ToolManifest& tool, const std::string& key, Reply reply);

  /// How many times the call under this key has had its effect.
  int effects(const std::string& key) const;
  /// All keys that had more than one.
  std::vector<std::string> repeated() const;

 private:
  struct Done {
    int effects = 0;
    Timestamp first_at;
    std::string result;
  };

  void travel(const ToolManifest& tool, std::function<ConnectorOutcome()> arrive, Reply reply);
  ConnectorOutcome execute(const ToolManifest& tool, const std::string& key);
  std::string make_result(const ToolManifest& tool);
  std::int64_t latency_us(const ToolManifest& tool);

  Schedule& schedule_;
  Random& random_;
  const Faults& faults_;
  std::map<std::string, Done> done_;
  std::uint64_t results_ = 0;
};

}  // namespace ratchet::sim
