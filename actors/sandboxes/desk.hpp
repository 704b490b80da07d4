#pragma once
// The actor that knows which run has a workbench: it makes them, ends them when they are empty, and answers
// for one that fails.

#include <cstdint>
#include <functional>
#include <memory>

#include "actors/caf.hpp"
#include "actors/sandboxes/parts.hpp"
#include "actors/sandboxes/workbench.hpp"

namespace ratchet {

struct BenchRelease {
  RunId run;
};

/// Ends everything. `done` is called when no sandbox is left.
struct CloseDesk {
  std::function<void()> done;
};

/// It takes `DoJob`, `StopJob`, `BenchRelease` and `CloseDesk`, and tells the end of each job through
/// `on_end`, on a scheduler thread.
caf::actor spawn_sandbox_desk(caf::actor_system& system,
                              SandboxParts& parts,
                              std::size_t warm_tier2,
                              std::size_t warm_tier3,
                              std::function<void(std::uint64_t ticket, CallEnd end)> on_end);

}  // namespace ratchet

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::BenchRelease)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::CloseDesk)
