#include <filesystem>

#include <fmt/format.h>

#include "sandbox/launch/bundle.hpp"
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

}  // namespace

Result<void> make_rootfs(const Places& places) {
  const auto root = places.rootfs();
  if (auto gone = remove_tree(root); !gone) return gone;
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

}  // namespace ratchet::sandbox
