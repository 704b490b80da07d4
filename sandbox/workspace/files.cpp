#include "sandbox/workspace/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <memory>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/limits.hpp"

namespace ratchet::sandbox {

namespace {

constexpr std::size_t part_bytes = 256u << 10;
/// Deeper directories are moved up before they are emptied: each level holds a descriptor.
constexpr std::size_t levels_max = 64;

/// Empties a directory depth first.
class Remover {
 public:
  explicit Remover(int top) : top_(top) {}

  int remove(int directory, const std::string& name, std::size_t level) {
    if (unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return 0;
    if (errno != EISDIR && errno != EPERM) return errno;
    if (level == levels_max) return move_up(directory, name);
    if (const int code = empty(directory, name, level)) return code;
    return unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 ? 0 : errno;
  }

  /// Empties a directory, and then what was moved up from it.
  int empty_top() {
    if (const int code = empty(top_, 0)) return code;
    for (std::size_t i = 0; i < moved_.size(); ++i)  // which may move more
      if (const int code = remove(top_, std::string(moved_[i]), 1)) return code;
    return 0;
  }

 private:
  int empty(int directory, std::size_t level) {
    fchmod(directory, 0700);  // where that is refused, removing tells
    std::vector<std::string> names;
    for (int listed = EOVERFLOW; listed == EOVERFLOW;) {
      listed = list_names(directory, names);
      if (listed != 0 && listed != EOVERFLOW) return listed;
      for (const std::string& name : names)
        if (const int code = remove(directory, name, level + 1)) return code;
    }
    return 0;
  }

  int empty(int directory, const std::string& name, std::size_t level) {
    Fd opened = open_beneath(directory, name, O_RDONLY | O_DIRECTORY);
    if (!opened && errno == EACCES && fchmodat(directory, name.c_str(), 0700, 0) == 0)
      opened = open_beneath(directory, name, O_RDONLY | O_DIRECTORY);
    return opened ? empty(opened.get(), level) : errno;
  }

  int move_up(int directory, const std::string& name) {
    for (;; ++next_) {
      std::string moved = fmt::format(".removed-{}", next_);
      if (renameat2(directory, name.c_str(), top_, moved.c_str(), RENAME_NOREPLACE) == 0) {
        moved_.push_back(std::move(moved));
        return 0;
      }
      if (errno != EEXIST) return errno;  // a name of the hostile one's
    }
  }

  int top_;
  std::uint64_t next_ = 0;
  std::vector<std::string> moved_;
};

}  // namespace

Fd open_beneath(int directory, const std::string& name, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  for (;;) {
    const long fd = syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how);
    // EAGAIN: a rename somewhere made the kernel unsure whether it had stayed beneath.
    if (fd >= 0 || (errno != EINTR && errno != EAGAIN)) return Fd(static_cast<int>(fd));
  }
}

Fd open_directory(const std::string& path) {
  return Fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

int list_names(int directory, std::vector<std::string>& names) {
  names.clear();
  // A descriptor of its own: reading moves its place.
  Fd own(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own) return errno;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(own.get()), closedir);
  if (!stream) return errno;
  own.release();
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(stream.get());
    if (!entry) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == limits::workspace_files_max) return EOVERFLOW;
    names.emplace_back(name);
  }
  if (errno != 0) return errno;
  std::sort(names.begin(), names.end());  // char_traits compares bytes as unsigned
  return 0;
}

int read_link(int directory, const std::string& name, std::string& target) {
  target.resize(limits::workspace_path_bytes_max + 1);
  const ssize_t bytes = readlinkat(directory, name.c_str(), target.data(), target.size());
  if (bytes < 0) return errno;
  if (static_cast<std::size_t>(bytes) == target.size()) return ENAMETOOLONG;
  target.resize(static_cast<std::size_t>(bytes));
  return 0;
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::int64_t read_parts(int fd, std::uint64_t size, const std::function<bool(std::string_view)>& take) {
  static thread_local std::array<char, part_bytes> part;
  std::uint64_t done = 0;
  while (done < size) {
    const ssize_t bytes =
        pread(fd, part.data(), std::min<std::uint64_t>(part.size(), size - done), static_cast<off_t>(done));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return -1;
    if (bytes == 0) break;
    done += static_cast<std::uint64_t>(bytes);
    if (!take({part.data(), static_cast<std::size_t>(bytes)})) return -1;
  }
  return static_cast<std::int64_t>(done);
}

int set_mtime(int fd, std::int64_t mtime_ns) {
  const timespec times[] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                            {.tv_sec = mtime_ns / 1'000'000'000, .tv_nsec = mtime_ns % 1'000'000'000}};
  return futimens(fd, times);
}

int remove_tree(int directory, const std::string& name) {
  const Fd top = open_beneath(directory, name, O_RDONLY | O_DIRECTORY);
  if (!top && errno == ENOENT) return 0;
  if (!top) return errno == ENOTDIR && unlinkat(directory, name.c_str(), 0) == 0 ? 0 : errno;
  if (const int code = Remover(top.get()).empty_top()) return code;
  return unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 ? 0 : errno;
}

std::string errno_text(int code) {
  return std::generic_category().message(code);
}

}  // namespace ratchet::sandbox
