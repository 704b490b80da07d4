#pragma once
// A program as a test drives it: its words, the lines it prints, how it ended. Killed with the test.

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

extern char** environ;

namespace ratchet::fakes {

class Process {
 public:
  /// Starts `words[0]`. What it writes to standard error goes to the file `errors`. `changes` are added to
  /// the environment; a name without `=` is taken out of it.
  Process(std::vector<std::string> words, std::string errors, const std::vector<std::string>& changes = {})
      : errors_(std::move(errors)) {
    int out[2];
    if (::pipe2(out, O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(
        &actions, STDERR_FILENO, errors_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    auto environment = changed_environment(changes);
    auto arguments = pointers(words);
    auto variables = pointers(environment);
    if (::posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, arguments.data(), variables.data()) != 0)
      pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    ::close(out[1]);
    out_ = out[0];
  }

  ~Process() {
    if (running()) {
      ::kill(pid_, SIGKILL);
      wait();
    }
    ::close(out_);
  }

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The next line of its standard output, without the end of line; nothing when that has ended, or nothing
  /// came for a minute.
  std::optional<std::string> line() {
    for (;;) {
      if (const auto end = pending_.find('\n'); end != std::string::npos) {
        auto line = pending_.substr(0, end);
        pending_.erase(0, end + 1);
        return line;
      }
      if (!read_some()) return std::nullopt;
    }
  }

  /// All the rest of its output.
  std::string rest() {
    while (read_some()) {
    }
    return std::exchange(pending_, {});
  }

  void signal(int number) const {
    if (running()) ::kill(pid_, number);
  }

  /// Its exit status; of one that a signal ended, minus its number; -1000 if it could not be started.
  int wait() {
    if (pid_ <= 0) return ended_.value_or(-1000);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    ended_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return *ended_;
  }

  /// What it has written to standard error.
  std::string errors() const {
    std::ostringstream text;
    text << std::ifstream(errors_).rdbuf();
    return text.str();
  }

 private:
  bool running() const { return pid_ > 0; }

  bool read_some() {
    pollfd ready{out_, POLLIN, 0};
    char bytes[4'096];
    if (::poll(&ready, 1, 60'000) <= 0) return false;
    const auto count = ::read(out_, bytes, sizeof bytes);
    if (count <= 0) return false;
    pending_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  static std::vector<std::string> changed_environment(const std::vector<std::string>& changes) {
    std::vector<std::string> out;
    const auto name_of = [](const std::string& text) { return text.substr(0, text.find('=')); };
    for (char** variable = environ; *variable != nullptr; ++variable) {
      bool kept = true;
      for (const auto& change : changes)
        kept = kept && name_of(change) != name_of(*variable);
      if (kept) out.emplace_back(*variable);
    }
    for (const auto& change : changes)
      if (change.find('=') != std::string::npos) out.push_back(change);
    return out;
  }

  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (auto& text : texts)
      out.push_back(text.data());
    out.push_back(nullptr);
    return out;
  }

  std::string errors_;
  pid_t pid_ = 0;
  int out_ = -1;
  std::string pending_;
  std::optional<int> ended_;
};

}  // namespace ratchet::fakes
