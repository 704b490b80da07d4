#pragma once
// The log of a gVisor kernel, in which it names the system calls that it does not have.

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/sandbox/command.hpp"

namespace ratchet::sandbox {

/// The names in lines like "… compat.go:120] Unsupported syscall bpf(0x0,…)": complete lines only. Pure.
std::vector<std::string> unsupported_calls(std::string_view text);

/// Of one sandbox. Any thread.
class GvisorLog {
 public:
  explicit GvisorLog(std::string directory) : directory_(std::move(directory)) {}

  /// What was added since it was asked last. gVisor names a call once, however often it is tried.
  /// Calls that are allowed in tier 2 are not evidence of anything.
  SandboxEvidence take();

 private:
  std::mutex mutex_;
  std::string directory_, file_;
  std::uint64_t read_ = 0;
};

}  // namespace ratchet::sandbox
