#include "sandbox/workspace/overlay.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/mount.h>
#include <set>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sandbox/workspace/files.hpp"
#include "sandbox/workspace/manifest.hpp"

namespace ratchet::sandbox {

namespace {

constexpr unsigned long safe_flags = MS_NOSUID | MS_NODEV;

tl::unexpected<Error> unavailable(std::string_view what, const std::string& path) {
  return fail(ErrorCode::sandbox_unavailable,
              fmt::format("workspace: cannot {} {}: {}", what, path, errno_text(errno)));
}

/// A path as a value of overlay's options.
std::string escaped(const std::string& path) {
  std::string out;
  for (const char byte : path) {
    if (byte == '\\' || byte == ',' || byte == ':') out += '\\';
    out += byte;
  }
  return out;
}

Result<void> make(const std::string& path, mode_t mode, FileOwner owner) {
  if (mkdir(path.c_str(), mode) != 0 || chmod(path.c_str(), mode) != 0) return unavailable("make", path);
  if (owner.uid != static_cast<uid_t>(-1) && chown(path.c_str(), owner.uid, owner.gid) != 0)
    return unavailable("give away", path);
  return {};
}

/// An overlay marks what was removed or replaced with attributes that only the machine's root may set. In a
/// user namespace nobody may, and the kernel mounts it all the same, to fail later; there the marks are
/// attributes of another name, which it shows to nobody.
bool may_set_trusted(const std::string& path) {
  return setxattr(path.c_str(), "trusted.ratchet", "", 0, 0) == 0;
}

/// `metacopy`, `redirect_dir` and `index` would let what is in the upper layer name files of the lower one
/// (and with `userxattr` the kernel takes no other way to say so than nofollow); without `xino` a file that
/// was not written to shows the inode number of its object.
int mount_layers(const WorkspacePlaces& places) {
  const std::string options = fmt::format(
      "lowerdir={},upperdir={}/files,workdir={}/work,metacopy=off,redirect_dir=nofollow,index=off,xino=off{}",
      escaped(places.lower()),
      escaped(places.upper()),
      escaped(places.upper()),
      may_set_trusted(places.upper()) ? "" : ",userxattr");
  return mount("ratchet", places.merged().c_str(), "overlay", safe_flags, options.c_str()) == 0 ? 0 : errno;
}

}  // namespace

Result<void> mount_overlay(const WorkspacePlaces& places, UpperBounds bounds, FileOwner owner) {
  const FileOwner ours;
  if (auto made = make(places.upper(), 0700, ours); !made) return made;
  if (auto made = make(places.merged(), 0755, ours); !made) return made;
  const std::string size = fmt::format("size={},nr_inodes={},mode=0700", bounds.bytes, bounds.inodes);
  if (mount("ratchet", places.upper().c_str(), "tmpfs", safe_flags, size.c_str()) != 0)
    return unavailable("mount a tmpfs at", places.upper());
  if (auto made = make(places.upper() + "/files", 0755, owner); !made) return made;
  if (auto made = make(places.upper() + "/work", 0700, ours); !made) return made;
  if (mount_layers(places) != 0) return unavailable("mount an overlay at", places.merged());
  return {};
}

Result<void> mount_read_only(const WorkspacePlaces& places, const std::vector<std::string>& paths) {
  std::set<std::string> parents;
  for (const std::string& path : paths)
    for (std::string_view parent = parent_of(path); !parent.empty(); parent = parent_of(parent))
      parents.emplace(parent);
  for (const std::string& parent : parents) {  // in order: the outer one before the inner one
    const std::string at = places.merged() + '/' + parent;
    if (mount(at.c_str(), at.c_str(), nullptr, MS_BIND, nullptr) != 0) return unavailable("hold", at);
  }
  for (const std::string& path : paths) {
    const std::string at = places.merged() + '/' + path;
    if (mount(at.c_str(), at.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        mount(nullptr, at.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | safe_flags, nullptr) != 0)
      return unavailable("make read-only", at);
  }
  return {};
}

Result<Fd> open_merged(const WorkspacePlaces& places) {
  const long fd =
      syscall(SYS_open_tree, AT_FDCWD, places.merged().c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (fd < 0) return unavailable("open", places.merged());
  return Fd(static_cast<int>(fd));
}

int unmount(const WorkspacePlaces& places) {
  for (const std::string& path : {places.merged(), places.upper()}) {
    while (umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
    }
    // Not a place of a mount, or not there at all; who may not mount here has mounted nothing.
    if (errno != EINVAL && errno != ENOENT && errno != EPERM) return errno;
  }
  return 0;
}

}  // namespace ratchet::sandbox
