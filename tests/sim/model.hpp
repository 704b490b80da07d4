#pragma once
// A model that says anything a model can say, and providers that fail in every way they do.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/event/definitions.hpp"
#include "runtime/model/client.hpp"
#include "tests/sim/faults.hpp"

namespace ratchet::sim {

class Model {
 public:
  Model(Random& random, const Faults& faults) : random_(random), faults_(faults) {}

  /// What becomes of an attempt that announced these reservations. `artifacts` are those of its run.
  ModelOutcome answer(const RunId& run,
                      const ModelRequested& requested,
                      const std::vector<ArtifactId>& artifacts);

 private:
  ModelFailure fail();
  ModelReply note(const ModelRequested& requested);
  ModelReply reply(const RunId& run,
                   const ModelRequested& requested,
                   const std::vector<ArtifactId>& artifacts);
  ReplyBlock call(const RunId& run, const std::vector<ArtifactId>& artifacts);
  std::string arguments(const std::string& tool, const std::vector<ArtifactId>& artifacts);
  void count(ModelReply& reply, const ModelRequested& requested);

  Random& random_;
  const Faults& faults_;
  std::map<RunId, ReplyBlock> last_call_;
  std::uint64_t said_ = 0;
};

}  // namespace ratchet::sim
