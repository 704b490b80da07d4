// System calls that reach further than a program needs: into the machine, its devices, its other processes.

#include <array>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "tests/live/attacks/fixture.hpp"

namespace ratchet::attacks {
namespace {

using testing::Contains;

class Calls : public Attack {};

RATCHET_ATTACKS(Calls);

/// In tier 2 the filter refuses it, and it is counted. gVisor may know it, may not have it, or may do it to
/// itself alone.
struct FarCall {
  const char* name;
  long number;
  std::string arguments;
  const char* in_gvisor = "EPERM|ENOSYS";
};

const FarCall far_calls[] = {
    {"unshare-user", SYS_unshare, std::to_string(CLONE_NEWUSER), "DONE|EPERM"},
    {"unshare-mounts", SYS_unshare, std::to_string(CLONE_NEWNS)},
    {"setns", SYS_setns, "0, 0", "EPERM|EINVAL|ENOSYS"},
    {"mount", SYS_mount, "b'x', b'/tmp', b'tmpfs', 0, 0"},
    {"remount", SYS_mount, fmt::format("b'x', b'/usr', b'', {}, 0", MS_REMOUNT | MS_BIND)},
    {"umount", SYS_umount2, "b'/proc', 2"},
    {"pivot_root", SYS_pivot_root, "b'/tmp', b'/tmp'", "EPERM|ENOSYS|EINVAL"},
    {"chroot", SYS_chroot, "b'/tmp'"},
    {"move_mount", SYS_move_mount, "-100, b'/tmp', -100, b'/home/tool', 0"},
    {"open_tree", SYS_open_tree, "-100, b'/usr', 1"},
    {"fsopen", SYS_fsopen, "b'tmpfs', 0"},
    {"sethostname", SYS_sethostname, "b'x', 1"},
    {"ptrace-init", SYS_ptrace, "16, 1, 0, 0", "EPERM|ESRCH"},
    {"read-init", SYS_process_vm_readv, "1, 0, 0, 0, 0, 0", "EPERM|ENOSYS|DONE"},
    {"bpf", SYS_bpf, "0, 0, 0"},
    {"userfaultfd", SYS_userfaultfd, "0"},
    {"io_uring", SYS_io_uring_setup, "8, 0"},
    {"perf", SYS_perf_event_open, "0, 0, -1, -1, 0", "EPERM|ENOSYS|ENODEV"},
    {"keyring",
     SYS_keyctl,
     fmt::format("{}, {}, 0", KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING),
     "EPERM|ENOSYS|EACCES"},
    {"add_key",
     SYS_add_key,
     fmt::format("b'user', b'x', b'x', 1, {}", KEY_SPEC_USER_KEYRING),
     "EPERM|ENOSYS|EACCES"},
    {"by-handle", SYS_open_by_handle_at, "-100, 0, 0", "EPERM|ENOSYS|ENOTSUP|EOPNOTSUPP"},
    {"fanotify", SYS_fanotify_init, "0, 0"},
    {"module", SYS_init_module, "0, 0, b''"},
    {"kexec", SYS_kexec_load, "0, 0, 0, 0"},
    // Its magic numbers are wrong, should it ever get that far.
    {"reboot", SYS_reboot, "0, 0, 0, 0"},
    {"swapon", SYS_swapon, "b'/tmp', 0"},
    {"acct", SYS_acct, "0"},
    {"syslog", SYS_syslog, "10, 0, 0", "EPERM|ENOSYS|EINVAL|DONE"},
    // A structure of nothing: it sets nothing even where it is allowed.
    {"settimeofday", SYS_settimeofday, "0, 0"},
    {"clock_settime", SYS_clock_settime, "0, 0", "EPERM|ENOSYS|EINVAL|EFAULT"},
    {"adjtimex", SYS_adjtimex, "0", "EPERM|ENOSYS|EFAULT"},
    {"pidfd_getfd", SYS_pidfd_getfd, "0, 0, 0"},
    {"personality", SYS_personality, "0x40000", "EPERM|ENOSYS|EINVAL|DONE"},
#ifdef SYS_iopl
    {"iopl", SYS_iopl, "3"},
    {"ioperm", SYS_ioperm, "0, 1, 1"},
    {"modify_ldt", SYS_modify_ldt, "0, 0, 0"},
#endif
};

TEST_P(Calls, ThatReachFarAreRefusedAndTold) {
  const auto id = leased();
  std::string program;
  Outcomes expected;
  for (const auto& far : far_calls) {
    program += fmt::format("alone('{}', lambda: call({}, {}))\n", far.name, far.number, far.arguments);
    expected[far.name] = own_kernel() ? far.in_gvisor : "EPERM";
  }
  const auto end = attacks(id, program);
  expect_outcomes(end, expected);
  EXPECT_GT(end.evidence.refused_syscalls, 0u);
  EXPECT_LE(end.evidence.syscalls.size(), limits::sandbox_names_max);
  if (!own_kernel()) {
    EXPECT_EQ(end.evidence.refused_syscalls, std::size(far_calls));
    EXPECT_THAT(end.evidence.syscalls, Contains("unshare"));
  }
  expect_usable(id);
}

TEST_P(Calls, ThatNobodyKnowsDoNotExist) {
  const auto end = attacks(
      leased(),
      fmt::format("alone('unknown', lambda: call(999))\n"
                  "alone('x32', lambda: call(0x40000000 | 39))\n"
                  "alone('clone3-user', lambda: call({}, struct.pack('11Q', {}, *[0] * 10), 88))\n"
                  "for flag in {}, {}, {}:\n"
                  "  alone('clone-%x' % flag, lambda: call({}, flag | 17, 0, 0, 0, 0) or os._exit(0))\n",
                  SYS_clone3,
                  CLONE_NEWUSER,
                  CLONE_NEWUSER,
                  CLONE_NEWNET,
                  CLONE_NEWPID,
                  SYS_clone));
  const char* user = own_kernel() ? "EPERM|DONE" : "EPERM";
  expect_outcomes(end,
                  {{"unknown", "ENOSYS"},
                   {"x32", "ENOSYS|SIGSYS"},
                   {"clone3-user", own_kernel() ? "ENOSYS|EPERM|EINVAL|DONE" : "ENOSYS"},
                   {"clone-10000000", user},
                   {"clone-40000000", "EPERM"},
                   {"clone-20000000", "EPERM"}});
}

/// gVisor lets everybody be root of a namespace of his own: what he mounts there changes nothing outside of
/// it.
TEST_P(Calls, ANamespaceInsideGivesNothing) {
  const auto id = leased();
  const auto end = attacks(id,
                           fmt::format(R"(
try: call({}, {})
except OSError: pass
for name, text in ('setgroups', b'deny'), ('uid_map', b'0 1000 1'), ('gid_map', b'0 1000 1'):
  try: write('/proc/self/' + name, text)
  except OSError: pass
def remounted(path):
  call({}, b'x', path.encode(), b'', {}, 0)
  create(path + '/x')
for path in '/usr', '/', '/sbx', '/slot': attack(path, lambda: remounted(path))
attack('guest', lambda: write('/sbx/guest'))
attack('kill', lambda: os.kill(1, signal.SIGKILL))
attack('memory', lambda: os.open('/proc/1/mem', os.O_RDWR))
attack('pipe', lambda: os.open('/proc/1/fd/201', os.O_WRONLY))
attack('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attack('device', lambda: os.mknod('/tmp/x', 0o60666, os.makedev(8, 0)))
)",
                                       SYS_unshare,
                                       CLONE_NEWUSER | CLONE_NEWNS,
                                       SYS_mount,
                                       MS_REMOUNT | MS_BIND));
  const char* none = "EPERM|EACCES|EROFS|EINVAL|EBUSY|ESRCH|ENOENT";
  Outcomes expected;
  for (const char* name : {"/usr", "/", "/sbx", "/slot", "guest", "kill", "memory", "pipe", "raw", "device"})
    expected[name] = none;
  // Of what gVisor itself has: loopback, and names of devices that are not there.
  if (own_kernel()) expected["raw"] = expected["device"] = "EPERM|DONE";
  expect_outcomes(end, expected);
  expect_usable(id);
}

TEST_P(Calls, OpenNoSocketBesideOrdinaryOnes) {
  const auto end = attacks(leased(), R"(
for name, family, kind, protocol in [
    ('packet', 17, 3, 768), ('alg', 38, 5, 0), ('vsock', 40, 1, 0), ('bluetooth', 31, 3, 1), ('xdp', 44, 3, 0),
    ('ax25', 3, 5, 0), ('netfilter', 16, 3, 12), ('uevents', 16, 3, 15), ('raw', 2, 3, 1), ('raw6', 10, 3, 58)]:
  attack(name, lambda: socket.socket(family, kind, protocol))
)");
  const char* none = "EPERM|ENOSYS|EAFNOSUPPORT|EPROTONOSUPPORT|EACCES|ESOCKTNOSUPPORT";
  Outcomes expected;
  for (const char* name :
       {"packet", "alg", "vsock", "bluetooth", "xdp", "ax25", "netfilter", "uevents", "raw", "raw6"})
    expected[name] = none;
  // Events of the kernel in gVisor are those of nobody.
  if (own_kernel()) expected["uevents"] = std::string(none) + "|DONE";
  expect_outcomes(end, expected);
}

TEST_P(Calls, MakeNoDevice) {
  const auto end = attacks(leased(), R"(
attack('block', lambda: os.mknod('/tmp/sda', 0o60666, os.makedev(8, 0)))
attack('character', lambda: os.mknod('/tmp/mem', 0o20666, os.makedev(1, 1)))
attack('open-block', lambda: os.open('/tmp/sda', os.O_RDWR))
attack('open-character', lambda: os.open('/tmp/mem', os.O_RDWR))
attack('in-workspace', lambda: os.mknod('/workspace/sda', 0o60666, os.makedev(8, 0)))
for device in 'mem', 'kmsg', 'kvm', 'sda', 'loop-control', 'fuse', 'net/tun', 'vhost-net':
  attack(device, lambda: os.open('/dev/' + device, os.O_RDWR))
)");
  // gVisor makes names of devices that it does not have.
  const char* made = own_kernel() ? "EPERM|DONE" : "EPERM";
  const char* none = "ENOENT|EACCES|EPERM|ENXIO";
  Outcomes expected = {{"block", made},
                       {"character", made},
                       {"open-block", none},
                       {"open-character", none},
                       {"in-workspace", "EPERM"}};
  for (const char* device : {"mem", "kmsg", "kvm", "sda", "loop-control", "fuse", "net/tun", "vhost-net"})
    expected[device] = none;
  // It brings some of its own: without a network, and without anybody who would serve a file system.
  if (own_kernel())
    for (const char* device : {"fuse", "net/tun"})
      expected[device] = std::string(none) + "|DONE";
  expect_outcomes(end, expected);
}

}  // namespace
}  // namespace ratchet::attacks
