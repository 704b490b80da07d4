#include "sandbox/launch/files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>

#include <fmt/format.h>

namespace ratchet::sandbox {

namespace {

constexpr std::size_t file_bytes_max = 1u << 20;

Result<void> write_all(int fd, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(fmt::format("cannot write {}", path));
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace

tl::unexpected<Error> system_error(std::string_view what) {
  const auto text = std::error_code(errno, std::generic_category()).message();
  return fail(ErrorCode::sandbox_unavailable, fmt::format("{}: {}", what, text));
}

Result<std::string> read_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return system_error(fmt::format("cannot read {}", path));
  std::string out;
  char bytes[4'096];
  for (;;) {
    const auto count = ::read(file.get(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(fmt::format("cannot read {}", path));
    if (count == 0) return out;
    out.append(bytes, static_cast<std::size_t>(count));
    if (out.size() > file_bytes_max)
      return fail(ErrorCode::sandbox_unavailable,
                  fmt::format("{} has more than {} bytes", path, file_bytes_max));
  }
}

Result<void> write_existing(const std::string& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file) return system_error(fmt::format("cannot write {}", path));
  return write_all(file.get(), path, text);
}

Result<void> write_new(const std::string& path, std::string_view text, unsigned mode) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file) return system_error(fmt::format("cannot make {}", path));
  if (::fchmod(file.get(), mode) != 0) return system_error(fmt::format("cannot set the mode of {}", path));
  return write_all(file.get(), path, text);
}

Result<void> make_directory(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0) {
    if (::chmod(path.c_str(), mode) != 0) return system_error(fmt::format("cannot set the mode of {}", path));
    return {};
  }
  if (errno == EEXIST) return {};
  const auto parent = std::filesystem::path(path).parent_path().string();
  if (errno != ENOENT || parent.empty() || parent == path)
    return system_error(fmt::format("cannot make {}", path));
  if (auto made = make_directory(parent, mode); !made) return made;
  return make_directory(path, mode);
}

Result<void> remove_tree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) return {};
  return fail(ErrorCode::sandbox_unavailable, fmt::format("cannot remove {}: {}", path, error.message()));
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace ratchet::sandbox
