#include "tests/crash/remains.hpp"

#include <fstream>
#include <poll.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace ratchet::crashing {

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Every hierarchy of version 1, and version 2 wherever it is mounted.
std::vector<fs::path> group_paths(const std::string& label) {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (fs::recursive_directory_iterator at("/sys/fs/cgroup", ignored), end; !ignored && at != end;
       at.increment(ignored))
    if (at->path().filename().string().starts_with(label)) out.push_back(at->path());
  return out;
}

/// True when it has ended; that it may wait for somebody to ask for its status is no matter here.
bool ends(int pid) {
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return true;
  pollfd ended{process, POLLIN, 0};
  const bool has_ended = ::poll(&ended, 1, 60'000) == 1;
  ::close(process);
  return has_ended;
}

}  // namespace

std::string node_label(const fs::path& data_dir) {
  return "ratchet-" + text_of(data_dir / "sandbox" / "node") + "-";
}

std::set<std::string> groups_of(const std::string& label) {
  std::set<std::string> out;
  struct stat status{};
  for (const auto& path : group_paths(label))
    if (::stat(path.c_str(), &status) == 0) out.insert(fmt::format("{} {}", path.string(), status.st_ino));
  return out;
}

std::vector<std::string> survivors_of(const std::string& label) {
  std::vector<std::string> out;
  for (const auto& path : group_paths(label)) {
    std::istringstream members(text_of(path / "cgroup.procs"));
    for (int pid = 0; members >> pid;)
      if (!ends(pid)) out.push_back(fmt::format("{} {}", pid, text_of(fmt::format("/proc/{}/comm", pid))));
  }
  return out;
}

std::vector<std::string> directories_of(const fs::path& data_dir) {
  std::vector<std::string> out;
  for (const char* folder : {"bundles", "slots", "states/crun", "states/runsc", "workspaces"}) {
    std::error_code ignored;
    for (fs::directory_iterator at(data_dir / "sandbox" / folder, ignored), end; at != end;
         at.increment(ignored))
      out.push_back(at->path().string());
  }
  return out;
}

}  // namespace ratchet::crashing
