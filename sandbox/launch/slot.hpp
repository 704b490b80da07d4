#pragma once
// The door through which a sandbox that already runs gets its /workspace: a directory that it sees as a
// slave, so that what the host mounts below it appears inside. Only in the node's own mount namespace
// (namespaces.hpp), or the mounts would outlive the node.

#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "sandbox/launch/places.hpp"

namespace ratchet::sandbox {

/// Once, before the first slot. Errors: sandbox_unavailable.
Result<void> share_slots(const Places& places);

/// Errors of all: sandbox_unavailable.
Result<void> make_slot(const Places& places, std::string_view name);
/// Mounts `directory` of the host with all that is mounted below it; without set-user-id files and devices.
Result<void> fill_slot(const Places& places, std::string_view name, const std::string& directory);
/// Mounts an empty file system in memory, of limits::sandbox_tmp_bytes, which belongs to the user `tool`; or
/// one that nobody can write to.
Result<void> fill_slot_with_nothing(const Places& places,
                                    std::string_view name,
                                    bool writable,
                                    unsigned tool);
/// Takes the mount away and removes the slot. Never reaches into what was mounted. Nothing there is a
/// success.
Result<void> remove_slot(const Places& places, std::string_view name);

}  // namespace ratchet::sandbox
