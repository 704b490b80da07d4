#include "sandbox/launch/sweep.hpp"

#include <charconv>
#include <csignal>
#include <filesystem>
#include <poll.h>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "sandbox/launch/files.hpp"
#include "sandbox/launch/local_sandbox.hpp"

namespace ratchet::sandbox {

namespace {

namespace fs = std::filesystem;

/// The names in a directory; one that is not there has none.
std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (fs::directory_iterator at(directory, ignored), end; at != end; at.increment(ignored))
    out.push_back(at->path().filename().string());
  return out;
}

/// The name stands in the words of a runtime's process, and in the mounts of what runs inside. Both may be
/// denied to us: then it is nobody of ours.
bool belongs(const std::string& pid, std::string_view prefix) {
  for (const auto* file : {"cmdline", "mountinfo"})
    if (const auto text = read_file(fmt::format("/proc/{}/{}", pid, file)))
      if (text->find(prefix) != std::string::npos) return true;
  return false;
}

bool has_own_pids(const std::string& pid) {
  // A process that shares our mounts (a test's shell, a debugger) has the slots among them, and is no
  // sandbox.
  std::error_code ours_error, theirs_error;
  const auto ours = fs::read_symlink("/proc/self/ns/pid", ours_error);
  const auto theirs = fs::read_symlink(fmt::format("/proc/{}/ns/pid", pid), theirs_error);
  return !ours_error && !theirs_error && ours != theirs;
}

/// Where groups can be written, their members are dead already; this is for where they cannot.
void kill_processes(std::string_view prefix) {
  for (const auto& name : names_in("/proc")) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size() || pid == ::getpid()) continue;
    // First held, then looked at: the number cannot become another process between.
    const Fd held(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!held || !has_own_pids(name) || !belongs(name, prefix)) continue;
    ::syscall(SYS_pidfd_send_signal, held.get(), SIGKILL, nullptr, 0);
    pollfd ended{held.get(), POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>(limits::sandbox_death_timeout_ms));
  }
}

/// runc makes groups of every controller, also of those that we do not use.
void remove_groups_of_runtimes(std::string_view prefix) {
  for (const auto& hierarchy : names_in("/sys/fs/cgroup"))
    for (const auto& name : names_in("/sys/fs/cgroup/" + hierarchy))
      if (name.starts_with(prefix)) ::rmdir(fmt::format("/sys/fs/cgroup/{}/{}", hierarchy, name).c_str());
}

/// The names are numbered: 1 is not 10.
bool is_noted(std::string_view file, std::string_view name) {
  const auto at = file.find(name);
  if (at == file.npos) return false;
  const auto rest = file.substr(at + name.size());
  return rest.empty() || rest.front() < '0' || rest.front() > '9';
}

}  // namespace

Result<std::size_t> sweep(const Places& places, const CgroupLayout& cgroups, std::string_view label) {
  const auto prefix = fmt::format("{}-", label);
  std::set<std::string> names;
  for (auto& name : cgroups_named(cgroups, prefix))
    names.insert(std::move(name));
  for (const auto& directory : {places.bundles(), places.slots()})
    for (auto& name : names_in(directory))
      if (name.starts_with(prefix)) names.insert(std::move(name));
  Result<void> done;
  for (const auto& name : names)
    Cgroup::existing(cgroups, name).kill(limits::sandbox_death_timeout_ms);
  kill_processes(prefix);
  for (const auto& name : names)
    if (auto removed = remove_remains(places, cgroups, name); !removed && done) done = removed;
  remove_groups_of_runtimes(prefix);
  if (auto removed = remove_notes(places.states(), prefix); !removed && done) done = removed;
  if (!done) return tl::unexpected(done.error());
  return names.size();
}

Result<void> remove_notes(const std::string& states, std::string_view prefix) {
  for (const auto& runtime : names_in(states))
    for (const auto& name : names_in(states + "/" + runtime))
      if (name.find(prefix) != std::string::npos)
        if (auto gone = remove_tree(fmt::format("{}/{}/{}", states, runtime, name)); !gone) return gone;
  return {};
}

Result<void> remove_notes_of(const std::string& state, std::string_view name) {
  for (const auto& each : names_in(state))
    if (is_noted(each, name))
      if (auto gone = remove_tree(state + "/" + each); !gone) return gone;
  return {};
}

}  // namespace ratchet::sandbox
