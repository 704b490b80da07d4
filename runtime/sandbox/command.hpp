#pragma once
// One command in a sandbox, and how it can end.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/enums.hpp"

namespace ratchet {

/// What /workspace is to a tool. none: there is none to write to.   ephemeral: an empty one, lost with the
/// sandbox.   workspace: the run's, with a snapshot after each call that changed it.
RATCHET_ENUM(Filesystem, none, ephemeral, workspace)

/// What a sandbox may use of the machine.
struct SandboxLimits {
  std::uint32_t memory_mb = 512;
  std::uint32_t cpu_permille = 1'000;  ///< of one core
  std::uint32_t pids = 64;

  auto operator<=>(const SandboxLimits&) const = default;
};

/// Where the guest stands in every sandbox: the program that is its process 1, and that has the file tools
/// (`read`, `write`, `edit`, `list`) as subcommands.
inline constexpr std::string_view guest_program = "/sbx/guest";

struct SandboxCommand {
  std::vector<std::string> argv;  ///< an absolute path first; never through a shell of ours
  std::string input;              ///< its standard input, whole
  std::string directory = "/workspace";
  bool one_stream = false;  ///< standard error goes where standard output goes, in the order it was written
  std::int64_t timeout_ms = 10'000;
  std::size_t output_bytes_max = 0;  ///< of both streams together; at more the command is killed
};

/// What the wall held back during a command. Counts are of everything, names of the first few.
struct SandboxEvidence {
  std::uint32_t refused_connections = 0;
  std::vector<std::string> refused_hosts;  ///< host:port
  std::uint32_t refused_syscalls = 0;
  std::vector<std::string> syscalls;

  bool operator==(const SandboxEvidence&) const = default;

  bool empty() const { return *this == SandboxEvidence{}; }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "refused_connections", self.refused_connections);
    visit(2, "refused_hosts", self.refused_hosts);
    visit(3, "refused_syscalls", self.refused_syscalls);
    visit(4, "syscalls", self.syscalls);
  }
};

/// exited: by itself, `code` is its exit status.   signalled: by a signal of its own making, `code`.
/// timed_out: killed at its deadline.   out_of_memory: the kernel killed one of its processes for memory.
/// too_much_output: killed at `output_bytes_max`.   killed: by `SandboxHost::kill`.
/// lost: the sandbox ended under it.   not_started: the program could not be executed; `code` is the errno.
struct SandboxEnd {
  enum class Kind {
    exited,
    signalled,
    timed_out,
    out_of_memory,
    too_much_output,
    killed,
    lost,
    not_started
  } kind = Kind::lost;
  int code = 0;
  std::string out = {},
              err = {};  ///< bytes as they came, not checked for anything; at most `output_bytes_max`
  std::int64_t wall_ms = 0, cpu_ms = 0;
  SandboxEvidence evidence = {};
  std::string why = {};  ///< for people, where the sandbox was lost
};

}  // namespace ratchet
