#include "store/directory_lock.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace ratchet {

namespace {

tl::unexpected<Error> unavailable(std::string_view what, const std::string& path, int code) {
  return fail(ErrorCode::store_unavailable,
              fmt::format("{} {}: {}", what, path, std::generic_category().message(code)));
}

constexpr std::string_view closed = "closed";
constexpr std::size_t state_bytes = 32;

/// Of a fixed length, so that writing another state needs no space on a full disk.
bool write_state(int fd, std::string_view state) {
  const std::string text = fmt::format("{:<{}}\n", state, state_bytes - 1);
  return pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

std::string read_state(int fd) {
  std::array<char, state_bytes> text{};
  const ssize_t bytes = pread(fd, text.data(), text.size(), 0);
  const std::string_view state(text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return std::string(state.substr(0, state.find_last_not_of(" \n") + 1));
}

}  // namespace

Result<DirectoryLock> DirectoryLock::take(const std::string& data_dir) {
  std::error_code made;
  std::filesystem::create_directories(std::filesystem::path(data_dir).parent_path(), made);
  // The journal holds what users say: nobody else may read it.
  if (mkdir(data_dir.c_str(), 0700) != 0 && errno != EEXIST)
    return unavailable("cannot make the data directory", data_dir, errno);
  std::string path = data_dir + "/LOCK";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return unavailable("cannot open", path, errno);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int code = errno;
    const std::string by = read_state(fd);
    close(fd);
    if (code != EWOULDBLOCK) return unavailable("cannot lock", path, code);
    return fail(
        ErrorCode::store_unavailable,
        fmt::format("the data directory {} is in use by {}: two servers cannot share one", data_dir, by));
  }
  const std::string state = read_state(fd);
  return DirectoryLock(fd, std::move(path), !state.empty() && state != closed);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), unclean_(other.unclean_) {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(unclean_, other.unclean_);
  return *this;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) close(fd_);
}

Result<void> DirectoryLock::mark_open() {
  if (!write_state(fd_, fmt::format("process {}", getpid())) || fsync(fd_) != 0)
    return unavailable("cannot write", path_, errno);
  return {};
}

void DirectoryLock::mark_closed() {
  // A failure here costs the next start a look at the store, nothing else.
  if (!write_state(fd_, closed)) return;
}

}  // namespace ratchet
