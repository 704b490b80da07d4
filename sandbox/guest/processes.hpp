#pragma once
// How a command becomes a process without any power, and how everything that is left of it is ended.

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ratchet::guest {

/// sandbox: process 1 of a PID namespace; commands run as another user.
/// same_user: likewise, but only one user is mapped there.
/// plain: an ordinary process, for tests; commands are its descendants, and nothing about them is changed.
enum class Mode { sandbox, same_user, plain };

struct Identity {
  Mode mode = Mode::sandbox;
  uid_t uid = 1000;  ///< and group, of commands
};

/// Called once, at the start. Ends the guest where what the mode asks for is not so.
void prepare(const Identity& identity);

/// Bounds the number of processes of commands from inside, by a pids controller. For gVisor, where the host's
/// bound counts threads of the kernel and reaching it ends the sandbox. Ends the guest if it cannot be done.
void bound_processes(std::uint32_t count);

/// A pipe that belongs to the commands' user, so that they can open /dev/stdout. Errors: false, with errno.
bool make_pipe(const Identity& identity, int ends[2]);

struct Spawn {
  std::vector<std::string> words;
  std::vector<std::string> environment;
  std::string directory;
  int in = -1, out = -1, error = -1;  ///< above 2
};

/// The process, or minus the errno of what failed: the directory, the program, the identity.
pid_t spawn_process(const Identity& identity, const Spawn& what);

/// Ends every process but the guest, whatever it did to its group, session or parent; returns when none is
/// left and all are reaped.
void kill_all(const Identity& identity);

/// Of all processes that have been reaped.
std::uint64_t reaped_cpu_us();

}  // namespace ratchet::guest
