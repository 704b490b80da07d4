#include "store/file.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

namespace ratchet {

File::File(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0600)) {}

File::~File() {
  if (fd_ >= 0) close(fd_);
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

bool read_all(int fd, std::string& to, std::uint64_t offset) {
  std::size_t have = 0;
  while (have < to.size()) {
    const ssize_t bytes = pread(fd, to.data() + have, to.size() - have, static_cast<off_t>(offset + have));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    have += static_cast<std::size_t>(bytes);
  }
  return true;
}

int write_private_file(const std::string& path, std::string_view bytes) {
  const std::string fresh = path + ".fresh";
  unlink(fresh.c_str());  // of a process that died meanwhile
  {
    const File file(fresh, O_WRONLY | O_CREAT | O_EXCL);
    if (!file) return errno;
    if (const int code = write_all(file.get(), bytes)) return code;
    if (fsync(file.get()) != 0) return errno;
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) return errno;
  return flush_directory(std::filesystem::path(path).parent_path().string());
}

int copy_private_file(const std::string& from, const std::string& to) {
  std::string bytes;
  {
    const File file(from, O_RDONLY);
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0) return errno;
    bytes.resize(static_cast<std::size_t>(status.st_size));
    if (!read_all(file.get(), bytes, 0)) return EIO;
  }
  const int code = write_private_file(to, bytes);
  sodium_memzero(bytes.data(), bytes.size());
  return code;
}

int flush_directory(const std::string& path) {
  const File directory(path, O_RDONLY | O_DIRECTORY);
  return directory && fsync(directory.get()) == 0 ? 0 : errno;
}

}  // namespace ratchet
