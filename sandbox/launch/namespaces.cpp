#include "sandbox/launch/namespaces.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sandbox/launch/cgroup.hpp"
#include "sandbox/launch/files.hpp"

namespace ratchet::sandbox {

namespace {

using Kind = Namespaces::Kind;

constexpr unsigned long ids = 65'536;
/// Who runs the commands inside; see the guest.
constexpr unsigned long tool_id = 1'000;

std::string text_of_errno(std::string_view what) {
  return system_error(what).value().text;
}

/// crun 1.8 does not start where a version 2 hierarchy beside version 1 has controllers, although it is told
/// to leave the groups alone. We use none of that hierarchy.
void hide_mixed_cgroups() {
  const auto controllers = read_file("/sys/fs/cgroup/unified/cgroup.controllers");
  if (controllers && controllers->size() > 1) ::umount2("/sys/fs/cgroup/unified", MNT_DETACH);
}

/// A slave: what the machine mounts later is seen, what we mount is not.
bool leave_the_mounts_of_others() {
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0;
}

Namespaces enter_as_root() {
  Namespaces out;
  if (::unshare(CLONE_NEWNS) != 0 || !leave_the_mounts_of_others()) {
    out.why = text_of_errno("no mount namespace (CAP_SYS_ADMIN is needed)");
    return out;
  }
  out.kind = Kind::root;
  hide_mixed_cgroups();
  return out;
}

struct Ranges {
  unsigned long user = 0, group = 0;

  bool complete() const { return user != 0 && group != 0; }
};

Ranges find_ranges(uid_t uid) {
  const passwd* entry = ::getpwuid(uid);
  const std::string name = entry != nullptr ? entry->pw_name : "";
  if (::access("/usr/bin/newuidmap", X_OK) != 0 || ::access("/usr/bin/newgidmap", X_OK) != 0) return {};
  return {subordinate_ids(read_file("/etc/subuid").value_or(""), name, uid),
          subordinate_ids(read_file("/etc/subgid").value_or(""), name, uid)};
}

/// 0 is the first subordinate id, the tool's is who started us, the rest are the other subordinate ones.
int run_mapper(const char* program, pid_t of, unsigned long first, unsigned long own) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const std::string words[] = {program,
                                 fmt::format("{}", of),
                                 "0",
                                 fmt::format("{}", first),
                                 fmt::format("{}", tool_id),
                                 fmt::format("{}", tool_id),
                                 fmt::format("{}", own),
                                 "1",
                                 fmt::format("{}", tool_id + 1),
                                 fmt::format("{}", first + tool_id),
                                 fmt::format("{}", ids - tool_id - 1)};
    std::vector<char*> argv;
    for (const auto& word : words)
      argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(program, argv.data());
    ::_exit(127);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

/// The maps of a process are written from outside its namespace, by programs that are set-user-id. So a child
/// stays outside until this process is inside.
class Mapper {
 public:
  Mapper(Ranges ranges, uid_t uid, gid_t gid) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    const pid_t node = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      char go = 0;
      ::close(ends[1]);
      if (::read(ends[0], &go, 1) != 1) ::_exit(1);
      ::_exit(run_mapper("/usr/bin/newuidmap", node, ranges.user, uid) != 0 ||
              run_mapper("/usr/bin/newgidmap", node, ranges.group, gid) != 0);
    }
    ::close(ends[0]);
    go_ = Fd(ends[1]);
  }

  /// True when the maps are written.
  bool finish(bool go) {
    if (go && ::write(go_.get(), "1", 1) != 1) go = false;
    go_.reset();
    int status = -1;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
    return go && status == 0;
  }

 private:
  pid_t pid_ = -1;
  Fd go_;
};

bool map_single(uid_t uid, gid_t gid) {
  return write_existing("/proc/self/setgroups", "deny") &&
         write_existing("/proc/self/uid_map", fmt::format("0 {} 1", uid)) &&
         write_existing("/proc/self/gid_map", fmt::format("0 {} 1", gid));
}

constexpr std::string_view advice =
    "user namespaces are off (sysctl kernel.unprivileged_userns_clone=1, "
    "kernel.apparmor_restrict_unprivileged_userns=0, or a container without its default seccomp profile)";

Namespaces enter_as_user() {
  Namespaces out;
  const uid_t uid = ::getuid();
  const gid_t gid = ::getgid();
  const Ranges ranges = find_ranges(uid);
  Mapper mapper(ranges, uid, gid);
  const bool made = ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
  const std::string refusal = made ? "" : text_of_errno(advice);
  if (mapper.finish(made && ranges.complete()))
    out.kind = Kind::user;
  else if (made && map_single(uid, gid))
    out.kind = Kind::single;
  if (out.kind == Kind::single)
    out.weaker.emplace_back(
        "users: there are no subordinate ids (newuidmap, /etc/subuid), so commands run as the guest's own "
        "user");
  if (out.kind == Kind::none || !leave_the_mounts_of_others()) {
    out.kind = Kind::none;
    out.why = refusal.empty() ? text_of_errno("the user namespace cannot be used") : refusal;
    return out;
  }
  // Where no group can be written, the runtimes only stumble over what they see.
  if (find_cgroups().version == CgroupLayout::Version::none &&
      ::mount("none", "/sys/fs/cgroup", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k") != 0)
    out.weaker.emplace_back(text_of_errno("the control groups cannot be hidden"));
  return out;
}

}  // namespace

unsigned long subordinate_ids(std::string_view text, std::string_view user_name, unsigned long user) {
  const auto number = fmt::format("{}", user);
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const auto who = line.substr(0, first);
    if (who.empty() || (who != user_name && who != number)) continue;
    unsigned long from = 0, count = 0;
    std::from_chars(line.data() + first + 1, line.data() + second, from);
    std::from_chars(line.data() + second + 1, line.data() + line.size(), count);
    if (from > 0 && count >= ids) return from;
  }
  return 0;
}

Namespaces enter_namespaces() {
  Namespaces out = ::geteuid() == 0 ? enter_as_root() : enter_as_user();
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    out.weaker.emplace_back(text_of_errno("dead sandboxes are left to process 1 to wait for"));
  return out;
}

}  // namespace ratchet::sandbox
