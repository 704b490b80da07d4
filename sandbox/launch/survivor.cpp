#include "sandbox/launch/survivor.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sandbox/launch/files.hpp"
#include "sandbox/launch/sweep.hpp"

namespace ratchet::sandbox {

namespace {

/// Keeps nothing of the node's but the pipe: who waits for the end of the node's output must not wait for us.
void let_go_of_everything_but(int orders) {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE})
    ::signal(number, SIG_IGN);
  ::setsid();
  ::prctl(PR_SET_NAME, "ratchet-after");
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int standard = 0; standard < 3; ++standard)
    ::dup2(nothing, standard);
  ::dup2(orders, 3);
  ::syscall(SYS_close_range, 4u, ~0u, 0u);
}

/// Until nobody can write any more.
std::string read_orders(int fd) {
  std::string out;
  char bytes[4'096];
  for (;;) {
    const auto count = ::read(fd, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return out;
    out.append(bytes, static_cast<std::size_t>(count));
  }
}

[[noreturn]] void survive(int orders, const CgroupLayout& cgroups) {
  let_go_of_everything_but(orders);
  const auto order = read_orders(3);
  const auto line = order.find('\n');
  // What is left then is told by the next start, which has somebody to tell.
  if (line != order.npos) (void)sweep(Places(order.substr(line + 1)), cgroups, order.substr(0, line));
  ::_exit(0);
}

}  // namespace

Result<Survivor> Survivor::start() {
  // Before there is a second process: of version 2 a node moves into a group of its own first.
  const auto cgroups = find_cgroups();
  auto pipe = make_pipe();
  if (!pipe) return tl::unexpected(pipe.error());
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("no process can be started");
  if (pid == 0) survive(pipe->read.get(), cgroups);
  return Survivor(std::move(pipe->write));
}

Result<void> Survivor::entrust(const Places& places, std::string_view label) {
  if (!orders_) return {};
  const auto order = fmt::format("{}\n{}", label, places.root());
  // Short enough to be written whole.
  if (::write(orders_.get(), order.data(), order.size()) == static_cast<ssize_t>(order.size())) return {};
  return system_error("what a killed node leaves can be entrusted to nobody");
}

}  // namespace ratchet::sandbox
