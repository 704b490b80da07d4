#include "sandbox/launch/slot.hpp"

#include <cerrno>
#include <sys/mount.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "sandbox/launch/files.hpp"

namespace ratchet::sandbox {

namespace {

constexpr unsigned long flags = MS_NOSUID | MS_NODEV;

Result<void> remove_empty(const std::string& path) {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
  return system_error(fmt::format("cannot remove {}", path));
}

}  // namespace

Result<void> share_slots(const Places& places) {
  const auto slots = places.slots();
  if (auto made = make_directory(slots, 0755); !made) return made;
  if (::mount(slots.c_str(), slots.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
      ::mount(nullptr, slots.c_str(), nullptr, MS_SHARED, nullptr) != 0)
    return system_error(fmt::format("cannot share {}", slots));
  return {};
}

Result<void> make_slot(const Places& places, std::string_view name) {
  return make_directory(places.workspace(name), 0755);
}

Result<void> fill_slot(const Places& places, std::string_view name, const std::string& directory) {
  const auto target = places.workspace(name);
  if (::mount(directory.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0 ||
      ::mount(nullptr, target.c_str(), nullptr, MS_REMOUNT | MS_BIND | flags, nullptr) != 0)
    return system_error(fmt::format("cannot mount {}", directory));
  return {};
}

Result<void> fill_slot_with_nothing(const Places& places,
                                    std::string_view name,
                                    bool writable,
                                    unsigned tool) {
  const auto target = places.workspace(name);
  const auto options =
      fmt::format("size={},nr_inodes=20000,mode=0755,uid={},gid={}", limits::sandbox_tmp_bytes, tool, tool);
  if (::mount("workspace", target.c_str(), "tmpfs", writable ? flags : flags | MS_RDONLY, options.c_str()) !=
      0)
    return system_error("cannot mount an empty workspace");
  return {};
}

Result<void> remove_slot(const Places& places, std::string_view name) {
  const auto workspace = places.workspace(name);
  while (::umount2(workspace.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
  }
  if (errno != EINVAL && errno != ENOENT) return system_error(fmt::format("cannot unmount {}", workspace));
  if (auto gone = remove_empty(workspace); !gone) return gone;
  return remove_empty(places.slot(name));
}

}  // namespace ratchet::sandbox
