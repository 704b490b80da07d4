#pragma once
// What every launcher of a node needs to know of where it is.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/sandbox/command.hpp"
#include "sandbox/launch/cgroup.hpp"
#include "sandbox/launch/namespaces.hpp"
#include "sandbox/launch/places.hpp"

namespace ratchet::sandbox {

struct Machine {
  Places places;
  CgroupLayout cgroups;
  Namespaces namespaces;
};

/// What a launcher of tier 2 says that has no user namespace for each sandbox.
inline std::string shared_users(std::string_view why) {
  return "users: what the kernel counts by user (inotify instances, message queues) sandboxes share: " +
         std::string(why);
}

/// What is not enforced here, whichever launcher it is.
inline std::vector<std::string> weaker(const Machine& machine) {
  auto out = machine.namespaces.weaker;
  out.insert(out.end(), machine.cgroups.missing.begin(), machine.cgroups.missing.end());
  return out;
}

/// The words of the guest as process 1.
inline std::vector<std::string> guest_words(const Machine& machine) {
  std::vector<std::string> out = {std::string(guest_program), "serve"};
  if (machine.namespaces.kind == Namespaces::Kind::single) out.emplace_back("--same-user");
  return out;
}

}  // namespace ratchet::sandbox
