#pragma once
// The files of runs on this machine: `<data_dir>/sandbox/objects/` keeps what snapshots need,
// `<data_dir>/sandbox/workspaces/<run>/` is there while a run's workspace is open.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/limits.hpp"
#include "runtime/log.hpp"
#include "runtime/sandbox/workspaces.hpp"

namespace ratchet {

struct LocalWorkspacesOptions {
  std::string data_dir;        ///< exists; only this process uses it
  std::int64_t tool_uid = -1;  ///< whose the files are, as the host counts; -1: whoever runs this process
  std::int64_t tool_gid = -1;
  /// In any directory of the workspace; see `sandbox/workspace/protection.hpp`, also for what stands here by
  /// default.
  std::vector<std::string> read_only_paths;
  std::uint64_t upper_bytes = limits::workspace_bytes_max;  ///< that a run may write while it is open
  bool overlay = true;                                      ///< false: copy, even where an overlay would do
  std::size_t threads = 2;
  Log log;  ///< of what nobody waits for

  LocalWorkspacesOptions();
};

class LocalWorkspaces final : public Workspaces {
 public:
  /// Puts aside what a dead process left, which is then removed by and by, and finds out whether overlays can
  /// be mounted. To be called in the mount namespace in which the mounts are to be. Errors:
  /// sandbox_unavailable; invalid_request, for a path that cannot be protected.
  static Result<std::unique_ptr<LocalWorkspaces>> open(const LocalWorkspacesOptions& options);
  /// Does what was asked for first, then closes what is open.
  ~LocalWorkspaces() override;

  void open(const RunId& run, std::optional<Hash> snapshot, OnDone done) override;
  void snapshot(const RunId& run, OnSnapshot done) override;
  void close(const RunId& run, OnDone done) override;
  void sweep(std::vector<Hash> live, OnDone done) override;

  /// The directory that is /workspace of a run; empty, where none is open. There are mounts in it: it is to
  /// be bound with MS_REC. From any thread.
  std::string directory(const RunId& run) const;

  /// What is not enforced here, for people. Empty: everything is.
  std::vector<std::string> weaker() const;

 private:
  class Impl;

  explicit LocalWorkspaces(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace ratchet
