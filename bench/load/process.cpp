#include "bench/load/process.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "bench/common/event_loop.hpp"

namespace ratchet::bench {

namespace {

constexpr std::size_t log_tail_bytes = 2'000;

std::string tail_of(const std::filesystem::path& log) {
  std::ifstream in(log, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  return text.size() <= log_tail_bytes ? text : text.substr(text.size() - log_tail_bytes);
}

/// The child's side of fork: only calls that are safe there.
[[noreturn]] void become(const std::vector<char*>& argv, int out, int log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(out, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execv(argv[0], argv.data());
  static constexpr std::string_view text = "cannot be executed\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  _exit(127);
}

}  // namespace

Process::Process(const std::vector<std::string>& argv, const std::filesystem::path& log, int ready_timeout_ms)
    : log_(log) {
  std::array<int, 2> out{};
  if (pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  const int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log_fd < 0) throw std::runtime_error(fmt::format("cannot write {}", log.string()));
  std::vector<char*> words;
  for (const auto& word : argv)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) become(words, out[1], log_fd);
  close(out[1]);
  close(log_fd);
  if (pid_ < 0) throw std::runtime_error("fork failed");
  try {
    read_ready_line(out[0], ready_timeout_ms);
  } catch (...) {
    close(out[0]);
    kill();
    throw;
  }
  drain_ = std::jthread([fd = out[0], path = log_] {
    std::ofstream file(path, std::ios::app);
    std::array<char, 4096> bytes;
    for (ssize_t got; (got = read(fd, bytes.data(), bytes.size())) > 0;)
      file.write(bytes.data(), got).flush();
    close(fd);
  });
}

Process::~Process() {
  if (pid_ > 0) kill();
}

void Process::read_ready_line(int fd, int timeout_ms) {
  const auto deadline_ns = now_ns() + timeout_ms * std::int64_t{1'000'000};
  for (char c = 0; c != '\n';) {
    const auto left_ms = static_cast<int>((deadline_ns - now_ns()) / 1'000'000);
    pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
    if (left_ms <= 0 || poll(&wait, 1, left_ms) == 0)
      throw std::runtime_error(
          fmt::format("not ready after {} ms; its log ends:\n{}", timeout_ms, tail_of(log_)));
    if (read(fd, &c, 1) != 1)
      throw std::runtime_error(fmt::format("ended before it was ready; its log ends:\n{}", tail_of(log_)));
    if (c != '\n') ready_line_ += c;
  }
}

bool Process::reap(bool wait) {
  if (!reaped_) reaped_ = waitpid(pid_, &status_, wait ? 0 : WNOHANG) == pid_;
  return reaped_;
}

bool Process::alive() {
  return !reap(false);
}

void Process::kill() {
  if (reap(false)) return;
  ::kill(pid_, SIGKILL);
  reap(true);
}

int Process::terminate(int timeout_ms) {
  if (!reap(false)) ::kill(pid_, SIGTERM);
  for (int waited_ms = 0; !reap(false) && waited_ms < timeout_ms; ++waited_ms)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill();
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_);
}

}  // namespace ratchet::bench
