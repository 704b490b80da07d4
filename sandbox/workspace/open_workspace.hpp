#pragma once
// One run's workspace while it is open: made as a snapshot has it, recorded, taken away.

#include <memory>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/workspace/objects.hpp"
#include "sandbox/workspace/overlay.hpp"
#include "sandbox/workspace/record.hpp"

namespace ratchet::sandbox {

/// What all workspaces of a node have in common. Outlives them.
struct WorkspaceMeans {
  Objects& objects;
  bool overlay;  ///< false: files are copied
  UpperBounds bounds;
  std::vector<std::string> protected_paths;
};

/// One thread at a time. It goes away with `close` only: whoever forgets that leaves its files to the next
/// start.
class OpenWorkspace {
 public:
  /// `directory` must not exist. Without a snapshot it is empty. Where it fails nothing is left of it.
  /// Errors: corrupt, sandbox_unavailable.
  static Result<std::unique_ptr<OpenWorkspace>> open(const std::string& directory,
                                                     Manifest manifest,
                                                     const WorkspaceMeans& means);

  /// Adds to `use` what the snapshot needs, commits it, and returns the snapshot's name. Errors:
  /// workspace_refused, sandbox_unavailable.
  Result<Hash> snapshot(Objects::Use& use);

  /// Unmounts and removes the directory of a workspace, open or left by a dead process. Errors:
  /// sandbox_unavailable.
  static Result<void> remove(const std::string& directory);

 private:
  OpenWorkspace(WorkspacePlaces places, const WorkspaceMeans& means)
      : places_(std::move(places)), means_(means) {}

  Result<void> restore(Manifest manifest);

  const WorkspacePlaces places_;
  const WorkspaceMeans& means_;
  Record last_;         ///< what was restored, then what was recorded
  Manifest protected_;  ///< what was restored: protected paths stay as they were then
};

}  // namespace ratchet::sandbox
