#include "sandbox/launch/bwrap_launcher.hpp"

#include <charconv>
#include <fcntl.h>
#include <poll.h>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "sandbox/launch/child.hpp"
#include "sandbox/launch/files.hpp"
#include "sandbox/launch/local_sandbox.hpp"
#include "sandbox/launch/seccomp.hpp"

namespace ratchet::sandbox {

namespace {

/// The numbers that bubblewrap finds these under.
constexpr int info_fd = 3, filter_fd = 4;

void add(std::vector<std::string>& to, std::initializer_list<std::string> words) {
  to.insert(to.end(), words);
}

/// bubblewrap has no words for these.
std::vector<std::string> with_limits(const std::string& program) {
  return {"/usr/bin/prlimit",
          "--nofile=1024:1024",
          "--core=0:0",
          fmt::format("--fsize={}:{}", limits::workspace_bytes_max, limits::workspace_bytes_max),
          program};
}

/// All that comes until the other side closes, or the time is over.
std::string read_all(int fd, std::int64_t timeout_ms) {
  std::string out;
  char bytes[4'096];
  for (pollfd ready{fd, POLLIN, 0}; ::poll(&ready, 1, static_cast<int>(timeout_ms)) > 0;) {
    const auto count = ::read(fd, bytes, sizeof bytes);
    if (count <= 0) break;
    out.append(bytes, static_cast<std::size_t>(count));
  }
  return out;
}

/// {"child-pid": 123}
pid_t child_in(std::string_view info) {
  const auto at = info.find_first_of("0123456789");
  pid_t pid = 0;
  if (at != info.npos) std::from_chars(info.data() + at, info.data() + info.size(), pid);
  return pid;
}

}  // namespace

std::vector<std::string> bwrap_options(const Places& places, std::string_view name, int info, int filter) {
  const auto tmp = fmt::format("{}", limits::sandbox_tmp_bytes),
             home = fmt::format("{}", limits::sandbox_home_bytes);
  std::vector<std::string> out;
  add(out, {"--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"});
  add(out, {"--as-pid-1", "--new-session", "--hostname", "sandbox", "--cap-drop", "ALL"});
  for (const auto* capability : {"CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_NET_ADMIN"})
    add(out, {"--cap-add", capability});
  add(out, {"--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"});
  add(out, {"--setenv", "HOME", "/home/tool", "--setenv", "LANG", "C.UTF-8"});
  add(out, {"--ro-bind", places.rootfs(), "/", "--proc", "/proc", "--dev", "/dev"});
  add(out, {"--perms", "1777", "--size", tmp, "--tmpfs", "/dev/shm"});
  add(out, {"--perms", "1777", "--size", tmp, "--tmpfs", "/tmp"});
  add(out, {"--perms", "1777", "--size", home, "--tmpfs", "/home/tool"});
  add(out, {"--ro-bind", places.guest(), std::string(guest_program)});
  // The directory is root's, so nobody inside writes to it. Read-only it would make what is mounted below it
  // later read-only too.
  add(out, {"--bind", places.slot(name), std::string(slot_inside)});
  add(out,
      {"--info-fd", fmt::format("{}", info), "--seccomp", fmt::format("{}", filter), "--chdir", "/", "--"});
  return out;
}

BwrapLauncher::BwrapLauncher(Machine machine, std::string program, std::string version)
    : machine_(std::move(machine)), program_(std::move(program)), filter_(seccomp_program()) {
  status_.available = true;
  status_.runtime = std::move(version);
  status_.weaker = weaker(machine_);
  status_.weaker.emplace_back("evidence: refused system calls are not counted");
  status_.weaker.push_back(shared_users("bubblewrap gives each none of its own"));
  status_.weaker.emplace_back("files: /tmp and the home directory are bounded in bytes, not in files");
}

Result<void> BwrapLauncher::launch(LocalSandbox& sandbox,
                                   const std::vector<std::string>& argv,
                                   int in,
                                   int out) const {
  auto info = make_pipe(), err = make_pipe();
  if (!info) return tl::unexpected(info.error());
  if (!err) return tl::unexpected(err.error());
  if (!filter_) return tl::unexpected(filter_.error());
  // Read from its start, whoever reads another one meanwhile.
  const Fd filter(::open(fmt::format("/proc/self/fd/{}", filter_->get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!filter) return system_error("cannot open the filter of system calls");
  const auto entrances = sandbox.cgroup().entrances();
  if (!entrances) return tl::unexpected(entrances.error());

  ChildPlan plan;
  plan.argv = with_limits(program_);
  for (auto& word : bwrap_options(machine_.places, sandbox.parts().name, info_fd, filter_fd))
    plan.argv.push_back(std::move(word));
  plan.argv.insert(plan.argv.end(), argv.begin(), argv.end());
  plan.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  plan.descriptors = {
      {0, in}, {1, out}, {2, err->write.get()}, {info_fd, info->write.get()}, {filter_fd, filter.get()}};
  for (const auto& entrance : *entrances)
    plan.enter.push_back(entrance.get());
  plan.as_root = machine_.namespaces.kind == Namespaces::Kind::user;
  const auto child = start_child(plan);
  if (!child) return tl::unexpected(child.error());
  info->write.reset();
  err->write.reset();
  const auto first = child_in(read_all(info->read.get(), limits::sandbox_create_timeout_ms));
  sandbox.find_processes({child->pid, first});
  if (first > 0) return {};
  return fail(
      ErrorCode::sandbox_unavailable,
      fmt::format("{}: {}", status_.runtime, read_all(err->read.get(), limits::sandbox_kill_grace_ms)));
}

Result<Started> BwrapLauncher::start_program(std::string_view name, std::vector<std::string> argv) {
  auto to_guest = make_pipe(), from_guest = make_pipe();
  if (!to_guest) return tl::unexpected(to_guest.error());
  if (!from_guest) return tl::unexpected(from_guest.error());
  auto sandbox = LocalSandbox::make({.name = std::string(name),
                                     .places = machine_.places,
                                     .cgroups = machine_.cgroups,
                                     .evidence = [] { return SandboxEvidence{}; },
                                     .forget = [] { return Result<void>(); }});
  if (!sandbox) return tl::unexpected(sandbox.error());
  const auto launched = launch(**sandbox, argv, to_guest->read.get(), from_guest->write.get());
  if (launched)
    return Started{std::move(to_guest->write), std::move(from_guest->read), *std::move(sandbox), false};
  auto text = launched.error().text;
  if (const auto removed = (*sandbox)->destroy(); !removed) text += "; and then " + removed.error().text;
  return fail(ErrorCode::sandbox_unavailable, std::move(text));
}

Result<Started> BwrapLauncher::start(std::string_view name) {
  return start_program(name, guest_words(machine_));
}

}  // namespace ratchet::sandbox
