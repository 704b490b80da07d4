#pragma once
// The files of runs. A run's /workspace survives its calls and its sandboxes: after a step that changed it a
// snapshot is taken, and a run that goes on elsewhere or later starts from exactly that snapshot. A snapshot
// is a manifest over a content-addressed store, named by the SHA-256 of the manifest: self-contained and
// verifiable.

#include <functional>
#include <optional>
#include <vector>

#include "runtime/hash.hpp"
#include "runtime/ids.hpp"
#include "runtime/result.hpp"

namespace ratchet {

/// Like those of `SandboxHost`, all functions return at once and call back on a thread of the host.
class Workspaces {
 public:
  virtual ~Workspaces() = default;

  using OnDone = std::function<void(Result<void>)>;
  using OnSnapshot = std::function<void(Result<Hash>)>;

  /// Makes the run's workspace ready to be leased: as the snapshot has it, or empty. One that is open already
  /// is closed first. Errors: corrupt (an object is missing or does not hash to its name),
  /// sandbox_unavailable.
  virtual void open(const RunId& run, std::optional<Hash> snapshot, OnDone done) = 0;

  /// Records the files as they are. Nothing may be running in the workspace meanwhile. Everything that the
  /// snapshot needs is durable when it is told; equal files give an equal hash. Cost follows what has changed
  /// since `open` or the last snapshot. Errors: workspace_refused (a bound of `runtime/limits.hpp`, or a file
  /// that cannot be recorded, with its path), sandbox_unavailable.
  virtual void snapshot(const RunId& run, OnSnapshot done) = 0;

  /// Forgets the files that no snapshot has. No sandbox may hold the workspace any more.
  virtual void close(const RunId& run, OnDone done) = 0;

  /// Removes every object that none of these snapshots needs, but for those made since this call began.
  virtual void sweep(std::vector<Hash> live, OnDone done) = 0;
};

}  // namespace ratchet
