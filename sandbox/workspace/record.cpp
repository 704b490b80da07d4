#include "sandbox/workspace/record.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "sandbox/workspace/files.hpp"

namespace ratchet::sandbox {

namespace {

tl::unexpected<Error> refuse(std::string_view path, std::string_view why) {
  return fail(ErrorCode::workspace_refused, fmt::format("{}: {}", path.empty() ? "/" : shown(path), why));
}

class Recorder {
 public:
  Recorder(const Record& before, const Objects& objects, Objects::Use& use)
      : before_(before), objects_(objects), use_(use) {}

  Result<Record> walk(int root) {
    if (auto entered = enter(Fd(fcntl(root, F_DUPFD_CLOEXEC, 3)), ""); !entered)
      return tl::unexpected(entered.error());
    while (!open_.empty()) {
      Directory& here = open_.back();
      if (here.next == here.names.size()) {
        open_.pop_back();
        continue;
      }
      const std::string& name = here.names[here.next++];
      std::string path = here.path.empty() ? name : here.path + '/' + name;
      if (auto visited = visit(here.fd.get(), name, std::move(path)); !visited)
        return tl::unexpected(visited.error());
    }
    return std::move(made_);
  }

 private:
  struct Directory {
    Fd fd;
    std::string path;
    std::vector<std::string> names;
    std::size_t next = 0;
  };

  Result<void> enter(Fd fd, std::string path) {
    if (!fd) return refuse(path, errno_text(errno));
    Directory directory{std::move(fd), std::move(path), {}};
    const int code = list_names(directory.fd.get(), directory.names);
    if (code != 0 && code != EOVERFLOW) return refuse(directory.path, errno_text(code));
    seen_ += directory.names.size();
    if (code == EOVERFLOW || seen_ > limits::workspace_files_max)
      return refuse(
          directory.path,
          fmt::format("there are more than {} files in the workspace", limits::workspace_files_max));
    open_.push_back(std::move(directory));
    return {};
  }

  /// `directory` and `name` are gone where it enters another one.
  Result<void> visit(int directory, const std::string& name, std::string path) {
    if (path.size() > limits::workspace_path_bytes_max)
      return refuse(path, fmt::format("its path has more than {} bytes", limits::workspace_path_bytes_max));
    if (depth_of(path) >= limits::workspace_depth_max)
      return refuse(path, fmt::format("it lies deeper than {}", limits::workspace_depth_max));
    struct stat status{};
    if (fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return refuse(path, errno_text(errno));
    if (S_ISREG(status.st_mode)) return file(directory, name, std::move(path), status);
    if (S_ISLNK(status.st_mode)) return link(directory, name, std::move(path));
    if (!S_ISDIR(status.st_mode)) return {};  // not a thing of a snapshot
    add({.path = path, .kind = EntryKind::directory}, std::nullopt);
    return enter(open_beneath(directory, name, O_RDONLY | O_DIRECTORY), std::move(path));
  }

  Result<void> link(int directory, const std::string& name, std::string path) {
    ManifestEntry entry{.path = std::move(path), .kind = EntryKind::symlink};
    if (const int code = read_link(directory, name, entry.target))
      return refuse(entry.path, errno_text(code));
    if (entry.target.empty()) return refuse(entry.path, "a link has no target");
    add(std::move(entry), std::nullopt);
    return {};
  }

  Result<void> file(int directory, const std::string& name, std::string path, const struct stat& status) {
    ManifestEntry entry{.path = std::move(path)};
    entry.mtime_ns = mtime_of(status);
    if (const ManifestEntry* same = known(entry.path, status)) {
      entry.hash = same->hash;
      // As it was recorded: a file system may keep less of it than we do.
      if (same->mtime_ns != 0) entry.mtime_ns = same->mtime_ns;
      return count(std::move(entry), status, stamp_of(status));
    }
    // The clock is read before the file: whatever is written after this moment has another ctime.
    const std::int64_t now_ns = ctime_now_ns();
    const Fd opened = open_beneath(directory, name, O_RDONLY | O_NOCTTY);
    if (!opened) return refuse(entry.path, errno_text(errno));
    struct stat fresh{};
    if (fstat(opened.get(), &fresh) != 0) return refuse(entry.path, errno_text(errno));
    if (!S_ISREG(fresh.st_mode)) return refuse(entry.path, "it changes while it is read");
    // By its size, and not by its blocks: an object holds every byte, also those of a hole.
    if (auto counted = check_size(entry.path, fresh); !counted) return counted;
    entry.mtime_ns = mtime_of(fresh);
    const auto hash = use_.add_file(
        opened.get(), static_cast<std::uint64_t>(fresh.st_size), is_executable(fresh), entry.mtime_ns);
    if (!hash && hash.error().code == ErrorCode::workspace_refused)
      return refuse(entry.path, hash.error().text);
    if (!hash) return tl::unexpected(hash.error());
    entry.hash = *hash;
    const FileStamp stamp = stamp_of(fresh);
    return count(std::move(entry), fresh, stamp.ctime_ns < now_ns ? std::optional(stamp) : std::nullopt);
  }

  /// 0 is not a time of a manifest.
  static std::int64_t mtime_of(const struct stat& status) {
    return std::max<std::int64_t>(ns_of(status.st_mtim), 1);
  }

  static bool is_executable(const struct stat& status) { return (status.st_mode & S_IXUSR) != 0; }

  Result<void> check_size(const std::string& path, const struct stat& status) {
    if (static_cast<std::uint64_t>(status.st_size) <= limits::workspace_bytes_max - bytes_) return {};
    return refuse(
        path,
        fmt::format(
            "with its {} bytes the workspace has more than {}", status.st_size, limits::workspace_bytes_max));
  }

  Result<void> count(ManifestEntry entry, const struct stat& status, std::optional<FileStamp> stamp) {
    if (auto counted = check_size(entry.path, status); !counted) return counted;
    entry.size = static_cast<std::uint64_t>(status.st_size);
    entry.executable = is_executable(status);
    bytes_ += entry.size;
    use_.need({entry.hash, entry.executable});
    add(std::move(entry), stamp);
    return {};
  }

  void add(ManifestEntry entry, std::optional<FileStamp> stamp) {
    made_.manifest.push_back(std::move(entry));
    made_.stamps.push_back(stamp);
  }

  /// The entry before of a file that is as it was, or nothing. Both walks have the same order.
  const ManifestEntry* known(std::string_view path, const struct stat& status) {
    const Manifest& manifest = before_.manifest;
    while (at_ < manifest.size() && comes_before(manifest[at_].path, path))
      ++at_;
    if (at_ == manifest.size()) return nullptr;
    const ManifestEntry& entry = manifest[at_];
    if (entry.path != path || entry.kind != EntryKind::file || entry.executable != is_executable(status))
      return nullptr;
    const FileStamp stamp = stamp_of(status);
    if (before_.stamps[at_] == stamp) return &entry;
    // A file of an overlay's lower layer is the object itself, until it is written to. Its ctime moves when
    // the object is linked elsewhere; it is then looked at where it lies.
    struct stat object{};
    const bool same = objects_.status({entry.hash, entry.executable}, object) &&
                      stamp.inode == object.st_ino &&
                      stamp.size == static_cast<std::uint64_t>(object.st_size) &&
                      stamp.mtime_ns == ns_of(object.st_mtim) && stamp.ctime_ns == ns_of(object.st_ctim);
    return same ? &entry : nullptr;
  }

  const Record& before_;
  const Objects& objects_;
  Objects::Use& use_;
  Record made_;
  std::vector<Directory> open_;
  std::size_t at_ = 0;    ///< in the manifest before
  std::size_t seen_ = 0;  ///< names, of whatever kind
  std::uint64_t bytes_ = 0;
};

}  // namespace

FileStamp stamp_of(const struct stat& status) {
  return {.inode = status.st_ino,
          .size = static_cast<std::uint64_t>(status.st_size),
          .mtime_ns = ns_of(status.st_mtim),
          .ctime_ns = ns_of(status.st_ctim)};
}

std::int64_t ctime_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return ns_of(now);
}

Result<Record> record_files(int root, const Record& before, const Objects& objects, Objects::Use& use) {
  return Recorder(before, objects, use).walk(root);
}

}  // namespace ratchet::sandbox
