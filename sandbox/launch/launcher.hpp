#pragma once
// How the sandboxes of one tier begin and end: by an OCI runtime, by bubblewrap, in a virtual machine. A
// launcher puts the guest (`sandbox/guest`) behind a pair of pipes and has power over it from outside. What
// is said on the pipes is not its business, and nothing that is said there can weaken what it enforces.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "runtime/sandbox/command.hpp"
#include "runtime/sandbox/host.hpp"
#include "sandbox/fd.hpp"

namespace ratchet::sandbox {

/// One sandbox, from its start to the end of `destroy`. The functions may block, and are called on worker
/// threads, one after the other; but `memory_deaths` comes from any thread at any time and must not block,
/// and `kill` may come while another one is under way (and then makes it end).
class Launched {
 public:
  /// Without `destroy` before it nothing is removed, as if the node had crashed.
  virtual ~Launched() = default;

  /// Puts the lease's limits on and mounts its files where /workspace leads: with Filesystem::workspace that
  /// is `workspace_directory`, a directory of the host, which else is empty. The network is not its business.
  /// Called once, while it rests. Errors: sandbox_unavailable.
  virtual Result<void> lease(const SandboxLease& lease, const std::string& workspace_directory) = 0;

  /// Stops and continues all that runs in it. Errors: sandbox_unavailable.
  virtual Result<void> freeze() = 0;
  virtual Result<void> thaw() = 0;

  /// Ends everything in it, frozen or not, process 1 too; returns when nothing is left.
  virtual void kill() = 0;

  /// How many of its processes the kernel has killed for memory, since its start. Remains known after `kill`.
  virtual std::uint64_t memory_deaths() = 0;

  /// The refused system calls since it was asked last. The host adds the connections.
  virtual SandboxEvidence take_evidence() = 0;

  /// Removes it and all that is its: processes, mounts, groups, directories. Called once, last. Bounded by
  /// limits::sandbox_destroy_timeout_ms, then by force. Errors: sandbox_unavailable, with what is left.
  virtual Result<void> destroy() = 0;
};

struct Started {
  /// The host's ends of the pipes that are the guest's standard input and output, close-on-exec. No other
  /// process holds these ends, so that a dead host is an end of file to the guest, and the other way round.
  Fd to_guest, from_guest;
  std::unique_ptr<Launched> sandbox;
  /// The guest has to bound the number of processes itself, since the host's bound would hit its kernel
  /// (gVisor); else limits are from outside only.
  bool pids_inside = false;
};

/// One of a tier. Called from any thread.
class Launcher {
 public:
  virtual ~Launcher() = default;

  /// As it was probed when this was made.
  virtual TierStatus status() const = 0;

  /// Blocks until the runtime has started the guest, detached; what the guest says then is read by the
  /// caller. `name` is unique on the machine and fit for a path: ratchet-<node>-<start>-<number>. Bounded by
  /// limits::sandbox_create_timeout_ms. Errors: sandbox_unavailable; then nothing is left of it.
  virtual Result<Started> start(std::string_view name) = 0;
};

}  // namespace ratchet::sandbox
