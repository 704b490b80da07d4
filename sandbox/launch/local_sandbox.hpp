#pragma once
// What all sandboxes of this machine have in common, whichever program started them: a control group, a slot
// for /workspace, processes that are known, evidence.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sandbox/launch/cgroup.hpp"
#include "sandbox/launch/launcher.hpp"
#include "sandbox/launch/places.hpp"

namespace ratchet::sandbox {

struct LocalSandboxParts {
  std::string name;
  Places places;
  CgroupLayout cgroups;
  /// Added to a run's limits: what the sandbox's own kernel needs for itself.
  SandboxLimits own_needs = {0, 0, 0};
  unsigned tool = 1'000;  ///< the host's number of the user that commands run as
  /// The refused calls since it was asked last.
  std::function<SandboxEvidence()> evidence;
  /// Makes the runtime forget the sandbox, which is dead.
  std::function<Result<void>()> forget;
  /// Called when nothing is left of it.
  std::function<void()> gone = {};
};

class LocalSandbox final : public Launched {
 public:
  /// Makes its group, slot and directory of the bundle. Errors: sandbox_unavailable; nothing is left then.
  static Result<std::unique_ptr<LocalSandbox>> make(LocalSandboxParts parts);

  Result<void> lease(const SandboxLease& lease, const std::string& workspace_directory) override;

  Result<void> freeze() override { return cgroup_.freeze(); }

  Result<void> thaw() override { return cgroup_.thaw(); }

  void kill() override;
  std::uint64_t memory_deaths() override;

  SandboxEvidence take_evidence() override { return parts_.evidence(); }

  Result<void> destroy() override;

  const Cgroup& cgroup() const { return cgroup_; }

  const LocalSandboxParts& parts() const { return parts_; }

  /// The sandbox has started: finds those of its processes that are ours to wait for. `known` are some of it,
  /// ours or not.
  void find_processes(std::vector<pid_t> known);

 private:
  LocalSandbox(LocalSandboxParts parts, Cgroup cgroup)
      : parts_(std::move(parts)), cgroup_(std::move(cgroup)) {}

  void reap();

  LocalSandboxParts parts_;
  Cgroup cgroup_;
  std::mutex mutex_;                              ///< guards the next: `kill` comes at any time
  std::vector<Fd> processes_;                     ///< pidfds
  std::atomic<std::uint64_t> memory_deaths_ = 0;  ///< as they were at the last `kill`
};

/// Kills and removes whatever there is of a sandbox but for what its runtime remembers. Errors:
/// sandbox_unavailable, with what is left.
Result<void> remove_remains(const Places& places, const CgroupLayout& cgroups, std::string_view name);

}  // namespace ratchet::sandbox
