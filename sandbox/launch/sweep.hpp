#pragma once
// What a node left behind when it was killed, found by the label in the names: processes, groups, slots,
// bundles, notes of the runtimes. Its mounts went with it (namespaces.hpp).

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "sandbox/launch/cgroup.hpp"
#include "sandbox/launch/places.hpp"

namespace ratchet::sandbox {

/// Kills and removes everything of sandboxes named <label>-…; to be called while none is alive. What has
/// other names is left alone, so that two nodes can share a machine. Returns how many sandboxes there were.
/// Errors: sandbox_unavailable, with what cannot be removed.
Result<std::size_t> sweep(const Places& places, const CgroupLayout& cgroups, std::string_view label);

/// What runtimes remember below `states`, a directory for each, of names that begin with `prefix`; crun and
/// runc as a directory of that name, runsc as files that have it in theirs. Errors: sandbox_unavailable.
Result<void> remove_notes(const std::string& states, std::string_view prefix);
/// Of one sandbox and one runtime. Errors: sandbox_unavailable.
Result<void> remove_notes_of(const std::string& state, std::string_view name);

}  // namespace ratchet::sandbox
