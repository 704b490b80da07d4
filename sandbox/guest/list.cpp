#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "runtime/limits.hpp"
#include "sandbox/guest/files.hpp"

namespace ratchet::guest {
namespace {

using limits::sandbox_listed_max, limits::sandbox_visited_max;

using Parts = std::vector<std::string>;

Parts parts_of(std::string_view pattern) {
  Parts out;
  while (!pattern.empty()) {
    const auto part = pattern.substr(0, pattern.find('/'));
    if (!part.empty()) out.emplace_back(part);
    pattern.remove_prefix(std::min(pattern.size(), part.size() + 1));
  }
  return out;
}

class Lister {
 public:
  explicit Lister(Parts pattern) : pattern_(std::move(pattern)) {}

  /// Lists what matches in the directory, which is taken over; `at` are the parts of the pattern that can
  /// match there. False: it cannot be read.
  bool walk(int directory, const std::string& path, const std::vector<std::size_t>& at);

  int print();

 private:
  /// The parts that can match below a directory of that name, given those that can match at it. `whole` is
  /// set if the name itself is a match.
  std::vector<std::size_t> step(const std::vector<std::size_t>& at, const char* name, bool& whole) const;
  void visit(int directory, const char* name, const std::string& path, const std::vector<std::size_t>& at);

  const Parts pattern_;
  std::vector<std::string> lines_;
  std::size_t visited_ = 0, unreadable_ = 0, depth_ = 0;
  bool too_deep_ = false;
};

std::vector<std::size_t> Lister::step(const std::vector<std::size_t>& at,
                                      const char* name,
                                      bool& whole) const {
  std::vector<std::size_t> out;
  const auto add = [&](std::size_t part) {
    if (std::find(out.begin(), out.end(), part) == out.end()) out.push_back(part);
  };
  for (auto part : at) {
    // `**` stands for any number of directories, none too.
    for (; part < pattern_.size() && pattern_[part] == "**"; ++part) {
      if (name[0] != '.') add(part);
      whole = whole || part + 1 == pattern_.size();
    }
    if (part == pattern_.size() || ::fnmatch(pattern_[part].c_str(), name, 0) != 0) continue;
    if (part + 1 == pattern_.size())
      whole = true;
    else
      add(part + 1);
  }
  return out;
}

void Lister::visit(int directory,
                   const char* name,
                   const std::string& path,
                   const std::vector<std::size_t>& at) {
  struct stat found{};
  if (::fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return;  // gone again
  bool whole = false;
  const auto below = step(at, name, whole);
  std::string line = path + printable(name);
  if (S_ISDIR(found.st_mode)) {
    line += '/';
    if (!below.empty()) {
      const int fd = ::openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (fd < 0 || !walk(fd, line, below)) ++unreadable_;
    }
  } else if (S_ISLNK(found.st_mode)) {
    char target[4096];
    const auto size = ::readlinkat(directory, name, target, sizeof target);
    line += " -> " + printable({target, static_cast<std::size_t>(std::max<ssize_t>(0, size))});
  } else {
    line += S_ISREG(found.st_mode) ? " " + std::to_string(found.st_size) : " (not a regular file)";
  }
  if (whole) lines_.push_back(std::move(line));
}

bool Lister::walk(int directory, const std::string& path, const std::vector<std::size_t>& at) {
  if (depth_ >= limits::workspace_depth_max) {
    too_deep_ = true;
    ::close(directory);
    return true;
  }
  DIR* entries = ::fdopendir(directory);
  if (entries == nullptr) {
    ::close(directory);
    return false;
  }
  ++depth_;
  while (visited_ < sandbox_visited_max) {
    const dirent* entry = ::readdir(entries);
    if (entry == nullptr) break;
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    ++visited_;
    visit(::dirfd(entries), entry->d_name, path, at);
  }
  --depth_;
  ::closedir(entries);
  return true;
}

int Lister::print() {
  std::sort(lines_.begin(), lines_.end());
  std::string out;
  for (std::size_t at = 0; at < std::min(lines_.size(), sandbox_listed_max); ++at)
    out += lines_[at] + "\n";
  if (lines_.size() > sandbox_listed_max)
    out +=
        "[" + std::to_string(lines_.size() - sandbox_listed_max) + " more match; give a narrower pattern]\n";
  if (visited_ >= sandbox_visited_max)
    out +=
        "[there are more than " + std::to_string(sandbox_visited_max) + " files; list a directory below]\n";
  if (too_deep_) out += "[some directories are too deep to be listed from here]\n";
  if (unreadable_ > 0) out += "[" + std::to_string(unreadable_) + " directories cannot be read]\n";
  if (out.empty()) out = "[nothing matches]\n";
  return write_all(STDOUT_FILENO, out) ? 0 : 1;
}

}  // namespace

int list_tool(const std::string& path, std::string_view pattern) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return complain(path, std::strerror(errno));
  Lister lister(parts_of(pattern));
  if (!lister.walk(fd, "", {0})) return complain(path, std::strerror(errno));
  return lister.print();
}

}  // namespace ratchet::guest
