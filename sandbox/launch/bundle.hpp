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
  /// The user namespace that it joins (user_namespaces.hpp), as a path; empty: it has none of its own.
  std::string user_space = {};
  /// `oci_seccomp`; empty for tier 3, whose kernel is the filter.
  std::string_view seccomp = {};
};

std::string oci_config(const Places& places, const BundleSpec& spec);

}  // namespace ratchet::sandbox
