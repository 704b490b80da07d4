#pragma once
// A child process under the test's control: it reports through a pipe and is killed when the test says so.

#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/result.hpp"

namespace ratchet {

class ChildProcess {
 public:
  /// Runs `work` in a child; `report` sends a number to the parent. The child waits for its death afterwards.
  explicit ChildProcess(const std::function<void(const std::function<void(std::uint64_t)>& report)>& work) {
    std::array<int, 2> ends{};
    RATCHET_ENSURE(pipe(ends.data()) == 0, "no pipe");
    pid_ = fork();
    RATCHET_ENSURE(pid_ >= 0, "no process");
    if (pid_ == 0) {
      close(ends[0]);
      work([fd = ends[1]](std::uint64_t number) {
        if (write(fd, &number, sizeof number) != sizeof number) _exit(1);
      });
      for (;;)
        pause();
    }
    close(ends[1]);
    from_child_ = ends[0];
  }

  ~ChildProcess() {
    if (pid_ > 0) kill_now();
    close(from_child_);
  }

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  /// The next number that the child reports; false once there will be none.
  bool hear(std::uint64_t& number) const {
    return read(from_child_, &number, sizeof number) == sizeof number;
  }

  /// SIGKILL. What the child had reported before can still be heard.
  void kill_now() {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  int from_child_ = -1;
};

/// What became of `work` in a child of its own: the signal that ended it, or 0.
inline int signal_of(const std::function<void()>& work) {
  const pid_t pid = fork();
  RATCHET_ENSURE(pid >= 0, "no process");
  if (pid == 0) {
    for (const int signal : {SIGABRT, SIGBUS, SIGSEGV})
      std::signal(signal, SIG_DFL);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace ratchet
