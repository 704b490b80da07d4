#pragma once
// The warm sandboxes of one tier, as an actor: once one was needed it keeps some started ahead, hands them
// out in the order in which they were asked for, and starts more when there are not enough. A sandbox that
// was handed out never comes back.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "actors/caf.hpp"
#include "actors/sandboxes/parts.hpp"

namespace ratchet {

/// Asked by a workbench; answered with `SandboxTaken`, in order.
struct TakeSandbox {
  caf::actor holder;
};

/// Of the `TakeSandbox` of this holder, one is not wanted any more. It may have been answered already.
struct ForgetTake {
  caf::actor holder;
};

/// Told to holders while others wait and no further sandbox may be started: what lies idle is to be ended.
struct GiveBackIdle {
  std::uint32_t tier = 0;
};

/// The holder monitors it, and ends it when it does not need it any more.
struct SandboxTaken {
  std::uint32_t tier = 0;
  std::shared_ptr<const Result<caf::actor>> sandbox;
};

/// Hand out nothing more, end what is warm. `done` is called when no sandbox of the tier is left.
struct ClosePool {
  std::function<void()> done;
};

/// `warm_wanted`: how many are kept started ahead.
caf::actor spawn_sandbox_pool(caf::actor_system& system,
                              SandboxParts& parts,
                              std::uint32_t tier,
                              std::size_t warm_wanted);

}  // namespace ratchet

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::TakeSandbox)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::ForgetTake)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::GiveBackIdle)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::SandboxTaken)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::ClosePool)
