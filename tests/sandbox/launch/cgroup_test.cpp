// Control groups, against trees of plain files: what is found, what is written where.

#include "sandbox/launch/cgroup.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/launch/files.hpp"
#include "tests/fakes/directory.hpp"

namespace ratchet::sandbox {

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Version = CgroupLayout::Version;

constexpr std::string_view mixed =
    "30 20 0:26 / /sys/fs/cgroup rw,nosuid - tmpfs tmpfs rw,mode=755\n"
    "31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    "32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 30 0:29 / /sys/fs/cgroup/memory rw shared:3 - cgroup cgroup rw,memory\n"
    "34 30 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "35 30 0:31 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
    "garbage\n";

TEST(CgroupMounts, PreferVersion1WhereBothAreThere) {
  const auto layout = parse_cgroup_mounts(mixed);
  EXPECT_EQ(layout.version, Version::v1);
  EXPECT_EQ(layout.folder(Controller::memory), "/sys/fs/cgroup/memory");
  EXPECT_EQ(layout.folder(Controller::cpu), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(layout.folder(Controller::freezer), "/sys/fs/cgroup/freezer");
  EXPECT_EQ(layout.folder(Controller::pids), "");
  EXPECT_THAT(layout.missing, ElementsAre(HasSubstr("pids")));
}

TEST(CgroupMounts, KnowVersion2) {
  const auto layout = parse_cgroup_mounts("31 30 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(layout.version, Version::v2);
  EXPECT_EQ(layout.folder(Controller::pids), "/sys/fs/cgroup");
  EXPECT_THAT(layout.missing, IsEmpty());
}

TEST(CgroupMounts, SayWhatIsMissingWhereThereIsNone) {
  const auto layout = parse_cgroup_mounts("36 35 98:0 /mnt1 /mnt2 rw master:1 - ext3 /dev/root rw\n\n - \n");
  EXPECT_EQ(layout.version, Version::none);
  EXPECT_EQ(layout.missing.size(), 4u);
}

class Tree : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }

  void file(const std::string& name, std::string_view text) {
    ASSERT_TRUE(make_directory(std::filesystem::path(path(name)).parent_path(), 0755));
    ASSERT_TRUE(write_new(path(name), text, 0644));
  }

  std::string text(const std::string& name) const { return read_file(path(name)).value_or("(none)"); }

  std::string mount_v2() const { return "31 30 0:27 / " + directory_.path() + " rw - cgroup2 cgroup2 rw\n"; }

  CgroupLayout v2() const {
    CgroupLayout layout{.version = Version::v2};
    layout.folders.fill(directory_.path());
    return layout;
  }

  CgroupLayout v1() const {
    return {.version = Version::v1, .folders = {path("memory"), path("pids"), path("cpu"), path("freezer")}};
  }

  TemporaryDirectory directory_;
};

TEST_F(Tree, EnablesTheControllersOfVersion2) {
  file("cgroup.subtree_control", "");
  const auto layout = find_cgroups(mount_v2(), "0::/\n");
  EXPECT_EQ(layout.version, Version::v2);
  EXPECT_EQ(layout.within, "");
  EXPECT_EQ(text("cgroup.subtree_control"), "+memory +pids +cpu");
}

TEST_F(Tree, UsesTheNodesOwnGroupWhereTheTopIsNotItsOwn) {
  file("user/me/cgroup.subtree_control", "cpu memory pids\n");
  const auto layout = find_cgroups(mount_v2(), "1:name=systemd:/x\n0::/user/me/ratchet-node\n");
  EXPECT_EQ(layout.version, Version::v2);
  EXPECT_EQ(layout.within, "/user/me");
  EXPECT_EQ(layout.folder(Controller::cpu), path("user/me"));
}

TEST_F(Tree, SaysSoWhereNothingCanBeEnabled) {
  const auto layout = find_cgroups(mount_v2(), "0::/\n");
  EXPECT_EQ(layout.version, Version::none);
  EXPECT_EQ(layout.missing.size(), 4u);
}

TEST_F(Tree, WritesLimitsOfVersion2) {
  for (const auto* name : {"s/memory.max", "s/memory.swap.max", "s/pids.max", "s/cpu.max"})
    file(name, "max");
  const auto group = Cgroup::existing(v2(), "s");
  ASSERT_TRUE(group.limit({.memory_mb = 2, .cpu_permille = 1'500, .pids = 7}));
  EXPECT_EQ(text("s/memory.max"), "2097152");
  EXPECT_EQ(text("s/memory.swap.max"), "0");
  EXPECT_EQ(text("s/pids.max"), "7");
  EXPECT_EQ(text("s/cpu.max"), "150000 100000");
}

TEST_F(Tree, WritesLimitsOfVersion1) {
  for (const auto* name : {"memory/s/memory.limit_in_bytes",
                           "memory/s/memory.memsw.limit_in_bytes",
                           "pids/s/pids.max",
                           "cpu/s/cpu.cfs_period_us",
                           "cpu/s/cpu.cfs_quota_us"})
    file(name, "");
  const auto group = Cgroup::existing(v1(), "s");
  ASSERT_TRUE(group.limit({.memory_mb = 1, .cpu_permille = 250, .pids = 7}));
  EXPECT_EQ(text("memory/s/memory.limit_in_bytes"), "1048576");
  EXPECT_EQ(text("memory/s/memory.memsw.limit_in_bytes"), "1048576");
  EXPECT_EQ(text("cpu/s/cpu.cfs_quota_us"), "25000");
}

TEST_F(Tree, FailsWhereALimitCannotBeWritten) {
  const auto done = Cgroup::existing(v2(), "s").limit({});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::sandbox_unavailable);
  EXPECT_THAT(done.error().text, HasSubstr("memory.max"));
}

TEST_F(Tree, CountsDeathsByMemory) {
  file("s/memory.events", "low 0\noom 9\noom_kill 3\noom_group_kill 1\n");
  file("memory/s/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  EXPECT_EQ(Cgroup::existing(v2(), "s").memory_deaths(), 3u);
  EXPECT_EQ(Cgroup::existing(v1(), "s").memory_deaths(), 4u);
  EXPECT_EQ(Cgroup::existing(v1(), "gone").memory_deaths(), 0u);
}

TEST_F(Tree, NeverListsItself) {
  // 0 is a process of a namespace that is not ours: a signal to it would be one to this group of processes.
  file("s/cgroup.procs", "0\n12\n0\n7\n12\n");
  EXPECT_THAT(Cgroup::existing(v2(), "s").processes(), ElementsAre(7, 12));
}

TEST_F(Tree, MakesAndRemovesAllOrNothing) {
  for (const auto* controller : {"memory", "pids", "cpu", "freezer"})
    ASSERT_TRUE(make_directory(path(controller), 0755));
  auto group = Cgroup::make(v1(), "ratchet-0-1");
  ASSERT_TRUE(group);
  EXPECT_THAT(cgroups_named(v1(), "ratchet-0-"), ElementsAre("ratchet-0-1"));
  EXPECT_THAT(cgroups_named(v1(), "ratchet-1-"), IsEmpty());
  EXPECT_TRUE(group->remove());
  EXPECT_TRUE(group->remove());
  file("cpu/ratchet-0-2", "in the way");
  EXPECT_FALSE(Cgroup::make(v1(), "ratchet-0-2"));
  EXPECT_FALSE(std::filesystem::exists(path("memory/ratchet-0-2")));
}

}  // namespace

}  // namespace ratchet::sandbox
