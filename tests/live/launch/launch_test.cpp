// Sandboxes from their start to their end, with every launcher that this machine has.

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "tests/fakes/not_tested.hpp"
#include "tests/live/launch/fixture.hpp"

namespace ratchet::sandbox {

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

struct Case {
  std::string name;
  std::uint32_t tier;
  TierOptions options;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

const Case cases[] = {{"crun", 2, {TierOptions::Kind::oci, "crun"}},
                      {"runc", 2, {TierOptions::Kind::oci, "runc"}},
                      {"runsc", 3, {TierOptions::Kind::oci, "runsc"}},
                      {"bwrap", 2, {TierOptions::Kind::bwrap}}};

class Launch : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const auto set_up = node_.set_up();
    if (!set_up) return skip(set_up.error().text);
    launcher_ = node_.launcher(GetParam().tier, GetParam().options);
    if (!launcher_->status().available) skip(launcher_->status().why);
  }

  void TearDown() override {
    if (launcher_ == nullptr || HasFailure()) return;
    EXPECT_THAT(what_is_left(), IsEmpty());
  }

  /// What is enforced by control groups cannot be looked for where there are none.
  bool has_groups() const { return node_.machine().cgroups.version != CgroupLayout::Version::none; }

  static void skip(const std::string& why) { skip_not_tested(GetParam().name, why); }

  Shell start(int number = 1) {
    auto started = launcher_->start(node_.name(number));
    RATCHET_ENSURE(started.has_value(), started ? "" : started.error().text);
    return Shell(*std::move(started));
  }

  /// Everything of this node that can be seen from outside.
  std::vector<std::string> what_is_left() const {
    auto out = cgroups_named(node_.machine().cgroups, node_.label());
    const auto& places = node_.machine().places;
    for (const auto& folder : {places.bundles(),
                               places.slots(),
                               places.state("crun"),
                               places.state("runc"),
                               places.state("runsc")}) {
      std::error_code ignored;
      for (fs::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored))
        out.push_back(at->path().string());
    }
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);)
      if (line.find(node_.label()) != std::string::npos) out.push_back(line);
    return out;
  }

  TemporaryDirectory directory_;
  LiveNode node_{directory_.path()};
  std::unique_ptr<Launcher> launcher_;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(, Launch, testing::ValuesIn(cases), name_of);

/// In gVisor the guest bounds the number of processes, inside.
class LaunchOnOurKernel : public Launch {};

INSTANTIATE_TEST_SUITE_P(, LaunchOnOurKernel, testing::Values(cases[0], cases[1], cases[3]), name_of);

/// Bubblewrap refuses calls, and tells nobody of which.
class LaunchThatTells : public Launch {};

INSTANTIATE_TEST_SUITE_P(, LaunchThatTells, testing::Values(cases[0], cases[1], cases[2]), name_of);

TEST_P(Launch, SpeaksOverItsPipesAndLeavesNothing) {
  auto shell = start();
  EXPECT_EQ(shell.ask("echo hello"), "hello");
  const auto destroyed = shell.sandbox().destroy();
  EXPECT_TRUE(destroyed) << destroyed.error().text;
  EXPECT_EQ(shell.line(), std::nullopt);
}

/// As the user that commands run as; process 1 is root without the power over files that root has.
std::string as_tool(const std::string& command) {
  return fmt::format("setpriv --reuid 1000 --regid 1000 --clear-groups /bin/sh -c '{}' 2>/dev/null", command);
}

SandboxLease lease_of(Filesystem filesystem, SandboxLimits limits = {}) {
  SandboxLease lease;
  lease.filesystem = filesystem;
  lease.limits = limits;
  return lease;
}

TEST_P(Launch, SeesItsOwnFilesAndNotTheHosts) {
  auto shell = start();
  EXPECT_EQ(shell.ask("ls /root /home/user /var 2>/dev/null | wc -l"), "0");
  EXPECT_EQ(shell.ask("cat /etc/shadow 2>/dev/null | wc -l"), "0");
  EXPECT_EQ(shell.ask("touch /usr/x /etc/x /x 2>/dev/null && echo written || echo refused"), "refused");
  EXPECT_EQ(shell.ask("/usr/bin/python3 -c 'print(6*7)'"), "42");
  EXPECT_TRUE(shell.sandbox().destroy());
}

TEST_P(Launch, RestsFrozenAndGoesOn) {
  if (!has_groups()) return skip("no control group can be written");
  auto shell = start();
  ASSERT_EQ(shell.ask("echo awake"), "awake");
  ASSERT_TRUE(shell.sandbox().freeze());
  shell.say("echo late");
  EXPECT_FALSE(shell.has_something());
  ASSERT_TRUE(shell.sandbox().thaw());
  EXPECT_EQ(shell.line(), "late");
  EXPECT_TRUE(shell.sandbox().destroy());
}

TEST_P(Launch, IsKilledEvenWhenItIsFrozen) {
  auto shell = start();
  ASSERT_EQ(shell.ask("sleep 1000 & sleep 1000 & echo two"), "two");
  ASSERT_TRUE(shell.sandbox().freeze());
  shell.sandbox().kill();
  EXPECT_EQ(shell.line(), std::nullopt);
  EXPECT_THAT(Cgroup::existing(node_.machine().cgroups, node_.name(1)).processes(), IsEmpty());
  EXPECT_TRUE(shell.sandbox().destroy());
}

TEST_P(Launch, IsDestroyedWhileItIsFrozen) {
  auto shell = start();
  ASSERT_TRUE(shell.sandbox().freeze());
  const auto destroyed = shell.sandbox().destroy();
  EXPECT_TRUE(destroyed) << destroyed.error().text;
}

TEST_P(Launch, GetsTheFilesOfItsLease) {
  const auto files = directory_.path() + "/files";
  ASSERT_TRUE(make_directory(files, 0777));
  ASSERT_TRUE(write_new(files + "/a", "from the host\n", 0644));
  auto shell = start();
  const auto leased = shell.sandbox().lease(lease_of(Filesystem::workspace), files);
  ASSERT_TRUE(leased) << leased.error().text;
  EXPECT_EQ(shell.ask("cat /workspace/a"), "from the host");
  EXPECT_EQ(shell.ask(as_tool("echo from inside >/workspace/b && echo done || echo refused")), "done");
  if (GetParam().tier == 2) {  // gVisor has its own table of mounts
    EXPECT_EQ(shell.ask("grep -c ' /slot/ws .*nosuid,nodev' /proc/self/mountinfo"), "1");
  }
  EXPECT_EQ(read_file(files + "/b").value_or(""), "from inside\n");
  EXPECT_TRUE(shell.sandbox().destroy());
  EXPECT_TRUE(fs::exists(files + "/a")) << "the files of a run are not the sandbox's to remove";
}

TEST_P(Launch, GetsAnEmptyWorkspaceOrNone) {
  auto with = start(1), without = start(2);
  ASSERT_TRUE(with.sandbox().lease(lease_of(Filesystem::ephemeral), ""));
  ASSERT_TRUE(without.sandbox().lease(lease_of(Filesystem::none), ""));
  EXPECT_EQ(with.ask(as_tool("echo x >/workspace/x && cat /workspace/x || echo refused")), "x");
  EXPECT_EQ(without.ask(as_tool("echo x >/workspace/x && cat /workspace/x || echo refused")), "refused");
  EXPECT_TRUE(with.sandbox().destroy());
  EXPECT_TRUE(without.sandbox().destroy());
}

TEST_P(Launch, CountsDeathsByMemory) {
  if (!has_groups()) return skip("no control group can be written");
  auto shell = start();
  ASSERT_TRUE(shell.sandbox().lease(lease_of(Filesystem::none, {.memory_mb = 64}), ""));
  EXPECT_EQ(shell.sandbox().memory_deaths(), 0u);
  // The answer, or the end of the sandbox: in gVisor the kernel may take its kernel.
  shell.ask("/usr/bin/python3 -c 'a = bytearray(400 << 20)' 2>/dev/null; echo over");
  EXPECT_GE(shell.sandbox().memory_deaths(), 1u);
  EXPECT_TRUE(shell.sandbox().destroy());
  EXPECT_GE(shell.sandbox().memory_deaths(), 1u);
}

TEST_P(LaunchOnOurKernel, BoundsTheNumberOfProcesses) {
  if (!has_groups()) return skip("no control group can be written");
  auto shell = start();
  ASSERT_TRUE(shell.sandbox().lease(lease_of(Filesystem::none, {.pids = 20}), ""));
  shell.say(
      "/usr/bin/python3 -c '\nimport os, time\nmade = 0\ntry:\n  while made < 100:\n    if os.fork() == 0: "
      "time.sleep(1000)\n    made += 1\nexcept OSError: pass\nprint(made, flush=True)'");
  EXPECT_LT(std::stoi(shell.line().value_or("1000")), 20);
  EXPECT_TRUE(shell.sandbox().destroy());
}

TEST_P(Launch, SharesTheProcessorAsItIsTold) {
  if (!has_groups()) return skip("no control group can be written");
  auto shell = start();
  ASSERT_TRUE(shell.sandbox().lease(lease_of(Filesystem::none, {.cpu_permille = 50}), ""));
  const auto folder = node_.machine().cgroups.folder(Controller::cpu);
  // On a machine that is busy with others it may take a few until one is held back by us.
  std::string text;
  do {
    ASSERT_EQ(shell.ask("/usr/bin/python3 -c 'import time\nwhile time.process_time() < 0.1: pass\nprint(1)'"),
              "1");
    text = read_file(folder + "/" + node_.name(1) + "/cpu.stat").value_or("");
    ASSERT_THAT(text, HasSubstr("nr_throttled "));
  } while (text.find("nr_throttled 0\n") != std::string::npos);
  EXPECT_TRUE(shell.sandbox().destroy());
}

TEST_P(LaunchThatTells, CountsAndNamesRefusedCalls) {
  auto shell = start();
  EXPECT_EQ(shell.sandbox().take_evidence(), SandboxEvidence{});
  // userfaultfd: gVisor does not have it either.
  EXPECT_EQ(shell.ask("/usr/bin/python3 -c 'import ctypes\nctypes.CDLL(None).syscall(323, 0)\nprint(1)'"),
            "1");
  const auto seen = shell.sandbox().take_evidence();
  EXPECT_EQ(seen.refused_syscalls, 1u);
  EXPECT_THAT(seen.syscalls, testing::ElementsAre("userfaultfd"));
  EXPECT_EQ(shell.sandbox().take_evidence(), SandboxEvidence{});
  EXPECT_TRUE(shell.sandbox().destroy());
}

TEST_P(Launch, EndsWithTheHost) {
  auto shell = start();
  shell.hang_up();
  EXPECT_EQ(shell.line(), std::nullopt);
  EXPECT_TRUE(shell.sandbox().destroy());
}

TEST_P(Launch, SaysWhyItCannotStartAndLeavesNothing) {
  ASSERT_TRUE(remove_tree(node_.machine().places.guest()));
  const auto started = launcher_->start(node_.name(1));
  if (started) {  // bubblewrap is told to have started before it looks for the program
    EXPECT_EQ(GetParam().name, "bwrap");
    EXPECT_TRUE(started->sandbox->destroy());
    return;
  }
  EXPECT_EQ(started.error().code, ErrorCode::sandbox_unavailable);
  EXPECT_THAT(started.error().text, HasSubstr("ended with"));
}

}  // namespace

}  // namespace ratchet::sandbox
