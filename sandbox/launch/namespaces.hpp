#pragma once
// The node's own view of the machine. All mounts of ours are made in a mount namespace that dies with the
// process, however it dies; who is not root gets the power to mount from a user namespace of his own.

#include <string>
#include <string_view>
#include <vector>

namespace ratchet::sandbox {

/// What was reached.
struct Namespaces {
  enum class Kind {
    none,   ///< see `why`; no sandbox can be started
    root,   ///< a mount namespace
    user,   ///< user and mount namespace, with a range of users: 0 is a subordinate one, 1000 is who started
            ///< us
    single  ///< likewise, but with one user only: who started us is 0
  } kind = Kind::none;
  std::string why;                  ///< there is none, for people, with what would help
  std::vector<std::string> weaker;  ///< what is not as strong as it could be
};

/// Enters them. To be called once, first of all, while the process has one thread. Never fails the caller:
/// what is not reached is told in the result. Orphans of the runtimes come to this process from now on
/// (PR_SET_CHILD_SUBREAPER): the launchers wait for them.
Namespaces enter_namespaces();

/// The first line of /etc/subuid or /etc/subgid (subuid(5)) for a user, by name or number, with at least
/// 65,536 ids: its first id. 0 if there is none. Pure.
unsigned long subordinate_ids(std::string_view text, std::string_view user_name, unsigned long user);

}  // namespace ratchet::sandbox
