#include "sandbox/launch/child.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "sandbox/launch/files.hpp"

namespace ratchet::sandbox {

namespace {

using Steady = std::chrono::steady_clock;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const auto& text : texts)
    out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// All that the child needs, made before it exists: it shares our memory and must not allocate.
struct Prepared {
  std::vector<char*> argv, environment;
  std::vector<int> enter;
  std::vector<std::pair<int, int>> moves;  // (from, to)
  int keep_below = 3;
  bool as_root = false;
  int failed = 0;  // the child's errno
  const char* failed_at = "";
};

/// In the child, on the parent's memory (vfork): system calls only.
[[noreturn]] void become(Prepared& plan) {
  const auto give_up = [&](const char* at) {
    plan.failed = errno;
    plan.failed_at = at;
    ::_exit(127);
  };
  for (const int group : plan.enter)
    if (::write(group, "0", 1) != 1) give_up("enter its control group");
  for (const auto& [from, to] : plan.moves)
    if (::dup2(from, to) < 0) give_up("pass a descriptor");
  ::syscall(SYS_close_range, plan.keep_below, ~0u, 0);
  // By system call: the library's functions would tell our other threads to become it too.
  if (plan.as_root && (::syscall(SYS_setresgid, 0, 0, 0) != 0 || ::syscall(SYS_setresuid, 0, 0, 0) != 0))
    give_up("become root of the user namespace");
  // Ignored signals would stay ignored in every program that follows.
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number)
    if (number != SIGKILL && number != SIGSTOP) ::sigaction(number, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.argv[0], plan.argv.data(), plan.environment.data());
  give_up("be executed");
  ::_exit(127);
}

/// While the child is on our memory no handler of ours may run in it.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }

  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

[[gnu::noinline]] pid_t spawn(Prepared& plan) {
  const SignalsBlocked blocked;
  const pid_t pid = ::vfork();
  if (pid == 0) become(plan);
  return pid;
}

int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1'000;
  return exit_status(status);
}

int left_ms(Steady::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

/// Reads once. False when there will be no more.
bool read_some(int fd, std::string& into) {
  char bytes[4'096];
  const auto count = ::read(fd, bytes, sizeof bytes);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  into.append(bytes,
              std::min(static_cast<std::size_t>(count), limits::runtime_words_bytes_max - into.size()));
  return count > 0;
}

/// Until the child has ended, or the deadline is there. What is in the pipes then is read, but nothing is
/// waited for: a sandbox that was started may hold them open.
void read_both(const Child& child, int out, int err, Finished& to, Steady::time_point deadline) {
  pollfd watched[] = {{child.pidfd.get(), POLLIN, 0}, {out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* const texts[] = {nullptr, &to.out, &to.err};
  bool ended = false;
  for (;;) {
    const int ready = ::poll(watched, 3, ended ? 0 : left_ms(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return;
    for (int n = 1; n < 3; ++n)
      if (watched[n].revents != 0 && !read_some(watched[n].fd, *texts[n])) watched[n].fd = -1;
    if (watched[0].revents != 0) {
      ended = true;
      watched[0].fd = -1;
    }
  }
}

}  // namespace

Result<Child> start_child(const ChildPlan& plan) {
  const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing) return system_error("cannot open /dev/null");
  Prepared prepared{.argv = pointers(plan.argv),
                    .environment = pointers(plan.environment),
                    .enter = plan.enter,
                    .moves = {},
                    .as_root = plan.as_root};
  for (int standard = 0; standard < 3; ++standard)
    if (!plan.descriptors.contains(standard)) prepared.moves.emplace_back(nothing.get(), standard);
  for (const auto& [to, from] : plan.descriptors) {
    prepared.moves.emplace_back(from, to);
    prepared.keep_below = std::max(prepared.keep_below, to + 1);
  }
  const pid_t pid = spawn(prepared);
  if (pid < 0) return system_error(fmt::format("cannot start {}", plan.argv[0]));
  if (prepared.failed != 0) {
    reap(pid);
    errno = prepared.failed;
    return system_error(fmt::format("{} cannot {}", plan.argv[0], prepared.failed_at));
  }
  Child child{pid, Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
  if (!child.pidfd) {
    const auto error = system_error(fmt::format("cannot watch {}", plan.argv[0]));
    ::kill(pid, SIGKILL);
    reap(pid);
    return error;
  }
  return child;
}

Result<int> wait(Child& child, std::int64_t timeout_ms) {
  const auto deadline = Steady::now() + std::chrono::milliseconds(timeout_ms);
  pollfd ended{child.pidfd.get(), POLLIN, 0};
  int ready = 0;
  do
    ready = ::poll(&ended, 1, left_ms(deadline));
  while (ready < 0 && errno == EINTR);
  if (ready <= 0) ::kill(child.pid, SIGKILL);
  const int status = reap(child.pid);
  child = {};
  if (ready > 0) return status;
  return fail(ErrorCode::timeout, fmt::format("it did not end within {} ms", timeout_ms));
}

Result<Finished> run(ChildPlan plan, std::int64_t timeout_ms) {
  const auto deadline = Steady::now() + std::chrono::milliseconds(timeout_ms);
  auto out = make_pipe(), err = make_pipe();
  if (!out) return tl::unexpected(out.error());
  if (!err) return tl::unexpected(err.error());
  plan.descriptors.try_emplace(1, out->write.get());
  plan.descriptors.try_emplace(2, err->write.get());
  auto child = start_child(plan);
  if (!child) return tl::unexpected(child.error());
  out->write.reset();
  err->write.reset();
  Finished finished;
  read_both(*child, out->read.get(), err->read.get(), finished, deadline);
  auto status = wait(*child, left_ms(deadline));
  if (!status)
    return fail(status.error().code,
                fmt::format("{} did not end within {} ms: {}", plan.argv[0], timeout_ms, finished.err));
  finished.status = *status;
  return finished;
}

}  // namespace ratchet::sandbox
