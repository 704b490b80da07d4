#pragma once
// The log of a gVisor kernel, in which it names the system calls that it does not have.

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "runtime/sandbox/command.hpp"
#include "sandbox/launch/places.hpp"

namespace ratchet::sandbox {

/// The names in lines like "… compat.go:120] Unsupported syscall bpf(0x0,…)": complete lines only. Pure.
std::vector<std::string> unsupported_calls(std::string_view text);

/// Makes the directory of a sandbox's log, with a file system of its own: what a tool makes gVisor say is
/// bounded in bytes, and the rest of it lost. Errors: sandbox_unavailable.
Result<void> mount_log(const Places& places, std::string_view name);
/// What was never mounted is unmounted. Errors: sandbox_unavailable.
Result<void> unmount_log(const Places& places, std::string_view name);

/// Of one sandbox. Any thread.
class GvisorLog {
 public:
  explicit GvisorLog(std::string directory) : directory_(std::move(directory)) {}

  /// What was added since it was asked last. Reads the whole of it, and so blocks. gVisor names a call once,
  /// however often it is tried. Calls that are allowed in tier 2 are not evidence of anything.
  SandboxEvidence take();

 private:
  std::mutex mutex_;
  std::string directory_, file_;
  std::uint64_t read_ = 0;
};

}  // namespace ratchet::sandbox
