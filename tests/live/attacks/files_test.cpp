// Files that are not the tool's: of the host, of the sandbox, of the kernel; and powers that files give.

#include <fstream>

#include <fmt/format.h>

#include "tests/live/attacks/fixture.hpp"

namespace ratchet::attacks {
namespace {

using testing::HasSubstr;
using testing::Not;

class Files : public Attack {};

RATCHET_ATTACKS(Files);

TEST_P(Files, OfTheHostAreNotThere) {
  std::ofstream(data_dir() + "/secret") << "a secret of the host";
  const auto end = attacks(leased(),
                           fmt::format(R"(
for name, path in [
    ('shadow', '/etc/shadow'), ('keys', '/root/.ssh'), ('root', '/root'), ('var', '/var/lib'), ('run', '/run'),
    ('docker', '/run/docker.sock'), ('data', '{0}/secret'), ('through-init', '/proc/1/root{0}/secret'),
    ('cwd-of-init', '/proc/1/cwd{0}/secret'), ('up', '/workspace/../../../../..{0}/secret'),
    ('up-of-slot', '/slot/../..{0}/secret'), ('sys', '/sys/kernel/security')]:
  attack(name, lambda: os.listdir(path) if os.path.isdir(path) else read(path))
)",
                                       data_dir()));
  const char* none = "ENOENT|EACCES|EPERM|ENOTDIR";
  Outcomes expected;
  for (const char* name : {"shadow",
                           "keys",
                           "root",
                           "var",
                           "run",
                           "docker",
                           "data",
                           "through-init",
                           "cwd-of-init",
                           "up",
                           "up-of-slot",
                           "sys"})
    expected[name] = none;
  expect_outcomes(end, expected);
}

TEST_P(Files, OfTheSandboxCannotBeWritten) {
  const auto end = attacks(leased(), R"(
for name, path in [('usr', '/usr/x'), ('etc', '/etc/x'), ('root', '/x'), ('sbx', '/sbx/x'), ('slot', '/slot/x'),
                   ('dev', '/dev/x'), ('proc', '/proc/x'), ('home', '/home/x'), ('sys', '/sys/x')]:
  attack('in-' + name, lambda: create(path))
for name, path in [('guest', '/sbx/guest'), ('passwd', '/etc/passwd'), ('python', '/usr/bin/python3'),
                   ('linker', '/etc/ld.so.cache'), ('preload', '/etc/ld.so.preload')]:
  attack('over-' + name, lambda: write(path))
attack('chmod-guest', lambda: os.chmod('/sbx/guest', 0o777))
attack('link-away', lambda: os.unlink('/workspace'))
attack('move-slot', lambda: os.rename('/slot/ws', '/slot/other'))
attack('through-self', lambda: write('/proc/self/exe'))
)");
  const char* none = "EROFS|EACCES|EPERM|ENOENT";
  Outcomes expected = {{"move-slot", "EROFS|EACCES|EPERM|EBUSY"},
                       {"through-self", "EROFS|EACCES|EPERM|ETXTBSY"}};
  for (const char* name : {"in-usr",
                           "in-etc",
                           "in-root",
                           "in-sbx",
                           "in-slot",
                           "in-dev",
                           "in-proc",
                           "in-home",
                           "in-sys",
                           "over-guest",
                           "over-passwd",
                           "over-python",
                           "over-linker",
                           "over-preload",
                           "chmod-guest",
                           "link-away"})
    expected[name] = none;
  expect_outcomes(end, expected);
}

TEST_P(Files, OfTheKernelTellAndTakeNothing) {
  const auto end = attacks(leased(), R"(
for name in 'kernel/core_pattern', 'kernel/modprobe', 'kernel/hostname', 'vm/overcommit_memory', 'fs/suid_dumpable':
  attack('sys-' + name, lambda: write('/proc/sys/' + name))
attack('sysrq', lambda: write('/proc/sysrq-trigger', b'h'))
attack('cgroup-bound', lambda: write('/sys/fs/cgroup/pids/tool/pids.max', b'max'))
attack('cgroup-leave', lambda: write('/sys/fs/cgroup/pids/cgroup.procs', b'0'))
attack('oom-shield', lambda: write('/proc/self/oom_score_adj', b'-1000'))
def told(name):
  if not read('/proc/' + name).strip(b'\0'): raise OSError(errno.ENODATA, '')
for name in 'kcore', 'keys', 'modules', 'timer_list', 'cmdline', 'kmsg', '1/environ', '1/mem', '1/maps', '1/stack':
  attack('read-' + name, lambda: told(name))
def address():
  if all(line.split()[0].strip(b'0') == b'' for line in open('/proc/kallsyms', 'rb')): raise OSError(errno.ENODATA, '')
attack('read-kallsyms', address)
)");
  const char* none = "EROFS|EACCES|EPERM|ENOENT";
  const char* untold = "EROFS|EACCES|EPERM|ENOENT|ENODATA|EIO|EINVAL";
  Outcomes expected = {
      {"sysrq", none}, {"cgroup-bound", none}, {"cgroup-leave", none}, {"read-kallsyms", untold}};
  for (const char* name : {"kernel/core_pattern",
                           "kernel/modprobe",
                           "kernel/hostname",
                           "vm/overcommit_memory",
                           "fs/suid_dumpable"})
    expected[std::string("sys-") + name] = none;
  // Its own kernel kills by its own rules; the group outside does not ask it.
  expected["oom-shield"] = own_kernel() ? "DONE|EACCES|EPERM" : none;
  for (const char* name : {"kcore", "keys", "modules", "timer_list", "cmdline", "kmsg", "1/mem", "1/stack"})
    expected[std::string("read-") + name] = untold;
  // gVisor shows more of process 1, in which there is nothing to hide.
  for (const char* name : {"1/environ", "1/maps"})
    expected[std::string("read-") + name] = own_kernel() ? std::string(untold) + "|DONE" : untold;
  if (own_kernel()) expected["read-cmdline"] = "DONE|ENOENT";  // of its own start
  expect_outcomes(end, expected);
}

TEST_P(Files, ThatAreSetUserIdGiveNoPower) {
  const auto id = leased();
  const auto end = shell(id,
                         "cp /usr/bin/id /workspace/mine; chmod 6755 /workspace/mine; /workspace/mine -u\n"
                         "/usr/bin/su -c id root </dev/null 2>&1 | grep -c uid=0\n"
                         "grep -E 'NoNewPrivs|CapInh|CapPrm|CapEff|CapBnd|CapAmb|^Groups' /proc/self/status\n"
                         "id -G\n");
  EXPECT_THAT(end.out, testing::StartsWith("1000\n0\n")) << end.err;
  EXPECT_THAT(end.out, testing::EndsWith("\n1000\n"));
  EXPECT_THAT(end.out, HasSubstr("CapEff:\t0000000000000000"));
  EXPECT_THAT(end.out, HasSubstr("CapPrm:\t0000000000000000"));
  EXPECT_THAT(end.out, HasSubstr("CapInh:\t0000000000000000"));
  if (!own_kernel()) {
    EXPECT_THAT(end.out, HasSubstr("NoNewPrivs:\t1"));
  }
  // Where a program of the system is set-user-id, it starts as the tool's user all the same.
  const auto passwd = shell(id, "/usr/bin/passwd --status root 2>&1; /usr/bin/mount -t tmpfs x /tmp 2>&1");
  EXPECT_THAT(passwd.out, Not(HasSubstr("root P")));
  EXPECT_NE(passwd.code, 0);
}

}  // namespace
}  // namespace ratchet::attacks
