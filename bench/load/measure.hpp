#pragma once
// What the kernel says of a process, of a directory and of the machine.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>

namespace ratchet::bench {

struct ProcessSample {
  double cpu_seconds = 0;  ///< user and system, /proc/<pid>/stat (10 ms steps)
  std::uint64_t rss_peak_bytes = 0;
  std::uint64_t rss_bytes = 0;
  std::uint64_t anonymous_bytes = 0;  ///< /proc/<pid>/smaps_rollup: without the mapped database
};

/// Throws std::runtime_error if the process is gone.
ProcessSample sample_process(pid_t pid);

/// What the files below `directory` occupy (st_blocks), not what they claim to be long.
std::uint64_t disk_bytes(const std::filesystem::path& directory);

/// What the block device below `directory` has written since it came up, whoever wrote it: /sys/dev/block.
/// (The `write_bytes` of a process count each folio of the page cache that a page of it dirties, many times
/// too much.) Nothing where the file system is not of one device.
std::optional<std::uint64_t> device_written_bytes(const std::filesystem::path& directory);

struct Machine {
  unsigned cores = 0;
  std::string cpu, kernel, file_system;
  double fdatasync_us = 0;  ///< median of 4 KB writes, each made durable, while nothing else runs
};

/// `directory`: where the data will be.
Machine look_at_machine(const std::filesystem::path& directory);

}  // namespace ratchet::bench
