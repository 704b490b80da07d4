#include "sandbox/launch/seccomp.hpp"

#include <array>
#include <cerrno>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>

#include "runtime/json/object.hpp"

namespace ratchet::sandbox {

namespace {

using std::string_view_literals::operator""sv;

// Names that a machine's runtime or architecture does not know are skipped by it.
constexpr auto allowed = std::to_array<std::string_view>({
    // files by descriptor
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "pwrite64",
    "preadv",
    "pwritev",
    "preadv2",
    "pwritev2",
    "lseek",
    "_llseek",
    "close",
    "close_range",
    "dup",
    "dup2",
    "dup3",
    "fcntl",
    "fcntl64",
    "flock",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "syncfs",
    "sync",
    "ftruncate",
    "ftruncate64",
    "fallocate",
    "fadvise64",
    "fadvise64_64",
    "readahead",
    "copy_file_range",
    "sendfile",
    "sendfile64",
    "splice",
    "tee",
    "vmsplice",
    "ioctl",
    "pipe",
    "pipe2",
    // files by name
    "open",
    "openat",
    "openat2",
    "creat",
    "stat",
    "fstat",
    "lstat",
    "newfstatat",
    "fstatat64",
    "stat64",
    "lstat64",
    "fstat64",
    "statx",
    "statfs",
    "fstatfs",
    "statfs64",
    "fstatfs64",
    "access",
    "faccessat",
    "faccessat2",
    "getdents",
    "getdents64",
    "getcwd",
    "chdir",
    "fchdir",
    "rename",
    "renameat",
    "renameat2",
    "mkdir",
    "mkdirat",
    "rmdir",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "symlink",
    "symlinkat",
    "readlink",
    "readlinkat",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "umask",
    "mknod",
    "mknodat",
    "truncate",
    "truncate64",
    "utime",
    "utimes",
    "futimesat",
    "utimensat",
    "utimensat_time64",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "getxattr",
    "lgetxattr",
    "fgetxattr",
    "listxattr",
    "llistxattr",
    "flistxattr",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "inotify_init",
    "inotify_init1",
    "inotify_add_watch",
    "inotify_rm_watch",
    "name_to_handle_at",
    // memory
    "mmap",
    "mmap2",
    "mprotect",
    "munmap",
    "brk",
    "mremap",
    "msync",
    "mincore",
    "madvise",
    "mlock",
    "mlock2",
    "munlock",
    "mlockall",
    "munlockall",
    "memfd_create",
    "membarrier",
    "pkey_mprotect",
    "pkey_alloc",
    "pkey_free",
    "mbind",
    "get_mempolicy",
    "set_mempolicy",
    "remap_file_pages",
    "mseal",
    "map_shadow_stack",
    // processes and threads
    "fork",
    "vfork",
    "execve",
    "execveat",
    "exit",
    "exit_group",
    "wait4",
    "waitid",
    "waitpid",
    "kill",
    "tkill",
    "tgkill",
    "pidfd_open",
    "pidfd_send_signal",
    "getpid",
    "gettid",
    "getppid",
    "getpgid",
    "setpgid",
    "getpgrp",
    "getsid",
    "setsid",
    "set_tid_address",
    "set_robust_list",
    "get_robust_list",
    "rseq",
    "futex",
    "futex_time64",
    "futex_waitv",
    "futex_wake",
    "futex_wait",
    "futex_requeue",
    "arch_prctl",
    "prctl",
    "set_thread_area",
    "get_thread_area",
    "getcpu",
    "sched_yield",
    "sched_setparam",
    "sched_getparam",
    "sched_setscheduler",
    "sched_getscheduler",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_rr_get_interval",
    "sched_setaffinity",
    "sched_getaffinity",
    "sched_setattr",
    "sched_getattr",
    "getpriority",
    "setpriority",
    "ioprio_get",
    "ioprio_set",
    "getrlimit",
    "ugetrlimit",
    "setrlimit",
    "prlimit64",
    "getrusage",
    "times",
    "seccomp",
    "landlock_create_ruleset",
    "landlock_add_rule",
    "landlock_restrict_self",
    "restart_syscall",
    // identity, which only process 1 can change
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "setuid",
    "setgid",
    "setreuid",
    "setregid",
    "getgroups",
    "setgroups",
    "setresuid",
    "getresuid",
    "setresgid",
    "getresgid",
    "setfsuid",
    "setfsgid",
    "capget",
    "capset",
    // signals, time, waiting
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigpending",
    "rt_sigtimedwait",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "rt_sigsuspend",
    "sigaltstack",
    "sigreturn",
    "pause",
    "alarm",
    "getitimer",
    "setitimer",
    "nanosleep",
    "time",
    "gettimeofday",
    "clock_gettime",
    "clock_gettime64",
    "clock_getres",
    "clock_nanosleep",
    "timer_create",
    "timer_settime",
    "timer_gettime",
    "timer_getoverrun",
    "timer_delete",
    "timerfd_create",
    "timerfd_settime",
    "timerfd_gettime",
    "signalfd",
    "signalfd4",
    "eventfd",
    "eventfd2",
    "poll",
    "ppoll",
    "select",
    "_newselect",
    "pselect6",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    // between processes
    "socketpair",
    "bind",
    "listen",
    "accept",
    "accept4",
    "connect",
    "getsockname",
    "getpeername",
    "sendto",
    "recvfrom",
    "sendmsg",
    "recvmsg",
    "sendmmsg",
    "recvmmsg",
    "shutdown",
    "setsockopt",
    "getsockopt",
    "shmget",
    "shmat",
    "shmctl",
    "shmdt",
    "semget",
    "semop",
    "semtimedop",
    "semctl",
    "msgget",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "mq_open",
    "mq_unlink",
    "mq_timedsend",
    "mq_timedreceive",
    "mq_notify",
    "mq_getsetattr",
    "io_setup",
    "io_destroy",
    "io_getevents",
    "io_submit",
    "io_cancel",
    "io_pgetevents",
    // what the machine is
    "uname",
    "sysinfo",
    "getrandom",
});

constexpr auto notable = std::to_array<std::string_view>({
    // namespaces and mounts
    "unshare",
    "setns",
    "pivot_root",
    "chroot",
    "mount",
    "umount",
    "umount2",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "sethostname",
    "setdomainname",
    // other processes
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "process_mrelease",
    "pidfd_getfd",
    "kcmp",
    "move_pages",
    "migrate_pages",
    // large parts of the kernel, with a history
    "bpf",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "perf_event_open",
    "keyctl",
    "add_key",
    "request_key",
    "fanotify_init",
    "fanotify_mark",
    "open_by_handle_at",
    "modify_ldt",
    "lookup_dcookie",
    "personality",
    // the machine itself
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "quotactl_fd",
    "iopl",
    "ioperm",
    "syslog",
    "settimeofday",
    "clock_settime",
    "adjtimex",
    "clock_adjtime",
    "stime",
    "vhangup",
    "nfsservctl",
});

constexpr auto clone_flags = std::to_array<unsigned>(
    {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET});

constexpr std::uint64_t all_clone_flags() {
  std::uint64_t out = 0;
  for (const unsigned flag : clone_flags)
    out |= flag;
  return out;
}

struct Comparison {
  unsigned argument;
  std::string_view op;
  std::uint64_t value;
  std::uint64_t second = 0;  // of SCMP_CMP_MASKED_EQ: value is the mask, second what is left under it
};

struct Rule {
  std::vector<std::string_view> names;
  std::string_view action;
  int error = 0;
  std::vector<Comparison> all_of = {};
};

void append_rule(std::string& out, const Rule& rule) {
  JsonObject object(out);
  append_json_texts(object.key("names"), rule.names, [](std::string_view name) { return name; });
  object.text("action", rule.action);
  if (rule.error != 0) object.number("errnoRet", rule.error);
  if (rule.all_of.empty()) return;
  append_json_array(object.key("args"), rule.all_of, [](std::string& to, const Comparison& comparison) {
    JsonObject(to)
        .number("index", comparison.argument)
        .number("value", comparison.value)
        .number("valueTwo", comparison.second)
        .text("op", comparison.op);
  });
}

/// The families that a tool has sockets of: inside there is nothing but the machine's own loopback.
std::vector<Rule> socket_rules(std::string_view refusal, int error) {
  constexpr auto allow = "SCMP_ACT_ALLOW"sv, equal = "SCMP_CMP_EQ"sv;
  return {
      {{"socket"}, allow, 0, {{0, equal, AF_UNIX}}},
      {{"socket"}, allow, 0, {{0, equal, AF_INET}}},
      {{"socket"}, allow, 0, {{0, equal, AF_INET6}}},
      // What lists the interfaces, as libraries do before they resolve a name.
      {{"socket"}, allow, 0, {{0, equal, AF_NETLINK}, {2, equal, NETLINK_ROUTE}}},
      {{"socket"}, refusal, error, {{0, "SCMP_CMP_GT", AF_NETLINK}}},
  };
}

std::vector<Rule> rules_of(bool notified) {
  const auto refusal = notified ? "SCMP_ACT_NOTIFY"sv : "SCMP_ACT_ERRNO"sv;
  const int error = notified ? 0 : EPERM;
  std::vector<Rule> out = {
      {{allowed.begin(), allowed.end()}, "SCMP_ACT_ALLOW"},
      {{notable.begin(), notable.end()}, refusal, error},
      // Its flags are behind a pointer, which a filter cannot follow: glibc then uses clone.
      {{"clone3"}, "SCMP_ACT_ERRNO", ENOSYS}};
  out.push_back({{"clone"}, "SCMP_ACT_ALLOW", 0, {{0, "SCMP_CMP_MASKED_EQ", all_clone_flags(), 0}}});
  for (const unsigned flag : clone_flags)
    out.push_back({{"clone"}, refusal, error, {{0, "SCMP_CMP_MASKED_EQ", flag, flag}}});
  for (auto& rule : socket_rules(refusal, error))
    out.push_back(std::move(rule));
  return out;
}

}  // namespace

std::span<const std::string_view> allowed_calls() {
  return allowed;
}

std::span<const std::string_view> notable_calls() {
  return notable;
}

std::span<const unsigned> refused_clone_flags() {
  return clone_flags;
}

std::string oci_seccomp(const std::string& listener) {
  return json_object([&](JsonObject& seccomp) {
    seccomp.text("defaultAction", "SCMP_ACT_ERRNO").number("defaultErrnoRet", ENOSYS);
    // Without the 32-bit one, whose calls have other numbers and go around every rule on arguments.
#if defined(__x86_64__)
    append_json_texts(seccomp.key("architectures"), std::vector<std::string>{"SCMP_ARCH_X86_64"});
#elif defined(__aarch64__)
    append_json_texts(seccomp.key("architectures"), std::vector<std::string>{"SCMP_ARCH_AARCH64"});
#endif
    if (!listener.empty()) seccomp.text("listenerPath", listener);
    append_json_array(seccomp.key("syscalls"), rules_of(!listener.empty()), append_rule);
  });
}

}  // namespace ratchet::sandbox
