#pragma once
// A program that the load generator started, and will not leave behind.

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace ratchet::bench {

/// Dies with its starter. Its standard error goes to `log`, and so does its standard output after the first
/// line.
class Process {
 public:
  /// Starts `argv` and waits for its first line of output, which says that it is ready. Throws
  /// std::runtime_error, with the end of the log, if it ends before that or takes longer.
  Process(const std::vector<std::string>& argv, const std::filesystem::path& log, int ready_timeout_ms);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }

  const std::string& ready_line() const { return ready_line_; }

  /// SIGKILL; returns when the process is gone.
  void kill();
  /// SIGTERM, then SIGKILL when it takes too long. The exit status, or minus the signal that ended it.
  int terminate(int timeout_ms);
  /// False once it has ended by itself.
  bool alive();

 private:
  void read_ready_line(int fd, int timeout_ms);
  bool reap(bool wait);

  pid_t pid_ = -1;
  int status_ = 0;
  bool reaped_ = false;
  std::filesystem::path log_;
  std::string ready_line_;
  std::jthread drain_;
};

}  // namespace ratchet::bench
