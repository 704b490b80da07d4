#pragma once
// What an OCI runtime is told of a sandbox: config.json, from one fixed template. Nothing in it comes from a
// request, a model or a tool. Source: OCI runtime-spec 1.0, config.md and config-linux.md.

#include <optional>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/sandbox/command.hpp"
#include "sandbox/launch/places.hpp"

namespace ratchet::sandbox {

struct BundleSpec {
  std::string name;
  /// Tier 3: gVisor instead of the machine's kernel.
  bool own_kernel = false;
  std::vector<std::string> argv;  ///< of process 1
  /// For a runtime that insists on putting its children into groups by itself: the name of ours.
  std::string group = {};
  /// See `oci_seccomp`. Not used for tier 3, whose kernel is the filter.
  std::string listener = {};
};

std::string oci_config(const Places& places, const BundleSpec& spec);

/// Makes the root of all sandboxes anew: links into /usr, an /etc of its own, empty directories to mount on.
/// Nothing of the host's but the dynamic linker's cache, the links of /etc/alternatives and the public
/// certificates. Errors: sandbox_unavailable.
Result<void> make_rootfs(const Places& places);

}  // namespace ratchet::sandbox
