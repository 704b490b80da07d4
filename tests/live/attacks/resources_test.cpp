// Whoever takes all there is: of memory, processes, space, output, time.

#include <chrono>

#include <fmt/format.h>

#include "tests/live/attacks/fixture.hpp"

namespace ratchet::attacks {
namespace {

using testing::AnyOf;
using testing::Ge;
using testing::HasSubstr;

class Resources : public Attack {
 protected:
  /// After a death by memory another sandbox takes over; after anything else the same one goes on, if it can.
  void expect_end_or_usable(SandboxId id, const SandboxEnd& end) {
    if (end.kind == Kind::exited || end.kind == Kind::signalled) return expect_usable(id);
    EXPECT_TRUE(destroy(id));
    expect_usable(leased());
  }
};

RATCHET_ATTACKS(Resources);

TEST_P(Resources, MemoryEndsTheCommandAndNobodyElse) {
  const auto neighbour = leased({.run = 2});
  const auto id = leased({.limits = {128, 1'000, 64}});
  const auto end = python(id, "a = []\nwhile 1: a.append(bytearray(10**7))\n");
  EXPECT_EQ(end.kind, Kind::out_of_memory) << end.why << end.code;
  EXPECT_FALSE(shell(id, "echo").why.empty()) << "it takes no further command";
  EXPECT_TRUE(destroy(id));
  expect_usable(neighbour);
}

TEST_P(Resources, MemoryIsOfAllProcessesTogether) {
  const auto id = leased({.limits = {128, 1'000, 64}});
  // No single one of them has too much; and what nobody reads any more counts too.
  const auto end = python(id, R"(
import os, signal, time
for i in range(10):
  if os.fork() == 0:
    a = bytearray(b'x') * (30 * 2**20)
    while 1: time.sleep(1000)
os.wait()
)");
  EXPECT_EQ(end.kind, Kind::out_of_memory) << end.why << end.code;
}

TEST_P(Resources, AForkBombRunsIntoItsBound) {
  const auto id = leased();
  timeout_ms_ = 3'000;
  const auto end = run(id, {"/bin/bash", "-c", "f(){ f|f& };f; wait"});
  expect_end_or_usable(id, end);
  const auto left = processes().size();
  EXPECT_LT(left, 200u);
}

TEST_P(Resources, SleepersDoNotOutliveTheirCommand) {
  const auto id = leased();
  const auto end = python(id, R"(
import os, time
n = 0
try:
  while n < 1000:
    if os.fork() == 0:
      os.setsid()
      time.sleep(1000)
    n += 1
except OSError as e: print(n < 200, e.errno)
)");
  EXPECT_EQ(end.out, "True 11\n") << end.err << end.why;
  EXPECT_EQ(shell(id, "cat /proc/[0-9]*/comm | sort | uniq -c | grep -c python3").out, "0\n");
}

TEST_P(Resources, ThreadsCountLikeProcesses) {
  const auto end = python(leased(), R"(
import threading
gate, n = threading.Event(), 0
try:
  while n < 1000:
    threading.Thread(target=gate.wait, daemon=True).start()
    n += 1
except RuntimeError: print(n < 200)
)");
  EXPECT_EQ(end.out, "True\n") << end.err << end.why;
}

TEST_P(Resources, SpaceEndsAtItsBounds) {
  const auto id = leased({.limits = {1'024, 1'000, 64}});
  const auto end = attacks(id, R"(
def fill(path):
  with open(path, 'wb') as f:
    try:
      for i in range(200): f.write(bytes(2**20))
    finally: os.unlink(path)
for name, path in ('tmp', '/tmp/x'), ('shm', '/dev/shm/x'), ('home', '/home/tool/x'), ('workspace', '/workspace/x'):
  attack(name, lambda: fill(path))
def sparse(path):
  fd = os.open(path, os.O_WRONLY | os.O_CREAT)
  os.ftruncate(fd, 2**40)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
attack('sparse', lambda: sparse('/workspace/sparse'))
attack('sparse-tmp', lambda: sparse('/tmp/sparse'))
def many(folder):
  for i in range(30000): create(folder + '/%d' % i)
attack('inodes', lambda: many('/workspace'))
)");
  expect_outcomes(end,
                  {{"tmp", "ENOSPC"},
                   {"shm", "ENOSPC"},
                   {"home", "ENOSPC"},
                   {"workspace", "ENOSPC"},
                   {"sparse", "EFBIG"},
                   {"sparse-tmp", "EFBIG"},
                   {"inodes", "ENOSPC"}});
  expect_usable(id);
}

TEST_P(Resources, OutputEndsAtItsBound) {
  const auto id = leased();
  output_bytes_max_ = 1u << 20;
  const auto end = run(id, {"/usr/bin/yes"});
  EXPECT_EQ(end.kind, Kind::too_much_output);
  EXPECT_EQ(end.out.size(), output_bytes_max_);
}

TEST_P(Resources, OutputInSmallPiecesIsOutput) {
  const auto id = leased();
  const auto end =
      python(id, "import os\nfor i in range(20000):\n  os.write(1, b'x')\n  os.write(2, b'y')\n");
  EXPECT_EQ(end.kind, Kind::exited) << end.why;
  EXPECT_EQ(end.out, std::string(20'000, 'x'));
  EXPECT_EQ(end.err, std::string(20'000, 'y'));
  const auto raw = run(id, {"/usr/bin/printf", R"(\033[2J\000\377\376\r\n)"});
  EXPECT_EQ(raw.out, std::string("\033[2J\0\xff\xfe\r\n", 9)) << "bytes come as they are";
  expect_usable(id);
}

TEST_P(Resources, TimeEndsWhateverDoesNot) {
  timeout_ms_ = 500;
  for (const char* script : {"while :; do :; done",
                             "trap '' TERM INT HUP QUIT; while :; do sleep 1000; done",
                             "kill -STOP $$",
                             "(trap '' TERM; exec setsid sleep 1000) & exec sleep 1000"}) {
    const auto id = leased();
    EXPECT_EQ(shell(id, script).kind, Kind::timed_out) << script;
    EXPECT_TRUE(destroy(id));
  }
}

TEST_P(Resources, LongArgumentsAreAnErrorOfTheCommand) {
  const auto id = leased();
  const auto one = run(id, {"/bin/echo", std::string(200'000, 'x')});
  EXPECT_EQ(one.kind, Kind::not_started);
  EXPECT_THAT(one.code, AnyOf(E2BIG, ENAMETOOLONG));
  const auto inside = python(id,
                             "import errno, os\n"
                             "try: os.execv('/bin/echo', ['x'] * 2000000)\n"
                             "except OSError as e: print(errno.errorcode[e.errno])\n");
  EXPECT_THAT(inside.out, AnyOf("E2BIG\n", "ENOMEM\n")) << inside.err;
  expect_usable(id);
}

TEST_P(Resources, AHogLeavesItsNeighbourWhatIsHis) {
  const auto hog = leased({.limits = {256, 200, 64}});
  const auto neighbour = leased({.run = 2});
  const auto ended = begun(hog, "for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait");
  EXPECT_EQ(python(neighbour, "print(sum(range(1000000)))").out, "499999500000\n");
  host().kill(hog);
  EXPECT_EQ(ended->get_future().get().kind, Kind::killed);
}

/// Takes all inotify instances and all room for queues that its user may have, and says how many of each.
constexpr const char* take_all = R"(
import ctypes, time
libc = ctypes.CDLL(None, use_errno=True)
instances = queues = 0
while instances < 1000 and libc.inotify_init1(0) >= 0: instances += 1
# 10 messages of 8 KB each
attributes = (ctypes.c_long * 8)(0, 10, 8192)
while queues < 1000:
  if libc.mq_open(b'/q%d' % queues, 0o102, 0o600, attributes) < 0: break
  queues += 1
print(instances, queues, flush=True)
for i in range(queues): libc.mq_unlink(b'/q%d' % i)  # gone with who holds it open
)";

TEST_P(Resources, WhatTheKernelCountsByUserIsOfOneSandboxAlone) {
  const auto alone = leased({.run = 2});
  const auto all = python(alone, take_all);
  ASSERT_THAT(all.out, testing::MatchesRegex("[1-9][0-9]* [0-9]+\n")) << all.err;
  const auto hog = leased();
  auto full = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<SandboxEnd>>();
  SandboxCommand command;
  command.argv = {"/usr/bin/python3", "-"};
  command.input = std::string(take_all) + "time.sleep(1000)\n";
  command.timeout_ms = 600'000;
  command.output_bytes_max = output_bytes_max_;
  host().run(
      hog,
      std::move(command),
      [full](std::string_view) { full->set_value(); },
      [ended](SandboxEnd end) { ended->set_value(std::move(end)); });
  ASSERT_EQ(full->get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready);
  EXPECT_EQ(python(alone, take_all).out, all.out) << "its neighbour holds as much";
  EXPECT_TRUE(destroy(hog));
  EXPECT_EQ(ended->get_future().get().kind, Kind::lost);
}

TEST_P(Resources, AWedgedSandboxIsDestroyedAllTheSame) {
  const auto id = leased();
  const auto ended = begun(id, "trap '' TERM; f(){ f|f& };f; wait");
  const auto destroyed = destroy(id);
  EXPECT_TRUE(destroyed) << destroyed.error().text;
  ended->get_future().get();
  EXPECT_THAT(processes(), testing::IsEmpty());
}

TEST_P(Resources, ASessionsQueuesDoNotOutliveIt) {
  const auto id = leased({.limits = {256, 1'000, 64}});
  // Kernel memory that no process holds: it is the sandbox's, and goes with it.
  const auto end = attacks(id, R"(
fds = []
def pipes():
  while 1:
    fds.extend(os.pipe())
attack('descriptors', pipes)
for fd in fds: os.close(fd)
def watches():
  for i in range(2000): fds.append(call(294, 0))
del fds[:]
attack('inotify', watches)
)");
  EXPECT_THAT(end.out, HasSubstr("descriptors EMFILE")) << end.err << end.why;
}

}  // namespace
}  // namespace ratchet::attacks
