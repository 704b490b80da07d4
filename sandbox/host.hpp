#pragma once
// The sandboxes of this machine: one thread for all their pipes and deadlines, some for what blocks.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/ids.hpp"
#include "runtime/limits.hpp"
#include "runtime/sandbox/host.hpp"

namespace ratchet {

namespace sandbox {
class Egress;
class Launcher;
}  // namespace sandbox

struct SandboxHostOptions {
  std::string
      node;  ///< in the names of its sandboxes: ratchet-<node>-<number>; never that of an earlier host
  /// By tier. A tier without one is not available.
  std::map<std::uint32_t, std::shared_ptr<sandbox::Launcher>> launchers;
  /// The directory of the host where the run's open workspace is mounted; empty: it is not open. From any
  /// thread.
  std::function<std::string(const RunId&)> workspace_of;
  std::shared_ptr<sandbox::Egress> egress;
  std::int64_t create_timeout_ms = limits::sandbox_create_timeout_ms;
  std::int64_t kill_grace_ms = limits::sandbox_kill_grace_ms;
  /// After so long between two commands a sandbox is frozen: an idle gVisor would take 3 % of a core.
  std::int64_t idle_freeze_ms = limits::sandbox_idle_freeze_ms;
};

class LocalSandboxHost final : public SandboxHost {
 public:
  explicit LocalSandboxHost(SandboxHostOptions options);
  /// Destroys all that is left; callbacks that are due are called before.
  ~LocalSandboxHost() override;

  TierStatus tier(std::uint32_t tier) const override;
  void create(std::uint32_t tier, OnCreated done) override;
  void lease(SandboxId id, SandboxLease lease, OnDone done) override;
  void run(SandboxId id, SandboxCommand command, OnOutput on_output, OnEnd on_end) override;
  void kill(SandboxId id) override;
  void destroy(SandboxId id, OnDone done) override;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace ratchet
