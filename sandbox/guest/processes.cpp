#include "sandbox/guest/processes.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/guest/system.hpp"

namespace ratchet::guest {
namespace {

constexpr const char* pids_group = "/sys/fs/cgroup/pids/tool";
constexpr const char* pids_max = "/sys/fs/cgroup/pids/tool/pids.max";
constexpr const char* pids_members = "/sys/fs/cgroup/pids/tool/cgroup.procs";

bool processes_bounded = false;

bool write_file(const char* path, std::string_view text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return written;
}

bool drop_capabilities() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  return ::syscall(SYS_capset, &head, none) == 0;
}

bool lose_power(const Identity& identity) {
  if (identity.mode == Mode::plain) return true;
  if (identity.mode == Mode::sandbox &&
      (::setgroups(0, nullptr) != 0 || ::setresgid(identity.uid, identity.uid, identity.uid) != 0 ||
       ::setresuid(identity.uid, identity.uid, identity.uid) != 0))
    return false;
  return drop_capabilities();
}

/// In the child, which borrows the guest's memory until it executes: it allocates nothing and returns only on
/// failure, with errno.
void become(const Identity& identity, const Spawn& what, char* const* words, char* const* environment) {
  if (::setsid() < 0) return;
  if (::dup2(what.in, STDIN_FILENO) < 0 || ::dup2(what.out, STDOUT_FILENO) < 0 ||
      ::dup2(what.error, STDERR_FILENO) < 0)
    return;
  // Where memory runs out, the command is to die and not the guest. It is a preference: where it cannot be
  // told, the host sees the sandbox end and starts another one.
  (void)write_file("/proc/self/oom_score_adj", "500");
  if (processes_bounded && !write_file(pids_members, "0")) return;
  if (!lose_power(identity)) return;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  // Everything of the guest is close-on-exec already; this is the second lock on that door.
  (void)::syscall(SYS_close_range, 3u, ~0u, 0u);
  // As the command's user: what that one may not enter is refused.
  if (::chdir(what.directory.c_str()) != 0) return;
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(words[0], words, environment);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const auto& text : texts)
    out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// Of a plain guest: its children now. Orphans become its children, so that ending children until none is
/// left ends all descendants.
void kill_children() {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/children", static_cast<int>(::getpid()));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) die("the children of the guest cannot be listed");
  std::string text;
  char bytes[4096];
  for (ssize_t count; (count = ::read(fd, bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<std::size_t>(count));
  ::close(fd);
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    const auto pid = static_cast<pid_t>(std::strtol(at, &end, 10));
    if (end == at) break;
    if (pid > 1) ::kill(pid, SIGKILL);
    at = end + std::strspn(end, " ");
  }
}

}  // namespace

void prepare(const Identity& identity) {
  // A runtime may have left some ignored, which a command would inherit.
  for (int number = 1; number < NSIG; ++number)
    ::signal(number, SIG_DFL);
  ::umask(022);
  if (identity.mode == Mode::plain) {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) die("orphans cannot be adopted");
  } else {
    // Else `kill_all` would reach processes that are not of this sandbox.
    if (::getpid() != 1) die("the guest is to be process 1 of a PID namespace");
    if (identity.uid == 0 || (identity.mode == Mode::same_user && ::getuid() == 0))
      die("commands are not run as root");
  }
  // Not to be traced or looked into by a command, even by one of the same user.
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) die("the guest cannot be made undumpable");
}

void bound_processes(std::uint32_t count) {
  if (::mkdir(pids_group, 0755) != 0 && errno != EEXIST) die("no group to bound processes");
  if (!write_file(pids_max, std::to_string(count))) die("processes cannot be bounded");
  processes_bounded = true;
}

bool make_pipe(const Identity& identity, int ends[2]) {
  if (identity.mode != Mode::sandbox) return ::pipe2(ends, O_CLOEXEC) == 0;
  const uid_t own = ::geteuid();
  if (::seteuid(identity.uid) != 0) return false;
  const int made = ::pipe2(ends, O_CLOEXEC);
  const int failed = errno;
  if (::seteuid(own) != 0) die("the guest lost its user");
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // which a change of user may reset
  errno = failed;
  return made == 0;
}

pid_t spawn_process(const Identity& identity, const Spawn& what) {
  const auto words = pointers(what.words);
  const auto environment = pointers(what.environment);
  // The child's writes to memory are seen here, and this thread waits until it has executed or ended: so the
  // errno needs no pipe. All signals are blocked (see serve.cpp), so that no handler runs in between.
  static volatile int failed;
  failed = 0;
  const pid_t child = ::vfork();
  if (child == 0) {
    become(identity, what, words.data(), environment.data());
    failed = errno;
    ::_exit(127);
  }
  if (child < 0) return -errno;
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // the child's change of user touched the memory that was shared
  if (failed == 0) return child;
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return -failed;
}

void kill_all(const Identity& identity) {
  for (;;) {
    if (identity.mode == Mode::plain)
      kill_children();
    else if (::kill(-1, SIGKILL) != 0 && errno != ESRCH)
      die("processes cannot be killed");
    // One at a time: what was forked meanwhile, or orphaned by a death, is killed in the next round.
    if (::waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

std::uint64_t reaped_cpu_us() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto us = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
  };
  return us(used.ru_utime) + us(used.ru_stime);
}

}  // namespace ratchet::guest
