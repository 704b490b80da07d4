#pragma once
// What a run that replays another one is, in its `run.started`: which run, from where, and what is changed.

#include <cstdint>

#include "runtime/content.hpp"
#include "runtime/enums.hpp"
#include "runtime/ids.hpp"

namespace ratchet {

/// recorded: a call is answered from the record where it matches. live: it is executed, where its class and
/// the server allow that.
RATCHET_ENUM(ReplayTools, recorded, live)

/// What the caller chose against the randomness of models.
RATCHET_ENUM(Nondeterminism, pin_seed, temperature_0, accept_divergence)

struct ReplayOrigin {
  RunId run_id;                 ///< the run that is replayed
  std::uint32_t from_step = 1;  ///< the first live step
  ReplayTools tools = ReplayTools::recorded;
  Nondeterminism nondeterminism = Nondeterminism::accept_divergence;
  Json patch{"{}"};  ///< as it was asked for, canonical

  bool operator==(const ReplayOrigin&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "run_id", self.run_id);
    visit(2, "from_step", self.from_step);
    visit(3, "tools", self.tools);
    visit(4, "nondeterminism", self.nondeterminism);
    visit(5, "patch", self.patch);
  }
};

}  // namespace ratchet
