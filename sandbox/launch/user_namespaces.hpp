#pragma once
// What the kernel counts by user (inotify instances, bytes in message queues, pending signals) is counted for
// each sandbox by itself: commands are the same user in all of them, but each sandbox is a user namespace,
// and each namespace belongs to another user of the host, who exists for nothing else. The kernel charges
// both: who runs, within the namespace, and whose the namespace is, on the machine. Users keep their numbers,
// so that files are whose they were; but process 1, which is root, has its powers over the namespace only and
// none over the machine. Source: user_namespaces(7), kernel/ucount.c of Linux.

#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/fd.hpp"

namespace ratchet::sandbox {

/// Who there is inside, as on the host: root, and who runs the commands (see the guest).
inline constexpr std::uint32_t users_inside[] = {0, 1'000};

class UserNamespaces {
 public:
  /// Of a node, by its label: which users it takes. Those of two nodes are hardly ever the same; where they
  /// are, two of their sandboxes share what they may use.
  explicit UserNamespaces(std::string_view label);

  struct Lent {
    std::uint32_t owner = 0;  ///< the host's number
    Fd space;                 ///< keeps it
  };

  /// One that nothing runs in. From any thread; blocks for a moment. Errors: sandbox_unavailable (the machine
  /// does not allow it; there are limits::sandboxes_max already).
  Result<Lent> take();
  /// What ran in it is dead.
  void give_back(Lent lent);

 private:
  const std::uint32_t first_;
  std::mutex mutex_;  ///< guards the rest
  std::uint32_t made_ = 0;
  std::vector<Lent> free_;
};

}  // namespace ratchet::sandbox
