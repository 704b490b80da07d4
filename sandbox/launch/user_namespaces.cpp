#include "sandbox/launch/user_namespaces.hpp"

#include <fcntl.h>
#include <functional>
#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "sandbox/launch/files.hpp"

namespace ratchet::sandbox {

namespace {

/// No convention gives this range to anybody: UIDS-GIDS.md of systemd lists what is in use.
constexpr std::uint32_t first_owner = 0x7000'0000, owners = 0x1000'0000;
constexpr std::uint32_t owners_of_a_node = 1'024;
static_assert(limits::sandboxes_max <= owners_of_a_node);

/// A copy of a process with threads: system calls only, until it ends. It becomes the owner without giving up
/// its powers, makes the namespace, tells so with an errno, and stays until nobody waits for it any more.
[[noreturn]] void hold_a_namespace(std::uint32_t owner, int told, int until) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct powers[2];
  const bool made = ::syscall(SYS_capget, &header, powers) == 0 &&
                    ::syscall(SYS_setresgid, -1, owner, -1) == 0 &&
                    ::syscall(SYS_setresuid, -1, owner, -1) == 0 &&
                    ::syscall(SYS_capset, &header, powers) == 0 && ::unshare(CLONE_NEWUSER) == 0;
  const int error = made ? 0 : errno;
  if (::write(told, &error, sizeof error) == sizeof error && made) {
    char nothing = 0;
    (void)!::read(until, &nothing, 1);
  }
  ::_exit(0);
}

Result<Fd> open_mapped(pid_t pid) {
  std::string map;
  for (const auto user : users_inside)
    map += fmt::format("{0} {0} 1\n", user);
  for (const auto* file : {"uid_map", "gid_map"})
    if (auto done = write_existing(fmt::format("/proc/{}/{}", pid, file), map); !done)
      return tl::unexpected(done.error());
  Fd space(::open(fmt::format("/proc/{}/ns/user", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!space) return system_error("cannot open a user namespace");
  return space;
}

Result<Fd> make_namespace(std::uint32_t owner) {
  auto told = make_pipe(), until = make_pipe();
  if (!told) return tl::unexpected(told.error());
  if (!until) return tl::unexpected(until.error());
  const pid_t pid = ::_Fork();
  if (pid < 0) return system_error("cannot start a process for a user namespace");
  if (pid == 0) {
    ::close(until->write.get());
    hold_a_namespace(owner, told->write.get(), until->read.get());
  }
  told->write.reset();
  int error = EIO;  // it has died
  (void)!::read(told->read.get(), &error, sizeof error);
  Result<Fd> space;
  if (error == 0) {
    space = open_mapped(pid);
  } else {
    errno = error;
    space = system_error("cannot make a user namespace");
  }
  until->write.reset();
  ::waitpid(pid, nullptr, 0);
  return space;
}

}  // namespace

UserNamespaces::UserNamespaces(std::string_view label)
    : first_(first_owner +
             static_cast<std::uint32_t>(std::hash<std::string_view>()(label) % (owners / owners_of_a_node)) *
                 owners_of_a_node) {}

Result<UserNamespaces::Lent> UserNamespaces::take() {
  std::uint32_t owner = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (!free_.empty()) {
      Lent lent = std::move(free_.back());
      free_.pop_back();
      return lent;
    }
    if (made_ == owners_of_a_node)
      return fail(ErrorCode::sandbox_unavailable,
                  fmt::format("there are {} user namespaces of sandboxes already", made_));
    owner = first_ + made_++;
  }
  auto space = make_namespace(owner);
  if (!space) return tl::unexpected(space.error());
  return Lent{owner, std::move(*space)};
}

void UserNamespaces::give_back(Lent lent) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(std::move(lent));
}

}  // namespace ratchet::sandbox
