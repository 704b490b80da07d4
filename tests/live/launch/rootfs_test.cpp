// The root that all sandboxes share, and what the host mounts below its /usr.

#include "sandbox/launch/rootfs.hpp"

#include <sys/mount.h>
#include <sys/statvfs.h>

#include <gmock/gmock.h>

#include "tests/fakes/not_tested.hpp"
#include "tests/live/launch/fixture.hpp"

namespace ratchet::sandbox {

namespace {

using testing::HasSubstr;
using testing::Not;

/// A directory of /usr that has a writable file system of its own, in the mount namespace of these tests.
class MountBelowUsr {
 public:
  explicit MountBelowUsr(std::string path) : path_(std::move(path)) {
    RATCHET_ENSURE(::mount("below", path_.c_str(), "tmpfs", 0, "size=1m,mode=0777") == 0, path_);
  }

  ~MountBelowUsr() { ::umount2(path_.c_str(), MNT_DETACH); }

  MountBelowUsr(const MountBelowUsr&) = delete;
  MountBelowUsr& operator=(const MountBelowUsr&) = delete;

 private:
  const std::string path_;
};

class Root : public testing::TestWithParam<TierOptions> {};

INSTANTIATE_TEST_SUITE_P(,
                         Root,
                         testing::Values(TierOptions{TierOptions::Kind::oci, "crun"},
                                         TierOptions{TierOptions::Kind::oci, "runc"},
                                         TierOptions{TierOptions::Kind::oci, "runsc"},
                                         TierOptions{TierOptions::Kind::bwrap, "bwrap"}),
                         [](const auto& info) { return info.param.runtime; });

TEST_P(Root, IsReadOnlyAtEveryDepthAndGetsNothingLater) {
  const TemporaryDirectory directory;
  LiveNode node(directory.path());
  if (node.machine().namespaces.kind == Namespaces::Kind::none)
    return skip_not_tested("the root of sandboxes", node.machine().namespaces.why);
  const MountBelowUsr before("/usr/local/share");
  ASSERT_TRUE(write_new("/usr/local/share/there", "there\n", 0666));
  const auto set_up = node.set_up();
  ASSERT_TRUE(set_up) << set_up.error().text;
  const MountBelowUsr later("/usr/local/lib");
  ASSERT_TRUE(write_new("/usr/local/lib/later", "later\n", 0666));
  const auto launcher = node.launcher(GetParam().runtime == "runsc" ? 3 : 2, GetParam());
  if (!launcher->status().available) return skip_not_tested(GetParam().runtime, launcher->status().why);

  auto started = launcher->start(node.name(1));
  ASSERT_TRUE(started) << started.error().text;
  Shell shell(*std::move(started));
  EXPECT_EQ(shell.ask("cat /usr/local/share/there"), "there");
  EXPECT_EQ(shell.ask("(echo x >/usr/local/share/there) 2>/dev/null && echo written || echo refused"),
            "refused");
  EXPECT_EQ(shell.ask("touch /usr/local/share/new 2>/dev/null && echo written || echo refused"), "refused");
  EXPECT_EQ(shell.ask("cat /usr/local/lib/later 2>/dev/null || echo nothing"), "nothing");
  if (launcher->status().runtime.find("runsc") == std::string::npos) {  // which has its own table of mounts
    const auto mount = shell.ask("grep ' /usr/local/share ' /proc/self/mountinfo");
    EXPECT_THAT(mount, HasSubstr(" ro,nosuid,nodev"));
    EXPECT_THAT(mount, Not(HasSubstr("master:")));
  }
  EXPECT_TRUE(shell.sandbox().destroy());
}

TEST(RootOfANode, IsGoneWithTheNodeAndLeavesUsrAlone) {
  const TemporaryDirectory directory;
  auto node = std::make_unique<LiveNode>(directory.path());
  if (node->machine().namespaces.kind == Namespaces::Kind::none)
    return skip_not_tested("the root of sandboxes", node->machine().namespaces.why);
  ASSERT_TRUE(node->set_up());
  const auto root = node->machine().places.rootfs();
  EXPECT_TRUE(std::filesystem::exists(root + "/usr/bin/env"));
  // So that who removes the directory of a living node by mistake does not reach into the host's.
  for (const auto* below : {"", "/etc", "/usr"}) {
    struct statvfs status{};
    ASSERT_EQ(::statvfs((root + below).c_str(), &status), 0);
    EXPECT_NE(status.f_flag & ST_RDONLY, 0u) << below;
  }
  node.reset();
  EXPECT_FALSE(std::filesystem::exists(root));
}

}  // namespace

}  // namespace ratchet::sandbox
