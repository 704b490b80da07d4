// What becomes of frozen sandboxes whose node is killed, and that is never started again.

#include "sandbox/launch/survivor.hpp"

#include <csignal>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <gmock/gmock.h>

#include "tests/fakes/not_tested.hpp"
#include "tests/live/launch/fixture.hpp"

namespace ratchet::sandbox {

namespace {

using testing::IsEmpty;

/// A node in a process of its own, with a frozen sandbox that runs something. It says so with one byte, and
/// then waits to be killed.
[[noreturn]] void be_a_node(const std::string& data_dir,
                            const std::string& label,
                            const TierOptions& options,
                            int ready) {
  const auto entered = enter_namespaces();
  auto survivor = Survivor::start();
  LiveNode node(data_dir, label, entered);
  if (!survivor || !node.set_up() || !survivor->entrust(node.machine().places, label)) ::_exit(1);
  const auto launcher = node.launcher(options.runtime == "runsc" ? 3 : 2, options);
  auto started = launcher->start(node.name(1));
  if (!started) ::_exit(1);
  Shell shell(*std::move(started));
  if (shell.ask("sleep 1000 & echo at work") != "at work" || !shell.sandbox().freeze()) ::_exit(1);
  (void)!::write(ready, "1", 1);
  for (;;)
    ::pause();
}

class Survived : public testing::TestWithParam<TierOptions> {};

INSTANTIATE_TEST_SUITE_P(,
                         Survived,
                         testing::Values(TierOptions{TierOptions::Kind::oci, "crun"},
                                         TierOptions{TierOptions::Kind::oci, "runsc"},
                                         TierOptions{TierOptions::Kind::bwrap, "bwrap"}),
                         [](const auto& info) { return info.param.runtime; });

/// A minute at most, since the kernel tells nobody of the end of a group.
template <class Condition>
bool comes_true(Condition condition) {
  for (const auto until = std::time(nullptr) + 60; std::time(nullptr) < until; ::sched_yield())
    if (condition()) return true;
  return condition();
}

TEST_P(Survived, FrozenSandboxesEndWithTheirNodeEvenWithoutItsFiles) {
  const TemporaryDirectory directory;
  const auto label = random_label();
  auto ready = make_pipe();
  ASSERT_TRUE(ready);
  const pid_t node = ::fork();
  if (node == 0) be_a_node(directory.path(), label, GetParam(), ready->write.get());
  ready->write.reset();
  char byte = 0;
  const bool started = ::read(ready->read.get(), &byte, 1) == 1;
  const auto groups = find_cgroups();
  std::vector<Fd> processes;
  for (const pid_t pid : Cgroup::existing(groups, label + "-1").processes())
    processes.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (started) std::filesystem::remove_all(directory.path());

  ::kill(node, SIGKILL);
  ::waitpid(node, nullptr, 0);
  if (!started) return skip_not_tested("the end of frozen sandboxes", "no node could be started");
  if (groups.version == CgroupLayout::Version::none)
    return skip_not_tested("the end of frozen sandboxes",
                           "no control group can be written: nothing is frozen");
  EXPECT_GE(processes.size(), 2u);
  for (const Fd& process : processes) {
    pollfd ended{process.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&ended, 1, 60'000), 1) << "a process has outlived its node";
  }
  EXPECT_TRUE(comes_true([&] { return cgroups_named(groups, label).empty(); }));
  EXPECT_THAT(cgroups_named(groups, label), IsEmpty());
}

/// By a signal to all of its group, as from a terminal, or from a service manager that means all of them.
TEST(SurvivorOfANode, IsNotEndedByWhatEndsTheNode) {
  auto told = make_pipe();
  ASSERT_TRUE(told);
  const pid_t node = ::fork();
  if (node == 0) {
    ::setpgid(0, 0);
    const auto survivor = Survivor::start();
    (void)!::write(told->write.get(), survivor ? "1" : "0", 1);
    for (;;)
      ::pause();
  }
  told->write.reset();
  char byte = 0;
  ASSERT_EQ(::read(told->read.get(), &byte, 1), 1);
  ASSERT_EQ(byte, '1');
  // Its only child; it holds nothing of ours open, or this pipe would not end with the node.
  const auto children = read_file(fmt::format("/proc/{0}/task/{0}/children", node));
  ASSERT_TRUE(children) << children.error().text;
  const pid_t survivor = std::stoi(*children);
  const Fd held(static_cast<int>(::syscall(SYS_pidfd_open, survivor, 0)));
  ASSERT_TRUE(comes_true([&] {  // it has left the group of the node
    return ::getpgid(survivor) != node;
  }));
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    ::kill(survivor, number);
  ::kill(-node, SIGKILL);
  ::waitpid(node, nullptr, 0);
  EXPECT_EQ(::read(told->read.get(), &byte, 1), 0);
  pollfd ended{held.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 60'000), 1) << "and then it goes by itself";
}

}  // namespace

}  // namespace ratchet::sandbox
