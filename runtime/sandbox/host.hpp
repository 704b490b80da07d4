#pragma once
// The machine's sandboxes. Implemented by `sandbox/`; driven by the pool and the sandbox actors, which decide
// when one is made, whose it is and when it goes. A sandbox is leased once, to one run, and never to another.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ids.hpp"
#include "runtime/result.hpp"
#include "runtime/sandbox/command.hpp"

namespace ratchet {

using SandboxId = std::uint64_t;  ///< of this process; never reused

/// What one tier can do on this machine, as it was probed at the start.
struct TierStatus {
  bool available = false;
  std::string runtime;              ///< "crun 1.8.1"; empty where there is none
  std::string why;                  ///< it is not available
  std::vector<std::string> weaker;  ///< what is not enforced here: "memory: no cgroup can be written"
};

/// For whom a sandbox is from now on, and what it may do.
struct SandboxLease {
  RunId run;
  SandboxLimits limits;
  std::vector<std::string> network_allow;    ///< host:port; empty: no way out at all
  Filesystem filesystem = Filesystem::none;  ///< workspace: the run's is open (`Workspaces::open`)

  bool operator==(const SandboxLease&) const = default;
};

/// All functions are called from any thread and return at once. What they are given to call is called once,
/// on a thread of the host, and must not block.
class SandboxHost {
 public:
  virtual ~SandboxHost() = default;

  /// 2 or 3. Does not change after the start.
  virtual TierStatus tier(std::uint32_t tier) const = 0;

  using OnCreated = std::function<void(Result<SandboxId>)>;
  using OnDone = std::function<void(Result<void>)>;
  using OnOutput = std::function<void(std::string_view)>;
  using OnEnd = std::function<void(SandboxEnd)>;

  /// Starts a sandbox that belongs to nobody and rests, frozen, until it is leased.
  /// Errors: sandbox_unavailable.
  virtual void create(std::uint32_t tier, OnCreated done) = 0;

  /// Gives it to a run. Errors: sandbox_unavailable; it is then to be destroyed.
  virtual void lease(SandboxId id, SandboxLease lease, OnDone done) = 0;

  /// One command at a time. When it ends nothing of it is left running. `on_output` gets what is written, as
  /// it comes, for previews. After any end but `exited`, `signalled` and `not_started` the sandbox takes no
  /// further command and is to be destroyed.
  virtual void run(SandboxId id, SandboxCommand command, OnOutput on_output, OnEnd on_end) = 0;

  /// Ends the command under way, if there is one: it is told as `killed`.
  virtual void kill(SandboxId id) = 0;

  /// Nothing of it is left afterwards: no process, mount, cgroup or directory. Whatever is under way in it
  /// ends first, as `lost`. Errors: sandbox_unavailable, with what could not be removed; it is tried again at
  /// the next start.
  virtual void destroy(SandboxId id, OnDone done) = 0;
};

}  // namespace ratchet
