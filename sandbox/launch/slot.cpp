#include "sandbox/launch/slot.hpp"

#include <cerrno>
#include <fcntl.h>
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
  // The flags here, since within a user namespace a runtime cannot add them.
  if (::mount(slots.c_str(), slots.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
      ::mount(nullptr, slots.c_str(), nullptr, MS_BIND | MS_REMOUNT | flags, nullptr) != 0 ||
      ::mount(nullptr, slots.c_str(), nullptr, MS_SHARED, nullptr) != 0)
    return system_error(fmt::format("cannot share {}", slots));
  return {};
}

Result<void> make_slot(const Places& places, std::string_view name) {
  return make_directory(places.workspace(name), 0755);
}

Result<void> fill_slot(const Places& places, std::string_view name, const std::string& directory) {
  // Made in full before it is put there: what is changed on it later does not arrive in the sandbox.
  const Fd tree(::open_tree(AT_FDCWD, directory.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (!tree ||
      ::mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) != 0 ||
      ::move_mount(tree.get(), "", AT_FDCWD, places.workspace(name).c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return system_error(fmt::format("cannot mount {}", directory));
  return {};
}

Result<void> fill_slot_with_nothing(const Places& places,
                                    std::string_view name,
                                    bool writable,
                                    unsigned tool) {
  const auto target = places.workspace(name);
  const auto options = fmt::format("size={},nr_inodes={},mode=0755,uid={},gid={}",
                                   limits::sandbox_tmp_bytes,
                                   limits::sandbox_files_max,
                                   tool,
                                   tool);
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
