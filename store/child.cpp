#include "store/child.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace ratchet {

namespace {

constexpr rlim_t cpu_seconds_max = 600;

[[noreturn]] void be_the_child(int to_parent, const std::function<void(const Say&)>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGABRT, SIGBUS, SIGSEGV, SIGXCPU})
    std::signal(signal, SIG_DFL);
  const rlimit no_core{0, 0}, cpu{cpu_seconds_max, cpu_seconds_max};
  setrlimit(RLIMIT_CORE, &no_core);
  setrlimit(RLIMIT_CPU, &cpu);
  // LMDB says what it thinks of a page on stderr; the parent says it better.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);

  work([to_parent](std::string_view line) {
    std::string text(line);
    for (std::string_view rest = text += '\n'; !rest.empty();) {
      const ssize_t written = write(to_parent, rest.data(), rest.size());
      if (written < 0 && errno != EINTR) _exit(1);
      if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
    }
  });
  _exit(0);
}

}  // namespace

Result<int> run_in_child(const std::function<void(const Say&)>& work, const Say& hear) {
  const auto unavailable = [](std::string_view what) {
    return fail(ErrorCode::store_unavailable,
                fmt::format("cannot {} for a check: {}", what, std::generic_category().message(errno)));
  };
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return unavailable("make a pipe");
  const pid_t child = fork();
  if (child < 0) {
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return unavailable("make a process");
  }
  if (child == 0) be_the_child(pipe_ends[1], work);

  close(pipe_ends[1]);
  std::string heard;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t bytes = read(pipe_ends[0], buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    heard.append(buffer.data(), static_cast<std::size_t>(bytes));
    std::size_t begin = 0;
    for (std::size_t end; (end = heard.find('\n', begin)) != std::string::npos; begin = end + 1)
      hear(std::string_view(heard).substr(begin, end - begin));
    heard.erase(0, begin);
  }
  close(pipe_ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  // A sanitizer turns a signal into an exit status.
  return WEXITSTATUS(status) == 0 ? 0 : SIGABRT;
}

}  // namespace ratchet
