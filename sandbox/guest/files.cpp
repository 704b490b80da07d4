#include "sandbox/guest/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/limits.hpp"

namespace ratchet::guest {
namespace {

const char* kind_of(const struct stat& found) {
  if (S_ISDIR(found.st_mode)) return "is a directory";
  return S_ISREG(found.st_mode) ? nullptr : "is not a regular file";
}

/// The file, or -1 and a complaint. A FIFO does not hold it up, a device is not touched.
int open_file(const std::string& path, struct stat& found) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 || ::fstat(fd, &found) != 0) {
    complain(path, std::strerror(errno));
    return -1;
  }
  if (const char* wrong = kind_of(found)) {
    complain(path, wrong);
    ::close(fd);
    return -1;
  }
  return fd;
}

/// Until its end. False: it failed, with errno; or it is longer than `bytes_max`, with EFBIG.
bool read_all(int fd, std::size_t bytes_max, std::string& to) {
  char bytes[64 << 10];
  for (;;) {
    const auto count = ::read(fd, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0;
    to.append(bytes, static_cast<std::size_t>(count));
    if (to.size() > bytes_max) {
      errno = EFBIG;
      return false;
    }
  }
}

void make_parents(const std::string& path) {
  // One that cannot be made is told when the file cannot be opened.
  for (auto at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    ::mkdir(path.substr(0, at).c_str(), 0755);
}

/// Where a link leads, so that it is the file behind it that is replaced, and not the link.
std::string resolved(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string out = real;
  std::free(real);
  return out;
}

bool write_in_place(const std::string& path, std::string_view content) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  const bool written = write_all(fd, content);
  return ::close(fd) == 0 && written;
}

/// All of it or nothing: a new file takes the place of the old one. Where the directory takes none, but the
/// file itself can be written, it is written in place.
bool replace_file(const std::string& path, mode_t mode, std::string_view content) {
  const auto slash = path.rfind('/');
  std::string made = (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + ".ratchet-XXXXXX";
  const int fd = ::mkostemp(made.data(), O_CLOEXEC);
  if (fd < 0) return (errno == EACCES || errno == EROFS) && write_in_place(path, content);
  bool written = write_all(fd, content) && ::fchmod(fd, mode) == 0;
  written = ::close(fd) == 0 && written && ::rename(made.c_str(), path.c_str()) == 0;
  if (written) return true;
  const int failed = errno;
  ::unlink(made.c_str());
  errno = failed;
  // A file that is a mount of its own cannot be replaced.
  return failed == EBUSY && write_in_place(path, content);
}

int put(const std::string& path, std::string_view content) {
  struct stat found{};
  const bool exists = ::stat(path.c_str(), &found) == 0;
  if (exists && kind_of(found) != nullptr) return complain(path, kind_of(found));
  if (!replace_file(resolved(path), exists ? found.st_mode & 0777 : 0644, content))
    return complain(path, std::strerror(errno));
  return 0;
}

int say(const std::string& text) {
  return write_all(STDOUT_FILENO, text + "\n") ? 0 : 1;
}

}  // namespace

std::string printable(std::string_view bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    if (value == '\n')
      out += "\\n";
    else if (value < 0x20 || value == 0x7f)
      out.append("\\x").append(1, digits[value >> 4]).append(1, digits[value & 15]);
    else
      out += byte;
  }
  return out;
}

int complain(std::string_view path, std::string_view what) {
  write_all(STDERR_FILENO, printable(path) + ": " + std::string(what) + "\n");
  return 1;
}

long long number(std::string_view text) {
  if (text.empty() || text.size() > 18) return -1;
  long long value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return -1;
    value = value * 10 + (digit - '0');
  }
  return value;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

int read_tool(const std::string& path, std::string_view offset_text, std::string_view limit_text) {
  const auto offset = number(offset_text), limit = number(limit_text);
  if (offset < 0 || limit < 0) return complain(path, "the offset and the limit have to be whole numbers");
  struct stat found{};
  const int fd = open_file(path, found);
  if (fd < 0) return 1;
  if (offset > found.st_size)
    return complain(path, "it has only " + std::to_string(found.st_size) + " bytes");
  char bytes[64 << 10];
  auto at = offset;
  char last = '\n';
  while (at - offset < limit) {
    const auto wanted = std::min<long long>(sizeof bytes, limit - (at - offset));
    const auto count = ::pread(fd, bytes, static_cast<std::size_t>(wanted), at);
    if (count < 0) return complain(path, std::strerror(errno));
    if (count == 0) return 0;
    if (!write_all(STDOUT_FILENO, {bytes, static_cast<std::size_t>(count)})) return 1;
    at += count;
    last = bytes[count - 1];
  }
  if (at >= found.st_size) return 0;
  return say((last == '\n' ? "[" : "\n[") + std::to_string(found.st_size - at) + " of " +
             std::to_string(found.st_size) + " bytes follow, from offset " + std::to_string(at) + "]");
}

int write_tool(const std::string& path) {
  std::string content;
  if (!read_all(STDIN_FILENO, ~std::size_t{0}, content)) return complain(path, std::strerror(errno));
  make_parents(path);
  if (put(path, content) != 0) return 1;
  return say(std::to_string(content.size()) + " bytes written to " + printable(path));
}

int edit_tool(const std::string& path, std::string_view all, std::string_view old_bytes) {
  std::string input;
  if (!read_all(STDIN_FILENO, ~std::size_t{0}, input)) return complain(path, std::strerror(errno));
  const auto old_size = number(old_bytes);
  if (old_size <= 0 || static_cast<std::size_t>(old_size) > input.size())
    return complain(path, "the old text is empty");
  const auto old_text = std::string_view(input).substr(0, static_cast<std::size_t>(old_size));
  const auto new_text = std::string_view(input).substr(old_text.size());
  if (old_text == new_text) return complain(path, "the old and the new text are equal");

  struct stat found{};
  const int fd = open_file(path, found);
  if (fd < 0) return 1;
  std::string content, edited;
  if (!read_all(fd, limits::sandbox_edit_bytes_max, content)) return complain(path, std::strerror(errno));
  std::size_t count = 0, from = 0;
  for (std::size_t at; (at = content.find(old_text, from)) != std::string::npos;
       from = at + old_text.size()) {
    ++count;
    edited.append(content, from, at - from).append(new_text);
  }
  edited.append(content, from);
  if (count == 0) {
    const bool other_line_ends = content.find("\r\n") != std::string::npos &&
                                 old_text.find('\n') != std::string::npos &&
                                 old_text.find('\r') == std::string::npos;
    return complain(path,
                    other_line_ends
                        ? "the old text was not found; the lines of this file end with \\r\\n"
                        : "the old text was not found; read the file and give it exactly as it is");
  }
  if (count > 1 && all != "1")
    return complain(path,
                    "the old text was found " + std::to_string(count) +
                        " times; give more of what is around it, or replace all");
  if (put(path, edited) != 0) return 1;
  return say(std::to_string(count) + (count == 1 ? " occurrence" : " occurrences") + " replaced in " +
             printable(path));
}

}  // namespace ratchet::guest
