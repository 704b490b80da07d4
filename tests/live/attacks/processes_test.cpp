// The guest, which is process 1 and ends what others start: against signals, tracing, forgery, and looks.

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "tests/live/attacks/fixture.hpp"

namespace ratchet::attacks {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Processes : public Attack {};

RATCHET_ATTACKS(Processes);

TEST_P(Processes, NothingOfADaemonIsLeft) {
  const auto id = leased();
  const auto end = python(id, R"(
import os, sys, time
if os.fork() == 0:
  os.setsid()
  if os.fork() == 0:
    print('begun', flush=True)
    while 1: time.sleep(1000)
  os._exit(0)
os.wait()
)");
  EXPECT_EQ(end.kind, Kind::exited) << "it does not wait for who holds its output";
  EXPECT_EQ(shell(id, "cat /proc/[0-9]*/comm | grep -c python3").out, "0\n");
}

TEST_P(Processes, TheGuestIsNotReachedBySignals) {
  const auto id = leased();
  const auto end = attacks(id, R"(
for name in 'SIGKILL', 'SIGSTOP', 'SIGTERM', 'SIGCHLD', 'SIGSEGV', 'SIGUSR1', 'SIGPIPE':
  attack(name, lambda: os.kill(1, getattr(signal, name)))
attack('pidfd', lambda: signal.pidfd_send_signal(os.pidfd_open(1), signal.SIGKILL))
attack('limits', lambda: call(302, 1, 7, struct.pack('2Q', 3, 3), 0))
attack('affinity', lambda: os.sched_setaffinity(1, [0]))
attack('nice', lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
attack('group', lambda: os.setpgid(1, os.getpid()))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
attack('everybody', lambda: os.kill(-1, signal.SIGTERM))
)");
  Outcomes expected = {{"everybody", "DONE|ESRCH|EPERM"}};  // that is, itself
  for (const char* name : {"SIGKILL",
                           "SIGSTOP",
                           "SIGTERM",
                           "SIGCHLD",
                           "SIGSEGV",
                           "SIGUSR1",
                           "SIGPIPE",
                           "pidfd",
                           "limits",
                           "affinity",
                           "nice",
                           "group"})
    expected[name] = "EPERM|ESRCH|EACCES|ENOSYS|EINVAL";
  // gVisor takes these for advice, from anybody.
  if (own_kernel()) expected["affinity"] = expected["nice"] = "DONE|EPERM";
  expect_outcomes(end, expected);
  expect_usable(id);
}

TEST_P(Processes, NobodySpeaksForTheGuest) {
  const auto id = leased();
  // An end with status 42, on whatever descriptor there is: of process 1, and of one's own.
  const auto end = attacks(id, R"(
frame = struct.pack('<IBIBIQ', 13, 21, 1, 0, 42, 0)
own = [os.fstat(fd).st_ino for fd in (0, 1, 2)]
def forge(path):
  fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
  try:
    # Where output goes anyway, or nothing goes at all.
    if os.fstat(fd).st_ino in own or os.path.realpath('/proc/self/fd/%d' % fd) == '/dev/null': raise OSError(errno.EALREADY, '')
    os.write(fd, frame)
  finally: os.close(fd)
for fd in list(range(0, 16)) + list(range(195, 215)):
  attack('init-%d' % fd, lambda: forge('/proc/1/fd/%d' % fd))
for fd in range(3, 256):
  try: os.write(fd, frame)
  except OSError: continue
  attack('own-%d' % fd, lambda: 0)
attack('memory', lambda: os.open('/proc/1/mem', os.O_RDWR))
attack('attach', lambda: call(101, 16, 1, 0, 0))
attack('seize', lambda: call(101, 0x4206, 1, 0, 0))
)");
  EXPECT_EQ(end.kind, Kind::exited);
  EXPECT_EQ(end.code, 0) << end.err;
  std::istringstream lines(end.out);
  for (std::string name, outcome; lines >> name >> outcome;)
    EXPECT_NE(outcome, "DONE") << name;
  EXPECT_THAT(end.out, HasSubstr("init-201 E"));
  expect_usable(id);
}

TEST_P(Processes, SeeNothingOfTheServer) {
  const auto id = leased();
  EXPECT_EQ(shell(id, "env | sort | grep -v ^_=").out,
            "HOME=/home/tool\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=/workspace\n");
  const auto init = shell(id, "tr '\\0' '\\n' </proc/1/environ");
  EXPECT_THAT(init.out, Not(HasSubstr("RATCHET")));
  const auto descriptors = shell(id, "ls -l /proc/self/fd 2>/dev/null | grep -o ' -> .*' | sort");
  std::istringstream lines(descriptors.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line.starts_with(" -> pipe:") || line == " -> /dev/null" ||
                line.find("/proc/") != line.npos || line.find("host:[") != line.npos)
        << line;
  EXPECT_THAT(shell(id, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").out, Not(HasSubstr(data_dir())));
  EXPECT_THAT(shell(id, "cat /proc/self/mountinfo /proc/mounts").out, Not(HasSubstr("/etc/shadow")));
}

/// What the server has open, as somebody would find it who has taken over the guest.
TEST_P(Processes, InheritNothingFromTheServer) {
  std::ofstream open_in_server(data_dir() + "/open");
  (void)leased();
  const auto pids = processes();
  EXPECT_THAT(pids, Not(IsEmpty()));
  for (const int pid : pids) {
    std::error_code ignored;
    for (fs::directory_iterator at(fmt::format("/proc/{}/fd", pid), ignored), end; at != end;
         at.increment(ignored)) {
      const auto target = fs::read_symlink(at->path(), ignored).string();
      EXPECT_THAT(target, Not(HasSubstr("cgroup.procs"))) << pid << " could leave its group";
      EXPECT_THAT(target, Not(testing::EndsWith("/open"))) << pid;
      EXPECT_THAT(target, Not(HasSubstr("objects"))) << pid;
      if (!own_kernel()) {
        EXPECT_THAT(target, Not(testing::StartsWith("socket:"))) << pid;
      }
    }
  }
}

TEST_P(Processes, ACrashIsAnEndLikeOthers) {
  const auto id = leased();
  const auto end = python(id, "import ctypes\nctypes.string_at(0)\n");
  EXPECT_EQ(end.kind, Kind::signalled) << end.why;
  EXPECT_EQ(end.code, SIGSEGV);
  EXPECT_EQ(shell(id, "ulimit -c; ls /workspace /tmp").out, "0\n/tmp:\n\n/workspace:\n")
      << "no dump of its memory";
}

TEST_P(Processes, OfAnotherSessionAreNotThere) {
  const auto first = leased();
  ASSERT_EQ(shell(first,
                  "echo secret | tee /tmp/mark /dev/shm/mark /workspace/mark >/home/tool/mark; umask 0; "
                  "ipcmk -M 4096 -p 0666 >/dev/null; ipcmk -Q -p 0666 >/dev/null")
                .code,
            0);
  const auto second = leased({.run = 2});
  EXPECT_EQ(shell(second, "ls /tmp/mark /dev/shm/mark /workspace/mark /home/tool/mark 2>/dev/null").out, "");
  EXPECT_EQ(shell(second, "ipcs -m -q 2>/dev/null | grep -c 0x").out, "0\n");
  EXPECT_EQ(shell(first, "cat /workspace/mark").out, "secret\n");
  const auto sleeper = begun(first, "exec -a of-the-first sleep 1000");
  EXPECT_EQ(shell(second, "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c ^of-the-first").out, "0\n");
  host().kill(first);
  EXPECT_EQ(sleeper->get_future().get().kind, Kind::killed);
}

}  // namespace
}  // namespace ratchet::attacks
