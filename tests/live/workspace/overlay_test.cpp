// Workspaces as overlays. Mounts need root, or a user namespace: where there is neither, every test here says
// so and is skipped.

#include <cerrno>
#include <cstdio>
#include <sys/mount.h>
#include <sys/statfs.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/not_tested.hpp"
#include "tests/sandbox/workspace/fixture.hpp"

namespace ratchet {

namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Overlay : public WorkspaceFixture {
 protected:
  void SetUp() override {
    if (geteuid() == 0) options_.tool_uid = options_.tool_gid = 1000;
    options_.read_only_paths = {".git/config", ".git/hooks", ".bashrc"};
    options_.upper_bytes = 8u << 20;
    start();
    if (!workspaces_->weaker().empty())
      skip_not_tested("overlays of workspaces", workspaces_->weaker().front());
  }

  /// What a tool of the run would see if it tried: an errno, or 0.
  template <class Act>
  static int errno_of(Act act) {
    errno = 0;
    return act() < 0 ? errno : 0;
  }

  int write_errno(const std::string& path) {
    return errno_of([&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644); });
  }
};

TEST_F(Overlay, RestoresExactlyTheSnapshot) {
  must_open(1);
  fs::create_directories(at(1, "src/empty"));
  write(at(1, "src/main"), "#!/bin/sh\n");
  fs::permissions(at(1, "src/main"), fs::perms::owner_exec, fs::perm_options::add);
  write(at(1, "data"), "data");
  write(at(1, "nothing"), "");
  fs::create_symlink("/etc/shadow", at(1, "link"));
  const Hash taken = snapshot(1);
  close(1);
  start();
  must_open(2, taken);
  EXPECT_EQ(read(at(2, "src/main")), "#!/bin/sh\n");
  EXPECT_EQ(fs::status(at(2, "src/main")).permissions(), fs::perms(0755));
  EXPECT_TRUE(fs::is_empty(at(2, "src/empty")));
  EXPECT_EQ(fs::read_symlink(at(2, "link")), "/etc/shadow");
  EXPECT_EQ(snapshot(2), taken);
}

TEST_F(Overlay, BringsBackWhenFilesWereWritten) {
  must_open(1);
  write(at(1, "source"), "same");
  write(at(1, "target"), "same");  // one content, two times: one of them is a copy
  set_written(at(1, "source"), 1'000'000'000, 123'456'789);
  set_written(at(1, "target"), 1'000'000'001);
  const Hash taken = snapshot(1);
  for (int round = 0; round < 2; ++round) {
    must_open(1, taken);
    EXPECT_EQ(written_ns(at(1, "source")), 1'000'000'000'123'456'789);
    EXPECT_EQ(written_ns(at(1, "target")), 1'000'000'001'000'000'000);
    EXPECT_EQ(snapshot(1), taken) << "nothing has changed";
    start();
  }
  must_open(1, taken);
  for (const char* name : {"source", "target"}) {
    const int fd = ::open(at(1, name).c_str(), O_WRONLY);
    ASSERT_EQ(pwrite(fd, "SAME", 4, 0), 4);
    ::close(fd);
    set_written(at(1, name), written_ns(at(1, name)) / 1'000'000'000);
    EXPECT_NE(snapshot(1), taken);
    must_open(1, taken);
  }
}

TEST_F(Overlay, BelongsToTheToolsUser) {
  must_open(1);
  fs::create_directory(at(1, "directory"));
  write(at(1, "directory/file"), "content");
  must_open(2, snapshot(1));
  for (const char* path : {"", "directory", "directory/file"}) {
    struct stat status{};
    ASSERT_EQ(lstat(at(2, path).c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, options_.tool_uid < 0 ? getuid() : 1000u) << path;
    EXPECT_NE(status.st_mode & S_IWUSR, 0u) << path;
  }
}

TEST_F(Overlay, KeepsObjectsFromBeingWritten) {
  must_open(1);
  write(at(1, "file"), "content");
  const Hash taken = snapshot(1);
  must_open(2, taken);
  write(at(2, "file"), "poison!");
  EXPECT_EQ(chmod(at(2, "file").c_str(), 0777), 0);
  EXPECT_EQ(read(object_path(sha256("content"))), "content");
  EXPECT_NE(snapshot(2), taken);
  start();
  must_open(3, taken);
  EXPECT_EQ(read(at(3, "file")), "content");
}

TEST_F(Overlay, RecordsWhatIsRemovedReplacedAndMoved) {
  must_open(1);
  fs::create_directories(at(1, "removed/inner"));
  fs::create_directories(at(1, "replaced"));
  write(at(1, "removed/inner/file"), "1");
  write(at(1, "replaced/old"), "2");
  write(at(1, "file"), "3");
  write(at(1, "moved"), "4");
  must_open(1, snapshot(1));
  fs::remove_all(at(1, "removed"));
  fs::remove_all(at(1, "replaced"));
  fs::create_directory(at(1, "replaced"));  // opaque: what was in it must not come back
  write(at(1, "replaced/new"), "5");
  fs::remove(at(1, "file"));
  fs::create_directory(at(1, "file"));
  fs::rename(at(1, "moved"), at(1, "file/moved"));
  set_written(at(1, "replaced/new"), 1'000'000'000);
  set_written(at(1, "file/moved"), 1'000'000'000);
  const Hash taken = snapshot(1);

  // The same files, made otherwise.
  must_open(2);
  fs::create_directory(at(2, "replaced"));
  write(at(2, "replaced/new"), "5");
  fs::create_directory(at(2, "file"));
  write(at(2, "file/moved"), "4");
  set_written(at(2, "replaced/new"), 1'000'000'000);
  set_written(at(2, "file/moved"), 1'000'000'000);
  EXPECT_EQ(snapshot(2), taken);
  must_open(3, taken);
  EXPECT_FALSE(fs::exists(at(3, "removed")));
  EXPECT_FALSE(fs::exists(at(3, "replaced/old")));
  EXPECT_EQ(read(at(3, "file/moved")), "4");
}

TEST_F(Overlay, SeesContentsThatChangedBehindTheirSizeAndTime) {
  must_open(1);
  write(at(1, "file"), "one");
  const Hash one = snapshot(1);
  for (int round = 0; round < 20; ++round) {
    must_open(1, one);
    must_open(2, one);  // which moves the ctime of the object
    ASSERT_EQ(snapshot(1), one);
    struct stat before{};
    ASSERT_EQ(stat(at(1, "file").c_str(), &before), 0);
    const int fd = ::open(at(1, "file").c_str(), O_WRONLY);
    ASSERT_EQ(pwrite(fd, "two", 3, 0), 3);
    const timespec times[]{before.st_atim, before.st_mtim};
    ASSERT_EQ(futimens(fd, times), 0);
    ::close(fd);
    ASSERT_NE(snapshot(1), one) << "in round " << round;
  }
}

TEST_F(Overlay, BoundsWhatIsWritten) {
  must_open(1);
  const int fd = ::open(at(1, "full").c_str(), O_WRONLY | O_CREAT, 0644);
  const std::string part(1u << 20, 'x');
  int failure = 0;
  for (int i = 0; i < 16 && failure == 0; ++i)
    failure = errno_of([&] { return ::write(fd, part.data(), part.size()); });
  ::close(fd);
  EXPECT_EQ(failure, ENOSPC);
}

TEST_F(Overlay, MakesWhatIsProtectedReadOnly) {
  options_.read_only_paths = {};
  start();
  must_open(1);
  fs::create_directories(at(1, ".git/hooks"));
  write(at(1, ".git/config"), "[core]\n");
  write(at(1, ".git/HEAD"), "main\n");
  const Hash taken = snapshot(1);
  options_.read_only_paths = {".git/config", ".git/hooks", ".bashrc"};
  start();
  must_open(1, taken);
  EXPECT_EQ(write_errno(at(1, ".git/config")), EROFS);
  EXPECT_EQ(write_errno(at(1, ".git/hooks/pre-commit")), EROFS);
  EXPECT_EQ(errno_of([&] { return rename(at(1, ".git").c_str(), at(1, "git").c_str()); }), EBUSY);
  EXPECT_EQ(errno_of([&] { return rename(at(1, ".git/hooks").c_str(), at(1, ".git/h").c_str()); }), EBUSY);
  EXPECT_EQ(errno_of([&] { return unlink(at(1, ".git/config").c_str()); }), EBUSY);
  EXPECT_EQ(write_errno(at(1, ".git/HEAD")), 0);
  EXPECT_EQ(snapshot(1), taken);
  write(at(1, ".bashrc"), "evil");
  EXPECT_THAT(refusal(1), HasSubstr(".bashrc: "));
}

TEST_F(Overlay, MakesWhatIsProtectedReadOnlyInEveryClone) {
  options_.read_only_paths = {};
  start();
  must_open(1);
  fs::create_directories(at(1, "sub/clone/.git/hooks"));
  write(at(1, "sub/clone/.git/config"), "[core]\n");
  write(at(1, "sub/clone/.git/HEAD"), "main\n");
  const Hash taken = snapshot(1);
  options_.read_only_paths = {".git/config", ".git/hooks", ".bashrc"};
  start();
  must_open(1, taken);
  EXPECT_EQ(write_errno(at(1, "sub/clone/.git/config")), EROFS);
  EXPECT_EQ(write_errno(at(1, "sub/clone/.git/hooks/pre-commit")), EROFS);
  EXPECT_EQ(errno_of([&] { return rename(at(1, "sub/clone").c_str(), at(1, "sub/c").c_str()); }), EBUSY);
  EXPECT_EQ(write_errno(at(1, "sub/clone/.git/HEAD")), 0);
  EXPECT_EQ(write_errno(at(1, "sub/clone/file")), 0);
  snapshot(1);
}

TEST_F(Overlay, LeavesNothingBehind) {
  must_open(1);
  write(at(1, "file"), "content");
  const Hash taken = snapshot(1);
  must_open(2, taken);
  close(1);
  close(2);
  EXPECT_TRUE(fs::is_empty(data_.path() + "/sandbox/workspaces"));
  EXPECT_EQ(read("/proc/self/mountinfo").find(data_.path()), std::string::npos);
  EXPECT_EQ(fs::hard_link_count(object_path(sha256("content"))), 1u);
}

TEST_F(Overlay, RemovesTheMountsOfADeadProcess) {
  must_open(1);
  const std::string merged = at(1, "");
  auto dead = std::move(workspaces_);  // never closed
  start();
  EXPECT_FALSE(fs::exists(merged));
  workspaces_.reset();  // does what it has begun
  EXPECT_EQ(read("/proc/self/mountinfo").find(data_.path()), std::string::npos);
  EXPECT_TRUE(fs::is_empty(data_.path() + "/sandbox/leftovers"));
}

TEST_F(Overlay, FindsDamageBeforeAnythingIsMounted) {
  must_open(1);
  write(at(1, "file"), "content");
  const Hash taken = snapshot(1);
  close(1);
  write(object_path(sha256("content")), "CONTENT");
  const auto opened = open(1, taken);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
  EXPECT_THAT(opened.error().text, HasSubstr("file: object " + to_string(sha256("content")).substr(0, 2)));
  EXPECT_TRUE(fs::is_empty(data_.path() + "/sandbox/workspaces"));
}

}  // namespace

}  // namespace ratchet
