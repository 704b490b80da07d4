#include "sandbox/launch/rootfs.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/mount.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/sandbox/command.hpp"
#include "sandbox/launch/files.hpp"

namespace ratchet::sandbox {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view passwd =
    "root:x:0:0:root:/:/usr/sbin/nologin\n"
    "tool:x:1000:1000:tool:/home/tool:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n";
constexpr std::string_view group = "root:x:0:\ntool:x:1000:\nnogroup:x:65534:\n";
constexpr std::string_view hosts = "127.0.0.1 localhost sandbox\n::1 localhost\n";
// No resolver: names are the proxy's to resolve.
constexpr std::string_view nsswitch = "passwd: files\ngroup: files\nhosts: files\n";

Result<void> failed(const std::string& what, const std::error_code& error) {
  return fail(ErrorCode::sandbox_unavailable, fmt::format("cannot make {}: {}", what, error.message()));
}

/// The links of a directory, and the plain files that anybody may read. One that is not there is empty.
Result<void> copy_flat(const std::string& from, const std::string& to) {
  if (auto made = make_directory(to, 0755); !made) return made;
  std::error_code error;
  for (fs::directory_iterator at(from, error), end; !error && at != end; at.increment(error)) {
    const auto target = to + "/" + at->path().filename().string();
    std::error_code copied;
    if (at->is_symlink(copied))
      fs::copy_symlink(at->path(), target, copied);
    else if (at->is_regular_file(copied) &&
             (at->status().permissions() & fs::perms::others_read) != fs::perms::none)
      fs::copy_file(at->path(), target, copied);
    if (copied) return failed(target, copied);
  }
  return {};
}

Result<void> make_etc(const std::string& etc) {
  if (auto made = make_directory(etc, 0755); !made) return made;
  const std::pair<const char*, std::string_view> files[] = {{"/passwd", passwd},
                                                            {"/group", group},
                                                            {"/hosts", hosts},
                                                            {"/nsswitch.conf", nsswitch},
                                                            {"/resolv.conf", ""},
                                                            {"/hostname", "sandbox\n"}};
  for (const auto& [name, text] : files)
    if (auto made = write_new(etc + name, text, 0644); !made) return made;
  if (const auto cache = read_file("/etc/ld.so.cache"))
    if (auto made = write_new(etc + "/ld.so.cache", *cache, 0644); !made) return made;
  if (auto made = copy_flat("/etc/alternatives", etc + "/alternatives"); !made) return made;
  return copy_flat("/etc/ssl/certs", etc + "/ssl/certs");
}

Result<void> fill(const std::string& root) {
  for (const auto* name : {"/proc", "/dev", "/sys", "/usr", "/tmp", "/home/tool", "/slot", "/sbx"})
    if (auto made = make_directory(root + name, 0755); !made) return made;
  if (auto made = write_new(root + std::string(guest_program), "", 0755); !made) return made;
  std::error_code error;
  for (const auto* name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"})
    if (fs::exists(fs::path("/usr") / name, error))
      if (fs::create_symlink(fs::path("usr") / name, fs::path(root) / name, error); error)
        return failed(root + "/" + name, error);
  if (fs::create_symlink("slot/ws", root + "/workspace", error); error)
    return failed(root + "/workspace", error);
  return make_etc(root + "/etc");
}

/// Of a tree of mounts, at every depth: nothing can be written to it, gain a user by it or be a device in it,
/// and what the host mounts below its own later does not arrive.
int make_harmless(int directory, const char* path, unsigned flags) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  attributes.propagation = MS_PRIVATE;
  return ::mount_setattr(directory, path, flags | AT_RECURSIVE, &attributes, sizeof attributes);
}

/// Harmless before anybody can see it.
Result<void> mount_programs(const std::string& root) {
  const Fd tree(::open_tree(AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  if (!tree || make_harmless(tree.get(), "", AT_EMPTY_PATH) != 0 ||
      ::move_mount(tree.get(), "", AT_FDCWD, (root + "/usr").c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return system_error(fmt::format("cannot mount /usr at {}/usr", root));
  return {};
}

/// Lazily: what still runs on it keeps it. Whatever was mounted on an earlier one goes too.
Result<void> detach(const std::string& root) {
  while (::umount2(root.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
  }
  if (errno != EINVAL && errno != ENOENT) return system_error(fmt::format("cannot unmount {}", root));
  return {};
}

}  // namespace

Result<std::unique_ptr<Rootfs>> Rootfs::mount(const Places& places) {
  const auto root = places.rootfs();
  if (auto done = detach(root); !done) return tl::unexpected(done.error());
  if (auto done = make_directory(root, 0755); !done) return tl::unexpected(done.error());
  if (::mount("ratchet", root.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=0755") != 0)
    return system_error(fmt::format("cannot mount the root of sandboxes at {}", root));
  std::unique_ptr<Rootfs> mounted(new Rootfs(root));
  if (auto done = fill(root); !done) return tl::unexpected(done.error());
  if (auto done = mount_programs(root); !done) return tl::unexpected(done.error());
  if (make_harmless(AT_FDCWD, root.c_str(), 0) != 0)
    return system_error(fmt::format("cannot make {} read-only", root));
  return mounted;
}

Rootfs::~Rootfs() {
  // What cannot be unmounted goes with the process.
  if (detach(path_)) ::rmdir(path_.c_str());
}

}  // namespace ratchet::sandbox
