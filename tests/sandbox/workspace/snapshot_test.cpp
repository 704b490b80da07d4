// Workspaces as they come back: what is recorded, what is equal, what is refused. Restored by copying, so
// that no privilege is needed.

#include <atomic>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/limits.hpp"
#include "tests/sandbox/workspace/fixture.hpp"

namespace ratchet {

namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class Snapshot : public WorkspaceFixture {
 protected:
  Snapshot() {
    options_.overlay = false;
    start();
  }
};

TEST_F(Snapshot, OfAnEmptyWorkspaceHasAName) {
  must_open(1);
  const Hash empty = snapshot(1);
  must_open(2, empty);
  EXPECT_TRUE(fs::is_empty(at(2, "")));
  EXPECT_EQ(snapshot(2), empty);
}

TEST_F(Snapshot, BringsBackFilesDirectoriesAndLinks) {
  must_open(1);
  fs::create_directories(at(1, "src/empty"));
  write(at(1, "src/main"), "#!/bin/sh\n");
  fs::permissions(at(1, "src/main"), fs::perms::owner_exec, fs::perm_options::add);
  write(at(1, "data"), std::string("\0\xff\n", 3));
  write(at(1, "large"), std::string(3u << 20, 'l') + "end");
  write(at(1, "nothing"), "");
  fs::create_symlink("../src/main", at(1, "src/link"));
  const Hash taken = snapshot(1);
  close(1);

  start();
  must_open(2, taken);
  EXPECT_TRUE(fs::is_empty(at(2, "src/empty")));
  EXPECT_EQ(read(at(2, "src/main")), "#!/bin/sh\n");
  EXPECT_EQ(fs::status(at(2, "src/main")).permissions(), fs::perms(0755));
  EXPECT_EQ(read(at(2, "data")), std::string("\0\xff\n", 3));
  EXPECT_EQ(fs::status(at(2, "data")).permissions(), fs::perms(0644));
  EXPECT_EQ(read(at(2, "large")), std::string(3u << 20, 'l') + "end");
  EXPECT_EQ(read(at(2, "nothing")), "");
  EXPECT_EQ(fs::read_symlink(at(2, "src/link")), "../src/main");
  EXPECT_EQ(snapshot(2), taken);
}

TEST_F(Snapshot, BringsBackAnyName) {
  must_open(1);
  const std::vector<std::string> names{
      "new\nline", "\xff\xfe", "-rf", " ", std::string(255, 'n'), "a\\b", "*", "..."};
  for (const std::string& name : names)
    write(at(1, name), name);
  const Hash taken = snapshot(1);
  must_open(2, taken);
  for (const std::string& name : names)
    EXPECT_EQ(read(at(2, name)), name);
}

TEST_F(Snapshot, IsEqualForEqualFiles) {
  must_open(1);
  must_open(2);
  write(at(1, "a"), "same");
  write(at(1, "b"), "other");
  write(at(2, "b"), "other");
  write(at(2, "a"), "different at first");
  const auto at_one_time = [&] {
    for (const std::uint8_t run : {1, 2})
      for (const char* name : {"a", "b"})
        set_written(at(run, name), 1'000'000'000);
  };
  at_one_time();
  EXPECT_NE(snapshot(1), snapshot(2));
  write(at(2, "a"), "same");
  EXPECT_NE(snapshot(1), snapshot(2)) << "it was written later";
  at_one_time();
  EXPECT_EQ(snapshot(1), snapshot(2));
}

TEST_F(Snapshot, BringsBackWhenFilesWereWritten) {
  must_open(1);
  write(at(1, "source"), "same");
  write(at(1, "target"), "same");  // one content, two times
  write(at(1, "old"), "old");
  write(at(1, "future"), "future");
  set_written(at(1, "source"), 1'000'000'000, 123'456'789);
  set_written(at(1, "target"), 1'000'000'001);
  set_written(at(1, "old"), 0);
  set_written(at(1, "future"), 100'000'000'000);  // as far as the file system lets it
  const Hash taken = snapshot(1);
  start();
  must_open(2, taken);
  EXPECT_EQ(written_ns(at(2, "source")), 1'000'000'000'123'456'789);
  EXPECT_EQ(written_ns(at(2, "target")), 1'000'000'001'000'000'000);
  EXPECT_EQ(written_ns(at(2, "old")) / 1'000'000'000, 0);
  struct stat status{};
  ASSERT_EQ(lstat(at(2, "future").c_str(), &status), 0);
  EXPECT_GT(status.st_mtim.tv_sec, 9'000'000'000) << "the last time that can be recorded";
  EXPECT_EQ(snapshot(2), taken) << "nothing has changed";
  set_written(at(2, "target"), 999'999'999);
  EXPECT_NE(snapshot(2), taken);
}

TEST_F(Snapshot, SeesEveryKindOfChange) {
  must_open(1);
  write(at(1, "file"), "one");
  fs::create_symlink("x", at(1, "link"));
  set_written(at(1, "file"), 1'000'000'000);
  std::vector<Hash> taken{snapshot(1)};
  const auto expect_new = [&](std::string_view what) {
    taken.push_back(snapshot(1));
    for (std::size_t i = 0; i + 1 < taken.size(); ++i)
      EXPECT_NE(taken[i], taken.back()) << what;
  };
  fs::permissions(at(1, "file"), fs::perms::owner_exec, fs::perm_options::add);
  expect_new("a file that may be executed");
  fs::remove(at(1, "link"));
  expect_new("a link that is gone");
  fs::create_symlink("y", at(1, "link"));
  expect_new("a link to elsewhere");
  fs::create_directory(at(1, "empty"));
  expect_new("an empty directory");
  fs::rename(at(1, "file"), at(1, "moved"));
  expect_new("a file of another name");
  fs::rename(at(1, "moved"), at(1, "file"));
  fs::remove(at(1, "empty"));
  fs::remove(at(1, "link"));
  fs::create_symlink("x", at(1, "link"));
  fs::permissions(at(1, "file"), fs::perms::owner_exec, fs::perm_options::remove);
  EXPECT_EQ(snapshot(1), taken.front());
}

TEST_F(Snapshot, SeesContentsThatChangedBehindTheirSizeAndTime) {
  must_open(1);
  write(at(1, "file"), "one");
  for (int round = 0; round < 50; ++round) {
    struct stat before{};
    ASSERT_EQ(stat(at(1, "file").c_str(), &before), 0);
    const Hash taken = snapshot(1);
    const int fd = ::open(at(1, "file").c_str(), O_WRONLY);
    ASSERT_EQ(pwrite(fd, round % 2 == 0 ? "two" : "one", 3, 0), 3);
    const timespec times[]{before.st_atim, before.st_mtim};
    ASSERT_EQ(futimens(fd, times), 0);
    ::close(fd);
    ASSERT_NE(snapshot(1), taken) << "in round " << round;
  }
}

TEST_F(Snapshot, SeesChangesAtOnceAfterItWasRestored) {
  must_open(1);
  write(at(1, "file"), "one");
  const Hash one = snapshot(1);
  for (int round = 0; round < 20; ++round) {
    must_open(1, one);
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

TEST_F(Snapshot, ForgetsWhatCameAfterIt) {
  must_open(1);
  write(at(1, "kept"), "kept");
  write(at(1, "changed"), "before");
  const Hash taken = snapshot(1);
  write(at(1, "changed"), "after");
  write(at(1, "new"), "new");
  fs::remove(at(1, "kept"));
  must_open(1, taken);
  EXPECT_EQ(read(at(1, "kept")), "kept");
  EXPECT_EQ(read(at(1, "changed")), "before");
  EXPECT_FALSE(fs::exists(at(1, "new")));
}

// --- hostile contents
// --------------------------------------------------------------------------------------------------

TEST_F(Snapshot, WritesLinksDownAndNeverFollowsThem) {
  TemporaryDirectory outside;
  write(outside.path() + "/secret", "secret");
  must_open(1);
  fs::create_symlink(outside.path() + "/secret", at(1, "file"));
  fs::create_symlink(outside.path(), at(1, "directory"));
  fs::create_symlink("file", at(1, "chain"));
  fs::create_symlink("loop", at(1, "loop"));
  const Hash taken = snapshot(1);
  EXPECT_FALSE(fs::exists(object_path(sha256("secret"))));
  must_open(2, taken);
  EXPECT_EQ(fs::read_symlink(at(2, "directory")), outside.path());
  EXPECT_EQ(fs::read_symlink(at(2, "loop")), "loop");
}

TEST_F(Snapshot, PassesOverFifosAndSockets) {
  must_open(1);
  const Hash empty = snapshot(1);
  ASSERT_EQ(mkfifo(at(1, "fifo").c_str(), 0600), 0);
  ASSERT_EQ(mknod(at(1, "socket").c_str(), S_IFSOCK | 0600, 0), 0);
  EXPECT_EQ(snapshot(1), empty);
}

TEST_F(Snapshot, DropsSetuidBits) {
  must_open(1);
  write(at(1, "tool"), "tool");
  ASSERT_EQ(chmod(at(1, "tool").c_str(), 06755), 0);
  const Hash taken = snapshot(1);
  must_open(2, taken);
  EXPECT_EQ(fs::status(at(2, "tool")).permissions(), fs::perms(0755));
}

TEST_F(Snapshot, RefusesAFileThatIsLargeButHollow) {
  must_open(1);
  write(at(1, "hollow"), "");
  fs::resize_file(at(1, "hollow"), 1ull << 40);
  EXPECT_THAT(refusal(1), HasSubstr("hollow: "));
  fs::remove(at(1, "hollow"));
  snapshot(1);  // the next one finds it well again
}

TEST_F(Snapshot, RefusesTheFileWithWhichItIsTooLarge) {
  must_open(1);
  write(at(1, "a"), "1");
  write(at(1, "b"), "");
  fs::resize_file(at(1, "b"), limits::workspace_bytes_max);
  EXPECT_THAT(refusal(1), HasSubstr("b: "));
}

TEST_F(Snapshot, RefusesWhatIsTooDeepAndRemovesItAllTheSame) {
  must_open(1);
  std::vector<int> open{::open(at(1, "").c_str(), O_RDONLY | O_DIRECTORY)};
  const std::string name(100, 'd');
  for (int depth = 0; depth < 600; ++depth) {
    ASSERT_EQ(mkdirat(open.back(), name.c_str(), 0700), 0);
    open.push_back(openat(open.back(), name.c_str(), O_RDONLY | O_DIRECTORY));
    if (open.size() > 2) {
      ::close(open.front());
      open.erase(open.begin());
    }
  }
  for (const int fd : open)
    ::close(fd);
  EXPECT_THAT(refusal(1), HasSubstr("ddd"));
  close(1);
  EXPECT_FALSE(fs::exists(at(1, "")));
}

TEST_F(Snapshot, KeepsWhatIsJustDeepEnough) {
  must_open(1);
  std::string path = "d";
  for (std::size_t depth = 1; depth < limits::workspace_depth_max; ++depth)
    path += "/d";
  fs::create_directories(at(1, path));
  const Hash taken = snapshot(1);
  must_open(2, taken);
  EXPECT_TRUE(fs::is_directory(at(2, path)));
  fs::create_directories(at(2, path + "/d"));
  EXPECT_THAT(refusal(2), HasSubstr("deeper"));
}

TEST_F(Snapshot, ReadsNothingOutsideWhileADirectoryTurnsIntoALink) {
  TemporaryDirectory outside;
  for (int i = 0; i < 20; ++i)
    write(outside.path() + fmt::format("/file-{}", i), "secret");
  must_open(1);
  fs::create_directory(at(1, "directory"));
  for (int i = 0; i < 20; ++i)
    write(at(1, fmt::format("directory/file-{}", i)), "harmless");
  fs::create_symlink(outside.path(), at(1, "link"));

  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop)
      renameat2(AT_FDCWD, at(1, "directory").c_str(), AT_FDCWD, at(1, "link").c_str(), RENAME_EXCHANGE);
  });
  for (int round = 0; round < 300; ++round) {
    const auto result = try_snapshot(1);
    EXPECT_TRUE(result || result.error().code == ErrorCode::workspace_refused) << result.error().text;
  }
  stop = true;
  swapper.join();
  EXPECT_FALSE(fs::exists(object_path(sha256("secret"))));
  EXPECT_TRUE(fs::exists(object_path(sha256("harmless"))));
}

}  // namespace

}  // namespace ratchet
