#pragma once
// Control groups, which are ours and not the runtimes': one way to limit, count, freeze and kill for all of
// them. Version 1 has a directory per controller, version 2 one for all; a `Cgroup` is the directories that a
// sandbox has, whichever they are.
// Sources: Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst of Linux.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/sandbox/command.hpp"
#include "sandbox/fd.hpp"

namespace ratchet::sandbox {

enum class Controller { memory, pids, cpu, freezer };

/// Where the groups of sandboxes are made on this machine.
struct CgroupLayout {
  enum class Version { none, v1, v2 } version = Version::none;
  /// Version 1: the directory of each controller, empty where there is none. Version 2: all the same.
  std::array<std::string, 4> folders = {};
  /// The folders' own path within their hierarchy; empty at the top.
  std::string within = {};
  /// What cannot be enforced, for people: "memory: …".
  std::vector<std::string> missing = {};

  const std::string& folder(Controller controller) const {
    return folders[static_cast<std::size_t>(controller)];
  }

  bool operator==(const CgroupLayout&) const = default;
};

/// What the mounts of a process say, with the text of /proc/self/mountinfo. Pure.
/// Paths of version 1 come first: a version 2 mount beside it has none of these controllers.
CgroupLayout parse_cgroup_mounts(std::string_view mountinfo);

/// That, and whether groups can really be made there; version 2 gets its controllers enabled. `own` is the
/// text of /proc/self/cgroup: where the top of version 2 is not ours, the node's own group may be.
CgroupLayout find_cgroups(std::string_view mountinfo, std::string_view own);
/// Of this process.
CgroupLayout find_cgroups();

/// The group of one sandbox. Functions may be called from any thread; `memory_deaths` never blocks.
class Cgroup {
 public:
  /// Makes it, without limits. Errors: sandbox_unavailable.
  static Result<Cgroup> make(const CgroupLayout& layout, std::string_view name);
  /// One that is there, at least partly.
  static Cgroup existing(const CgroupLayout& layout, std::string_view name);

  /// Open `cgroup.procs` files: who writes 0 into each is in. Errors: sandbox_unavailable.
  Result<std::vector<Fd>> entrances() const;

  /// May be called again, with more or less. Errors: sandbox_unavailable (the kernel refuses, as with less
  /// memory than is in use).
  Result<void> limit(const SandboxLimits& limits) const;

  /// Returns when all have stopped, or after a second: the kernel then stops the rest when it can.
  /// Errors: sandbox_unavailable.
  Result<void> freeze() const;
  Result<void> thaw() const;

  /// How many processes the kernel has killed in it for memory.
  std::uint64_t memory_deaths() const;

  /// Who is in it.
  std::vector<pid_t> processes() const;

  /// Kills all that is in it, frozen or not, until nothing is. Bounded by `timeout_ms`. True when it is
  /// empty.
  bool kill(std::int64_t timeout_ms) const;

  /// Errors: sandbox_unavailable (something is in it). Nothing there is a success.
  Result<void> remove() const;

 private:
  Cgroup(CgroupLayout layout, std::string name) : layout_(std::move(layout)), name_(std::move(name)) {}

  std::string path(Controller controller) const;
  /// Each once.
  std::vector<std::string> paths() const;
  Result<void> write(Controller controller, std::string_view file, std::string_view text) const;
  Result<void> limit_memory(std::uint64_t bytes) const;
  void kill_once() const;

  CgroupLayout layout_;
  std::string name_;
};

/// The names of all groups that begin with `prefix`, each once.
std::vector<std::string> cgroups_named(const CgroupLayout& layout, std::string_view prefix);

}  // namespace ratchet::sandbox
