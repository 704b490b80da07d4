#pragma once
// Recording a workspace: a walk over files that somebody hostile wrote, as they are. Symbolic links are
// written down and never followed; FIFOs, sockets and devices are passed over; a file that changes, or a
// directory that turns into something else meanwhile, is refused.
//
// A file's hash is taken over from the record before where nothing that the kernel keeps of it has changed.
// The one who writes it can set its size and its mtime, but not its ctime.

#include <cstdint>
#include <optional>
#include <sys/stat.h>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/workspace/manifest.hpp"
#include "sandbox/workspace/objects.hpp"

namespace ratchet::sandbox {

/// What the kernel says of a file; equal only as long as nobody has written to it.
struct FileStamp {
  std::uint64_t inode = 0, size = 0;
  std::int64_t mtime_ns = 0, ctime_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

FileStamp stamp_of(const struct stat& status);

/// The kernel's clock for ctime. What is written to a file from now on gets no ctime before this.
std::int64_t ctime_now_ns();

struct Record {
  Manifest manifest;
  /// Of each entry that is a file. Nothing: it may have changed without a trace. A file whose ctime is as
  /// recent as the clock's last tick is such a one.
  std::vector<std::optional<FileStamp>> stamps;
};

/// The files below `root`, in the order of a manifest. New contents are added to `use`, which the caller
/// commits; all contents are named there. Errors: workspace_refused, with the path; sandbox_unavailable.
Result<Record> record_files(int root, const Record& before, const Objects& objects, Objects::Use& use);

}  // namespace ratchet::sandbox
