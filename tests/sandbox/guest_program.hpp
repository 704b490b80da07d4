#pragma once
// The guest as a file, and programs that stand in for it.

#include <fcntl.h>
#include <signal.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/fd.hpp"
#include "sandbox/guest_image.hpp"
#include "tests/fakes/directory.hpp"

namespace ratchet::sandbox {

/// Written out once in a test program, as a node does at its start.
inline const std::string& guest_path() {
  static const TemporaryDirectory directory;
  static const std::string path = [] {
    const auto to = directory.path() + "/guest";
    const Fd fd(::open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
    const auto image = guest_image();
    RATCHET_ENSURE(::write(fd.get(), image.data(), image.size()) == static_cast<ssize_t>(image.size()),
                   "the guest cannot be written");
    return to;
  }();
  return path;
}

/// The guest as a plain process of this user.
inline std::vector<std::string> plain_guest() {
  return {guest_path(), "serve", "--plain"};
}

/// A process with pipes at its standard input and output. Killed and reaped with this.
class PipedProcess {
 public:
  explicit PipedProcess(const std::vector<std::string>& words) {
    int in[2], out[2];
    RATCHET_ENSURE(::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0, "no pipes");
    std::vector<char*> pointers;
    for (const auto& word : words)
      pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::execv(pointers[0], pointers.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = Fd(in[1]);
    from_ = Fd(out[0]);
  }

  ~PipedProcess() { end(); }

  PipedProcess(const PipedProcess&) = delete;
  PipedProcess& operator=(const PipedProcess&) = delete;

  pid_t pid() const { return pid_; }

  Fd& to() { return to_; }

  Fd& from() { return from_; }

  void signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
  }

  /// Its exit status; of one that a signal ended, minus its number.
  int wait() {
    int status = 0;
    while (pid_ > 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  void end() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    wait();
  }

 private:
  pid_t pid_ = -1;
  Fd to_, from_;
};

}  // namespace ratchet::sandbox
