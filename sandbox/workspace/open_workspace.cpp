#include "sandbox/workspace/open_workspace.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>

#include <fmt/format.h>

#include "sandbox/workspace/files.hpp"
#include "sandbox/workspace/protection.hpp"
#include "sandbox/workspace/restore.hpp"

namespace ratchet::sandbox {

namespace {

tl::unexpected<Error> unavailable(std::string_view what, const std::string& path, int code) {
  return fail(ErrorCode::sandbox_unavailable,
              fmt::format("workspace: cannot {} {}: {}", what, path, errno_text(code)));
}

}  // namespace

Result<std::unique_ptr<OpenWorkspace>> OpenWorkspace::open(const std::string& directory,
                                                           Manifest manifest,
                                                           const WorkspaceMeans& means) {
  if (mkdir(directory.c_str(), 0711) != 0) return unavailable("make", directory, errno);
  std::unique_ptr<OpenWorkspace> opened(new OpenWorkspace({directory}, means));
  auto restored = opened->restore(std::move(manifest));
  if (restored) return opened;
  if (auto removed = remove(directory); !removed) restored.error().text += "; " + removed.error().text;
  return tl::unexpected(restored.error());
}

Result<void> OpenWorkspace::restore(Manifest manifest) {
  const std::string into = means_.overlay ? places_.lower() : places_.merged();
  if (mkdir(into.c_str(), 0755) != 0) return unavailable("make", into, errno);
  const Fd root = open_directory(into);
  const FileOwner& owner = means_.objects.owner();
  if (!root || (owner.uid != static_cast<uid_t>(-1) && fchown(root.get(), owner.uid, owner.gid) != 0))
    return unavailable("open", into, errno);
  auto restored = restore_files(
      root.get(), std::move(manifest), means_.objects, means_.overlay ? RestoreBy::link : RestoreBy::copy);
  if (!restored) return tl::unexpected(restored.error());
  last_ = std::move(*restored);
  protected_ = last_.manifest;
  if (!means_.overlay) return {};
  if (auto mounted = mount_overlay(places_, means_.bounds, owner); !mounted) return mounted;
  return mount_read_only(places_, present_in(protected_, means_.protected_paths));
}

Result<Hash> OpenWorkspace::snapshot(Objects::Use& use) {
  Fd root;
  if (means_.overlay) {
    auto merged = open_merged(places_);
    if (!merged) return tl::unexpected(merged.error());
    root = std::move(*merged);
  } else {
    root = open_directory(places_.merged());
    if (!root) return unavailable("open", places_.merged(), errno);
  }
  auto record = record_files(root.get(), last_, means_.objects, use);
  if (!record) return tl::unexpected(record.error());
  if (const auto changed = first_change(protected_, record->manifest, means_.protected_paths))
    return fail(ErrorCode::workspace_refused,
                fmt::format("{}: this path is protected and was changed", shown(*changed)));
  const auto name = use.add_bytes(encode_manifest(record->manifest));
  if (!name) return tl::unexpected(name.error());
  if (auto committed = use.commit(); !committed) return tl::unexpected(committed.error());
  last_ = std::move(*record);
  return *name;
}

Result<void> OpenWorkspace::remove(const std::string& directory) {
  if (const int code = unmount({directory})) return unavailable("unmount", directory, code);
  const std::filesystem::path path(directory);
  const Fd parent = open_directory(path.parent_path().string());
  const int code = parent ? remove_tree(parent.get(), path.filename().string()) : errno;
  if (code != 0) return unavailable("remove", directory, code);
  return {};
}

}  // namespace ratchet::sandbox
