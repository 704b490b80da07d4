#pragma once
// What one run has of sandboxes, as an actor: its workspace, the sandboxes that were leased to it, and its
// calls under way. Calls that use the workspace run one after the other; the rest side by side, each in a
// sandbox of its own. Everything is given back when the run rests.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "actors/caf.hpp"
#include "actors/sandboxes/parts.hpp"
#include "runtime/tools/sandbox_tools.hpp"

namespace ratchet {

struct SandboxJob {
  std::uint64_t ticket = 0;
  RunId run;
  std::shared_ptr<const ToolManifest> tool;
  SandboxCommand command;
  std::optional<Hash>
      workspace;  ///< the snapshot it starts from, where its tool uses one; none: no files yet
  std::vector<WorkspaceFile> files;  ///< put there first, where there are none yet
  SandboxHost::OnOutput on_output;   ///< of the command; none: nobody looks
};

// --- what it is told

struct DoJob {
  std::shared_ptr<const SandboxJob> job;
};

/// Nobody waits for the job any more. `gone` is called when nothing of it is left running.
struct StopJob {
  std::uint64_t ticket = 0;
  std::function<void()> gone;
};

/// The run rests: whatever it has is given back.
struct ReleaseBench {};

/// Told only to a bench that has said that it is empty, and has been given nothing since.
struct CloseBench {};

// --- what it tells its desk

struct JobEnded {
  std::uint64_t ticket = 0;
  std::shared_ptr<CallEnd> end;
};

struct BenchEmpty {
  RunId run;
  std::uint64_t seen = 0;  ///< how many messages it has been sent so far
};

/// `pools`: of the tiers 2 and 3.
caf::actor spawn_workbench(caf::actor_system& system,
                           SandboxParts& parts,
                           const std::array<caf::actor, 2>& pools,
                           const RunId& run,
                           const caf::actor& desk);

}  // namespace ratchet

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::DoJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::StopJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::ReleaseBench)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::CloseBench)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::JobEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::BenchEmpty)
