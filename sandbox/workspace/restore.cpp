#include "sandbox/workspace/restore.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sandbox/workspace/files.hpp"

namespace ratchet::sandbox {

namespace {

class Restorer {
 public:
  Restorer(Objects& objects, RestoreBy by) : objects_(objects), by_(by) {}

  Result<void> restore(int root, const Manifest& manifest, std::vector<std::optional<FileStamp>>& stamps) {
    open_.push_back({Fd(fcntl(root, F_DUPFD_CLOEXEC, 3)), ""});
    for (const ManifestEntry& entry : manifest) {
      while (open_.back().path != parent_of(entry.path))
        open_.pop_back();  // the root's path is empty, and a manifest has every parent
      stamp_.reset();
      if (auto made = make(open_.back().fd.get(), std::string(name_of(entry.path)), entry); !made)
        return fail(made.error().code, fmt::format("{}: {}", shown(entry.path), made.error().text));
      stamps.push_back(stamp_);
    }
    if (latest_ctime_ns_ != 0 && !next_tick_came()) std::fill(stamps.begin(), stamps.end(), std::nullopt);
    return {};
  }

 private:
  struct Directory {
    Fd fd;
    std::string_view path;
  };

  static tl::unexpected<Error> unavailable(std::string_view what) {
    return fail(ErrorCode::sandbox_unavailable, fmt::format("cannot {}: {}", what, errno_text(errno)));
  }

  Result<void> make(int directory, const std::string& name, const ManifestEntry& entry) {
    switch (entry.kind) {
      case EntryKind::directory:
        return make_directory(directory, name, entry);
      case EntryKind::symlink:
        if (symlinkat(entry.target.c_str(), directory, name.c_str()) != 0) return unavailable("make a link");
        return give(directory, name);
      case EntryKind::file:
        break;
    }
    const ObjectName object{entry.hash, entry.executable};
    if (by_ == RestoreBy::copy) return copy(directory, name, entry);
    const auto mtime_ns = objects_.verify(object, entry.size);
    if (!mtime_ns) return tl::unexpected(mtime_ns.error());
    // Two files of one content may have been written at different times; only one of them is the object.
    if (entry.mtime_ns != 0 && entry.mtime_ns != *mtime_ns) return copy(directory, name, entry);
    if (linkat(objects_.directory(), object.path().c_str(), directory, name.c_str(), 0) == 0) return {};
    // A file system bounds the links to one inode; what goes beyond is a file of its own.
    if (errno != EMLINK) return unavailable("link an object");
    return copy(directory, name, entry);
  }

  Result<void> make_directory(int directory, const std::string& name, const ManifestEntry& entry) {
    if (mkdirat(directory, name.c_str(), 0755) != 0) return unavailable("make a directory");
    Fd fd = open_beneath(directory, name, O_RDONLY | O_DIRECTORY);
    if (!fd || fchmod(fd.get(), 0755) != 0) return unavailable("open a directory");
    open_.push_back({std::move(fd), entry.path});
    return give(directory, name);
  }

  Result<void> give(int directory, const std::string& name) {
    const FileOwner& owner = objects_.owner();
    if (owner.uid == static_cast<uid_t>(-1)) return {};
    if (fchownat(directory, name.c_str(), owner.uid, owner.gid, AT_SYMLINK_NOFOLLOW) != 0)
      return unavailable("give it to the user of the tools");
    return {};
  }

  Result<void> copy(int directory, const std::string& name, const ManifestEntry& entry) {
    const ObjectName object{entry.hash, entry.executable};
    const auto from = objects_.open_object(object);
    if (!from) return tl::unexpected(from.error());
    const Fd to(openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!to) return unavailable("make a file");
    Sha256 hash;
    int failure = 0;
    const auto done = read_parts(from->get(), entry.size + 1, [&](std::string_view part) {
      hash.add(part);
      return (failure = write_all(to.get(), part)) == 0;
    });
    if (failure != 0) return unavailable("write a file");
    if (done != static_cast<std::int64_t>(entry.size) || hash.finish() != object.hash)
      return fail(ErrorCode::corrupt, fmt::format("object {}: it does not hash to its name", object.path()));
    if (fchmod(to.get(), object.executable ? 0755 : 0644) != 0) return unavailable("set a mode");
    if (auto given = give(directory, name); !given) return given;
    if (entry.mtime_ns > 0 && set_mtime(to.get(), entry.mtime_ns) != 0) return unavailable("set a time");
    struct stat status{};
    if (fstat(to.get(), &status) != 0) return unavailable("look at a file");
    stamp_ = stamp_of(status);
    latest_ctime_ns_ = std::max(latest_ctime_ns_, stamp_->ctime_ns);
    return {};
  }

  /// Waits a few milliseconds, so that a write that comes next has another ctime than what was restored.
  /// False, where the clock was set back meanwhile.
  bool next_tick_came() const {
    for (int i = 0; i < 100 && ctime_now_ns() <= latest_ctime_ns_; ++i) {
      const timespec moment{.tv_sec = 0, .tv_nsec = 500'000};
      clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr);
    }
    return ctime_now_ns() > latest_ctime_ns_;
  }

  Objects& objects_;
  const RestoreBy by_;
  std::vector<Directory> open_;
  std::optional<FileStamp> stamp_;  ///< of the file that was just copied
  std::int64_t latest_ctime_ns_ = 0;
};

}  // namespace

Result<Record> restore_files(int root, Manifest manifest, Objects& objects, RestoreBy by) {
  Record record{std::move(manifest), {}};
  record.stamps.reserve(record.manifest.size());
  auto restored = Restorer(objects, by).restore(root, record.manifest, record.stamps);
  if (!restored) return tl::unexpected(restored.error());
  return record;
}

}  // namespace ratchet::sandbox
