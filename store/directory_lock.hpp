#pragma once
// `<data_dir>/LOCK`: one process at a time, and whether the last one stopped cleanly. The file is locked with
// flock(2), which the kernel gives up when the holder dies. While the store is open it names the holder; a
// clean close writes `closed` over the name. So a lock that can be had and names a process tells of an
// unclean stop.

#include <string>

#include "runtime/result.hpp"

namespace ratchet {

class DirectoryLock {
 public:
  /// Makes the directory where it is missing. Errors: store_unavailable, with the process that has it.
  static Result<DirectoryLock> take(const std::string& data_dir);
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  ~DirectoryLock();

  /// The one before died, or the machine did.
  bool unclean() const { return unclean_; }

  /// From here on a stop without `mark_closed` is unclean. Returns when durable. Errors: store_unavailable.
  Result<void> mark_open();
  void mark_closed();

 private:
  DirectoryLock(int fd, std::string path, bool unclean)
      : fd_(fd), path_(std::move(path)), unclean_(unclean) {}

  int fd_;
  std::string path_;
  bool unclean_;
};

}  // namespace ratchet
