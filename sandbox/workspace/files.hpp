#pragma once
// Files below a directory that somebody hostile wrote. Everything goes by descriptors and single names, never
// by paths: what a name leads to is looked at after it was opened, and links are never followed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/fd.hpp"

namespace ratchet::sandbox {

/// Opens one name in a directory: no link, no other mount, no waiting for a FIFO's other end. Not open: errno
/// says why. Source: openat2(2), RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV.
Fd open_beneath(int directory, const std::string& name, int flags);

/// A directory of ours, by its path.
Fd open_directory(const std::string& path);

/// The names in a directory but "." and "..", in order of their bytes. Returns an errno, or 0; EOVERFLOW:
/// there are more than `limits::workspace_files_max`, and these are some of them.
int list_names(int directory, std::vector<std::string>& names);

/// Returns an errno, or 0.
int read_link(int directory, const std::string& name, std::string& target);
int write_all(int fd, std::string_view bytes);

/// Gives `take` the bytes of a file, part by part, until `size` of them or its end. Returns how many there
/// were; -1: errno says why not.
std::int64_t read_parts(int fd, std::uint64_t size, const std::function<bool(std::string_view)>& take);

/// Of an open file. -1: errno says why not.
int set_mtime(int fd, std::int64_t mtime_ns);

/// Removes what a name leads to, and all that is in it, however deep; mounts in it stay and are an error.
/// Returns an errno, or 0; what is not there is removed already.
int remove_tree(int directory, const std::string& name);

/// For the text of an error.
std::string errno_text(int code);

/// Nanoseconds since 1970; of a time some three hundred years away, the last one that can be said. Who writes
/// a file may give it any time.
inline std::int64_t ns_of(const timespec& time) {
  constexpr std::int64_t second = 1'000'000'000, seconds_max = INT64_MAX / second - 1;
  return std::clamp<std::int64_t>(time.tv_sec, -seconds_max, seconds_max) * second + time.tv_nsec;
}

}  // namespace ratchet::sandbox
