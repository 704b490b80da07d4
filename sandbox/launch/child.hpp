#pragma once
// Programs that the launchers start: the OCI runtimes and bubblewrap. A child enters its control groups
// before it is executed, so that nothing it ever makes is outside of them.

#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/fd.hpp"

namespace ratchet::sandbox {

struct ChildPlan {
  std::vector<std::string> argv;         ///< an absolute path first
  std::vector<std::string> environment;  ///< all of it
  std::vector<int> enter;                ///< open `cgroup.procs` files, which the child writes itself into
  /// What the child has open, its number there first; 0, 1 and 2 are /dev/null where they are not named. No
  /// number of ours may be below the highest one there. All else is closed.
  std::map<int, int> descriptors;
  bool as_root = false;  ///< become user and group 0 first: in a user namespace, where we are another
};

/// A child that was started. To be waited for exactly once, by `wait`; else it is left to itself.
struct Child {
  pid_t pid = -1;
  Fd pidfd;  ///< readable when it has ended
};

/// The calling thread stands still until the program is executed. Any thread.
/// Errors: sandbox_unavailable (it cannot be executed, or it cannot enter a group).
Result<Child> start_child(const ChildPlan& plan);

/// Its exit status; of one that a signal ended, minus the signal's number. One that has not ended after
/// `timeout_ms` is killed first. Errors: timeout.
Result<int> wait(Child& child, std::int64_t timeout_ms);

struct Finished {
  int status = 0;
  std::string out, err;  ///< the first 64 KiB each; the rest is read and dropped
};

/// Starts, reads both outputs, waits. Where `plan` names 1 or 2, that one is not read. When the child has
/// ended, what its own children may still write is not waited for.
/// Errors: sandbox_unavailable; timeout, after which it is dead.
Result<Finished> run(ChildPlan plan, std::int64_t timeout_ms);

}  // namespace ratchet::sandbox
