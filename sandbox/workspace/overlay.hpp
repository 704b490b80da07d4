#pragma once
// An overlay over a restored tree: what is written goes to a layer of its own, bounded in size and number of
// files, and the objects below stay as they are. Mounts are made in the mount namespace of this process.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/workspace/objects.hpp"

namespace ratchet::sandbox {

/// The directory of one run's workspace, and what is in it.
struct WorkspacePlaces {
  std::string directory;

  std::string lower() const { return directory + "/lower"; }

  std::string upper() const { return directory + "/upper"; }

  /// What /workspace leads to.
  std::string merged() const { return directory + "/merged"; }
};

struct UpperBounds {
  std::uint64_t bytes = 0;   ///< a write beyond gets ENOSPC
  std::uint64_t inodes = 0;  ///< likewise
};

/// Makes `upper` and `merged`, and mounts them. Errors: sandbox_unavailable, with the mount that failed.
Result<void> mount_overlay(const WorkspacePlaces& places, UpperBounds bounds, FileOwner owner);

/// Makes these paths of `merged` read-only, each of which is a file or a directory there, and holds their
/// parents in place, so that nobody gives one another name and makes a new one. Errors: sandbox_unavailable.
Result<void> mount_read_only(const WorkspacePlaces& places, const std::vector<std::string>& paths);

/// The overlay's root without the mounts in it, for a walk. Errors: sandbox_unavailable.
Result<Fd> open_merged(const WorkspacePlaces& places);

/// Takes away what is mounted there, if anything is; processes that hold it lose it later. Returns an errno,
/// or 0.
int unmount(const WorkspacePlaces& places);

}  // namespace ratchet::sandbox
