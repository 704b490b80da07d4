#include "sandbox/workspace/objects.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "sandbox/workspace/files.hpp"
#include "sandbox/workspace/manifest.hpp"

namespace ratchet::sandbox {

namespace {

constexpr char temporary_directory[] = "tmp";
constexpr std::string_view executable_suffix = ".x";
/// Up to here a file is read once, and hashed and written from memory.
constexpr std::uint64_t small_bytes_max = 1u << 20;
/// More new files than this are flushed with their whole file system, which costs what a few of them cost.
constexpr std::size_t flushed_singly_max = 16;

tl::unexpected<Error> unavailable(std::string_view what, int code) {
  return fail(ErrorCode::sandbox_unavailable, fmt::format("objects: cannot {}: {}", what, errno_text(code)));
}

tl::unexpected<Error> changed() {
  return fail(ErrorCode::workspace_refused, "it changes while it is read");
}

tl::unexpected<Error> damaged(const ObjectName& name, std::string_view why) {
  return fail(ErrorCode::corrupt, fmt::format("object {}: {}", name.path(), why));
}

std::optional<ObjectName> parse_object(std::string_view prefix, std::string_view rest) {
  ObjectName name;
  name.executable = rest.ends_with(executable_suffix);
  if (name.executable) rest.remove_suffix(executable_suffix.size());
  const auto hash = parse_hash(std::string(prefix) + std::string(rest));
  if (!hash) return std::nullopt;
  name.hash = *hash;
  return name;
}

}  // namespace

std::string ObjectName::path() const {
  std::string path = to_string(hash);
  path.insert(2, 1, '/');
  return executable ? path += executable_suffix : path;
}

std::size_t ObjectNameHash::operator()(const ObjectName& name) const {
  std::size_t bits;
  std::memcpy(&bits, name.hash.bytes.data(), sizeof bits);
  return bits + name.executable;
}

// --- opening
// --------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Objects>> Objects::open(const std::string& path, FileOwner owner) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return unavailable(fmt::format("make {}", path), errno);
  Fd directory = open_directory(path);
  if (!directory) return unavailable(fmt::format("open {}", path), errno);
  if (const int code = remove_tree(directory.get(), temporary_directory))
    return unavailable("remove what was left half written", code);
  if (mkdirat(directory.get(), temporary_directory, 0700) != 0) return unavailable("make tmp", errno);
  Fd temporary = open_beneath(directory.get(), temporary_directory, O_RDONLY | O_DIRECTORY);
  if (!temporary) return unavailable("open tmp", errno);
  return std::unique_ptr<Objects>(new Objects(std::move(directory), std::move(temporary), owner));
}

Objects::Objects(Fd directory, Fd temporary, FileOwner owner)
    : directory_(std::move(directory)),
      temporary_(std::move(temporary)),
      owner_(owner),
      // What has its name may have got it just before an earlier process died. A flush takes as long as the
      // whole file system has to write, so nobody waits for it but who relies on it.
      flushed_(std::async(std::launch::async, [fd = directory_.get()] {
                 return syncfs(fd) == 0 ? 0 : errno;
               }).share()) {}

// --- reading
// --------------------------------------------------------------------------------------------------

bool Objects::status(const ObjectName& name, struct stat& status) const {
  return fstatat(directory_.get(), name.path().c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<Fd> Objects::open_object(const ObjectName& name) {
  Fd file(openat(directory_.get(), name.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return damaged(name, errno == ENOENT ? "it is missing" : errno_text(errno));
  return file;
}

Result<std::string> Objects::read(const ObjectName& name) {
  const auto file = open_object(name);
  if (!file) return tl::unexpected(file.error());
  struct stat status{};
  if (fstat(file->get(), &status) != 0) return damaged(name, errno_text(errno));
  std::string bytes;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const auto done = read_parts(file->get(), size, [&](std::string_view part) {
    bytes += part;
    return true;
  });
  if (done < 0) return damaged(name, errno_text(errno));
  if (sha256(bytes) != name.hash) return damaged(name, "it does not hash to its name");
  return bytes;
}

Result<std::int64_t> Objects::verify(const ObjectName& name, std::uint64_t size) {
  const auto file = open_object(name);
  if (!file) return tl::unexpected(file.error());
  struct stat status{};
  if (fstat(file->get(), &status) != 0) return damaged(name, errno_text(errno));
  if (static_cast<std::uint64_t>(status.st_size) != size)
    return damaged(name, fmt::format("it has {} bytes, not {}", status.st_size, size));
  const std::int64_t mtime_ns = ns_of(status.st_mtim);
  if (was_verified(name, status)) return mtime_ns;
  Sha256 hash;
  const auto done = read_parts(file->get(), size, [&](std::string_view part) {
    hash.add(part);
    return true;
  });
  if (done < 0) return damaged(name, errno_text(errno));
  if (hash.finish() != name.hash) return damaged(name, "it does not hash to its name");
  remember(name, status);
  return mtime_ns;
}

bool Objects::was_verified(const ObjectName& name, const struct stat& status) {
  const std::lock_guard lock(mutex_);
  const auto found = verified_.find(name);
  // ctime tells nothing: it moves with every link that is made or removed.
  return found != verified_.end() && found->second.inode == status.st_ino &&
         found->second.mtime_ns == ns_of(status.st_mtim) &&
         found->second.size == static_cast<std::uint64_t>(status.st_size);
}

void Objects::remember(const ObjectName& name, const struct stat& status) {
  const std::lock_guard lock(mutex_);
  if (verified_.size() >= limits::workspace_objects_verified_max) verified_.clear();
  verified_[name] = {status.st_ino, ns_of(status.st_mtim), static_cast<std::uint64_t>(status.st_size)};
}

// --- adding
// --------------------------------------------------------------------------------------------------

Objects::Use::Use(Objects& objects) : objects_(objects) {
  const std::lock_guard lock(objects_.mutex_);
  objects_.uses_.insert(this);
}

Objects::Use::~Use() {
  for (const Pending& pending : pending_)  // never committed; what stays is removed at the next start
    unlinkat(objects_.temporary_.get(), pending.temporary.c_str(), 0);
  const std::lock_guard lock(objects_.mutex_);
  objects_.uses_.erase(this);
  if (objects_.sweeping_) objects_.needed_since_.merge(needed_);
}

void Objects::Use::need(const ObjectName& name) {
  const std::lock_guard lock(objects_.mutex_);
  needed_.insert(name);
}

/// First it is needed and then it is looked for: so a sweep does not remove it in between.
bool Objects::Use::is_there(const ObjectName& name, std::uint64_t size) {
  need(name);
  {
    const std::lock_guard lock(objects_.mutex_);
    if (objects_.unflushed_.contains(name)) return false;  // another use adds it, but may not come to its end
  }
  struct stat status{};
  // One of another size is damaged, and is replaced.
  return added_.contains(name) ||
         (objects_.status(name, status) && static_cast<std::uint64_t>(status.st_size) == size);
}

Result<Hash> Objects::Use::add_bytes(std::string_view bytes) {
  return keep({sha256(bytes)}, bytes, 0);
}

Result<Hash> Objects::Use::keep(const ObjectName& name, std::string_view bytes, std::int64_t mtime_ns) {
  if (is_there(name, bytes.size())) return name.hash;
  std::string temporary;
  auto file = begin(temporary);
  if (!file) return tl::unexpected(file.error());
  if (const int code = write_all(file->get(), bytes)) {
    unlinkat(objects_.temporary_.get(), temporary.c_str(), 0);
    return unavailable("write", code);
  }
  auto finished = finish(name, std::move(temporary), std::move(*file), mtime_ns);
  if (!finished) return tl::unexpected(finished.error());
  return name.hash;
}

Result<Hash> Objects::Use::add_file(int fd, std::uint64_t size, bool executable, std::int64_t mtime_ns) {
  if (size > small_bytes_max) return add_large(fd, size, executable, mtime_ns);
  std::string bytes;
  bytes.reserve(size);
  // One more than there should be, to see that it ends there.
  const auto done = read_parts(fd, size + 1, [&](std::string_view part) {
    bytes += part;
    return true;
  });
  if (done < 0) return fail(ErrorCode::workspace_refused, errno_text(errno));
  if (bytes.size() != size) return changed();
  return keep({sha256(bytes), executable}, bytes, mtime_ns);
}

/// Read twice where it is new: hashed, then copied. Most large files are there already.
Result<Hash> Objects::Use::add_large(int fd, std::uint64_t size, bool executable, std::int64_t mtime_ns) {
  Sha256 hash;
  const auto done = read_parts(fd, size + 1, [&](std::string_view part) {
    hash.add(part);
    return true;
  });
  if (done < 0) return fail(ErrorCode::workspace_refused, errno_text(errno));
  if (static_cast<std::uint64_t>(done) != size) return changed();
  const ObjectName name{hash.finish(), executable};
  if (is_there(name, size)) return name.hash;

  std::string temporary;
  auto file = begin(temporary);
  if (!file) return tl::unexpected(file.error());
  Sha256 copied;
  int failure = 0;
  read_parts(fd, size, [&](std::string_view part) {
    copied.add(part);
    return (failure = write_all(file->get(), part)) == 0;
  });
  if (failure == 0 && copied.finish() == name.hash) {
    auto finished = finish(name, std::move(temporary), std::move(*file), mtime_ns);
    if (!finished) return tl::unexpected(finished.error());
    return name.hash;
  }
  unlinkat(objects_.temporary_.get(), temporary.c_str(), 0);
  if (failure != 0) return unavailable("write", failure);
  return changed();
}

Result<Fd> Objects::Use::begin(std::string& temporary) {
  temporary = fmt::format("{}", objects_.next_.fetch_add(1));
  Fd file(openat(objects_.temporary_.get(),
                 temporary.c_str(),
                 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                 0600));
  if (!file) return unavailable("make a file", errno);
  return file;
}

/// `mtime_ns`: 0: that of its making.
Result<void> Objects::Use::finish(const ObjectName& name,
                                  std::string temporary,
                                  Fd file,
                                  std::int64_t mtime_ns) {
  const bool flushed_singly = pending_.size() < flushed_singly_max;
  pending_.push_back({name, std::move(temporary), Fd()});
  added_.insert(name);
  const FileOwner& owner = objects_.owner_;
  if (owner.uid != static_cast<uid_t>(-1) && fchown(file.get(), owner.uid, owner.gid) != 0)
    return unavailable("give a file to the user of the tools", errno);
  if (fchmod(file.get(), name.executable ? 0755 : 0644) != 0) return unavailable("set a mode", errno);
  if (mtime_ns > 0 && set_mtime(file.get(), mtime_ns) != 0) return unavailable("set a time", errno);
  struct stat status{};
  if (fstat(file.get(), &status) != 0) return unavailable("look at a file", errno);
  objects_.remember(name, status);
  // A hint: the first fsync() of several then finds the others' bytes on their way, and they share one commit
  // of the file system. What fails here fails there too.
  (void)sync_file_range(file.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  if (flushed_singly) pending_.back().file = std::move(file);
  return {};
}

int Objects::Use::flush_files() {
  // syncfs() tells of failed writes on this descriptor's file system since it was opened.
  if (pending_.size() > flushed_singly_max) return syncfs(objects_.temporary_.get()) == 0 ? 0 : errno;
  for (const Pending& pending : pending_)
    if (fsync(pending.file.get()) != 0) return errno;
  return 0;
}

Result<void> Objects::Use::commit() {
  if (const int code = objects_.flushed()) return unavailable("flush", code);
  if (pending_.empty()) return {};
  if (const int code = flush_files()) return unavailable("flush", code);
  {
    const std::lock_guard lock(objects_.mutex_);
    objects_.unflushed_.insert(added_.begin(), added_.end());
  }
  std::set<std::string> directories;
  for (const Pending& pending : pending_) {
    const std::string path = pending.name.path();
    const std::string prefix = path.substr(0, 2);
    if (directories.insert(prefix).second && mkdirat(objects_.directory_.get(), prefix.c_str(), 0700) == 0)
      directories.insert(".");
    // Two uses may add the same object: the last one stays, and is as good.
    if (renameat(
            objects_.temporary_.get(), pending.temporary.c_str(), objects_.directory_.get(), path.c_str()))
      return unavailable("name an object", errno);
  }
  for (const std::string& name : directories) {
    const Fd directory(openat(objects_.directory_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory || fsync(directory.get()) != 0) return unavailable("flush a directory", errno);
  }
  pending_.clear();
  const std::lock_guard lock(objects_.mutex_);
  for (const ObjectName& name : added_)
    objects_.unflushed_.erase(name);
  added_.clear();
  return {};
}

// --- sweeping
// --------------------------------------------------------------------------------------------------

void Objects::begin_sweep() {
  const std::lock_guard lock(mutex_);
  sweeping_ = true;
  needed_since_.clear();
}

void Objects::end_sweep() {
  const std::lock_guard lock(mutex_);
  sweeping_ = false;
  needed_since_.clear();
}

bool Objects::remove_unless_needed(const ObjectName& name,
                                   int directory,
                                   const std::string& file,
                                   int& failure) {
  const std::lock_guard lock(mutex_);
  if (needed_since_.contains(name)) return false;
  for (const Use* use : uses_)
    if (use->needed_.contains(name)) return false;
  verified_.erase(name);
  if (unlinkat(directory, file.c_str(), 0) != 0) failure = errno;
  return failure == 0;
}

Result<void> Objects::sweep(const ObjectNames& live) {
  int failure = 0;
  std::vector<std::string> prefixes, files;
  failure = list_names(directory_.get(), prefixes);
  for (const std::string& prefix : prefixes) {
    if (prefix.size() != 2 || failure != 0) continue;
    const Fd directory = open_beneath(directory_.get(), prefix, O_RDONLY | O_DIRECTORY);
    int listed = directory ? EOVERFLOW : errno;
    for (bool removed = true; listed == EOVERFLOW && removed && failure == 0;) {
      removed = false;
      listed = list_names(directory.get(), files);
      for (const std::string& file : files) {
        const auto name = parse_object(prefix, file);  // what is named otherwise is not ours
        if (name && !live.contains(*name) && failure == 0)
          removed |= remove_unless_needed(*name, directory.get(), file, failure);
      }
    }
    if (listed != 0 && listed != EOVERFLOW) failure = listed;
  }
  if (failure != 0) return unavailable("sweep", failure);
  return {};
}

}  // namespace ratchet::sandbox
