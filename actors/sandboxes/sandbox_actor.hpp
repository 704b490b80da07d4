#pragma once
// One sandbox as an actor, from its start until nothing is left of it. It belongs to the pool until it is
// warm, then to the workbench that took it; when that one ends, however it ends, the sandbox ends too.

#include <memory>

#include "actors/caf.hpp"
#include "actors/sandboxes/parts.hpp"

namespace ratchet {

// --- what it is told

/// From now on it is this workbench's.
struct BelongTo {
  caf::actor holder;
};

struct LeaseSandbox {
  std::shared_ptr<const SandboxLease> lease;
};

struct RunInSandbox {
  std::shared_ptr<const SandboxCommand> command;
  SandboxHost::OnOutput on_output = {};
};

/// In any state: what runs in it ends, then it does.
struct EndSandbox {};

// --- what it tells: the pool, that it is warm or could not be started; its holder, the rest. That it is gone
// is seen by whoever monitors it.

struct SandboxWarm {
  caf::actor sandbox;
};

struct SandboxFailed {
  caf::actor sandbox;
  std::string why;
};

struct SandboxLeased {
  caf::actor sandbox;
  std::shared_ptr<const Result<void>> result;
};

struct CommandEnded {
  caf::actor sandbox;
  std::shared_ptr<SandboxEnd> end;
};

caf::actor spawn_sandbox(caf::actor_system& system,
                         SandboxParts& parts,
                         std::uint32_t tier,
                         const caf::actor& pool);

}  // namespace ratchet

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::BelongTo)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::LeaseSandbox)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::RunInSandbox)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::EndSandbox)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::SandboxWarm)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::SandboxFailed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::SandboxLeased)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::CommandEnded)
