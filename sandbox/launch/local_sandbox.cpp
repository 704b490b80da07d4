#include "sandbox/launch/local_sandbox.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "sandbox/launch/files.hpp"
#include "sandbox/launch/gvisor_log.hpp"
#include "sandbox/launch/slot.hpp"

namespace ratchet::sandbox {

namespace {

#ifndef P_PIDFD
constexpr auto P_PIDFD = static_cast<idtype_t>(3);
#endif

/// proc(5): "pid (name) state parent …"; the name may hold anything.
pid_t parent_of(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return 0;
  const auto name_end = text->rfind(") ");
  pid_t parent = 0;
  if (name_end != std::string::npos && text->size() > name_end + 4)
    std::from_chars(text->data() + name_end + 4, text->data() + text->size(), parent);
  return parent;
}

Fd open_process(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

Result<std::unique_ptr<LocalSandbox>> LocalSandbox::make(LocalSandboxParts parts) {
  auto cgroup = Cgroup::make(parts.cgroups, parts.name);
  if (!cgroup) return tl::unexpected(cgroup.error());
  auto slot = make_slot(parts.places, parts.name);
  if (slot) slot = make_directory(parts.places.bundle(parts.name), 0700);
  if (slot) return std::unique_ptr<LocalSandbox>(new LocalSandbox(std::move(parts), *std::move(cgroup)));
  (void)remove_remains(parts.places, parts.cgroups, parts.name);  // the error below is the one to tell
  return tl::unexpected(slot.error());
}

Result<void> LocalSandbox::lease(const SandboxLease& lease, const std::string& workspace_directory) {
  auto limits = lease.limits;
  limits.memory_mb += parts_.own_needs.memory_mb;
  limits.pids += parts_.own_needs.pids;
  if (auto done = cgroup_.limit(limits); !done) return done;
  if (lease.filesystem == Filesystem::workspace)
    return fill_slot(parts_.places, parts_.name, workspace_directory);
  const bool writable = lease.filesystem == Filesystem::ephemeral;
  return fill_slot_with_nothing(parts_.places, parts_.name, writable, parts_.tool);
}

void LocalSandbox::find_processes(std::vector<pid_t> known) {
  for (const pid_t pid : cgroup_.processes())
    if (parent_of(pid) == ::getpid()) known.push_back(pid);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const std::scoped_lock lock(mutex_);
  for (const pid_t pid : known)
    if (auto process = pid > 0 ? open_process(pid) : Fd()) processes_.push_back(std::move(process));
}

void LocalSandbox::kill() {
  const std::scoped_lock lock(mutex_);
  // Without a group: process 1 takes its whole pid namespace along.
  for (const auto& process : processes_)
    ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  cgroup_.kill(limits::sandbox_death_timeout_ms);
  reap();
  memory_deaths_ = memory_deaths();
}

/// Those that are our children; of others, process 1 of the machine knows. By pidfd, so that it can be nobody
/// else's child.
void LocalSandbox::reap() {
  for (const auto& process : processes_) {
    pollfd ended{process.get(), POLLIN, 0};
    if (::poll(&ended, 1, static_cast<int>(limits::sandbox_death_timeout_ms)) <= 0) continue;
    siginfo_t ignored{};
    ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(process.get()), &ignored, WEXITED | WNOHANG);
  }
  processes_.clear();
}

std::uint64_t LocalSandbox::memory_deaths() {
  return std::max(memory_deaths_.load(), cgroup_.memory_deaths());
}

Result<void> LocalSandbox::destroy() {
  kill();
  const auto forgotten = parts_.forget();
  const auto removed = remove_remains(parts_.places, parts_.cgroups, parts_.name);
  if (removed && parts_.gone) std::exchange(parts_.gone, nullptr)();
  return forgotten ? removed : forgotten;
}

Result<void> remove_remains(const Places& places, const CgroupLayout& cgroups, std::string_view name) {
  const auto cgroup = Cgroup::existing(cgroups, name);
  const bool dead = cgroup.kill(limits::sandbox_death_timeout_ms);
  const auto slot = remove_slot(places, name);
  auto bundle = unmount_log(places, name);
  if (bundle) bundle = remove_tree(places.bundle(name));
  const auto group = cgroup.remove();
  if (!dead) return fail(ErrorCode::sandbox_unavailable, fmt::format("{} cannot be killed", name));
  if (!slot) return slot;
  return bundle ? group : bundle;
}

}  // namespace ratchet::sandbox
