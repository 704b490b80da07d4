// What is kept, what is removed, and what is found to be damaged.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sandbox/workspace/fixture.hpp"

namespace ratchet {

namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Objects : public WorkspaceFixture {
 protected:
  Objects() {
    options_.overlay = false;
    start();
  }

  /// A snapshot of one file.
  Hash take(std::uint8_t run, std::string_view content) {
    must_open(run);
    write(at(run, "file"), content);
    set_written(at(run, "file"), 1'000'000'000);
    return snapshot(run);
  }

  void expect_damaged(const Hash& taken, const std::string& object) {
    const auto opened = open(9, taken);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
    EXPECT_THAT(opened.error().text, HasSubstr(object));
    EXPECT_FALSE(fs::exists(at(9, ""))) << "something is left of it";
  }
};

TEST_F(Objects, AreWrittenOncePerContent) {
  must_open(1);
  for (int i = 0; i < 40; ++i)
    write(at(1, fmt::format("file-{}", i)), "same");
  snapshot(1);
  EXPECT_EQ(objects(), 2u) << "the content and the manifest";
  snapshot(1);
  EXPECT_EQ(objects(), 2u);
}

TEST_F(Objects, AreFoundToBeDamagedOrMissing) {
  const Hash taken = take(1, "content");
  const std::string object = to_string(sha256("content")).substr(2);
  write(object_path(sha256("content")), "CONTENT");
  expect_damaged(taken, object);
  write(object_path(sha256("content")), "short");
  expect_damaged(taken, object);
  fs::remove(object_path(sha256("content")));
  expect_damaged(taken, object);
}

TEST_F(Objects, AreFoundToBeDamagedWhereTheyAreManifests) {
  const Hash taken = take(1, "content");
  write(object_path(taken), read(object_path(taken)) + "x");
  expect_damaged(taken, to_string(taken).substr(2));
  fs::remove(object_path(taken));
  expect_damaged(taken, to_string(taken).substr(2));
}

TEST_F(Objects, OfADamagedLengthAreReplacedByTheNextSnapshot) {
  const Hash taken = take(1, "content");
  write(object_path(sha256("content")), "short");
  EXPECT_EQ(take(2, "content"), taken);
  must_open(3, taken);
  EXPECT_EQ(read(at(3, "file")), "content");
}

TEST_F(Objects, StayAsTheyAreWhenARestoredFileIsWritten) {
  const Hash taken = take(1, "content");
  must_open(2, taken);
  write(at(2, "file"), "poison");
  EXPECT_EQ(read(object_path(sha256("content"))), "content");
  must_open(3, taken);
}

// --- sweeping
// --------------------------------------------------------------------------------------------------

TEST_F(Objects, GoWhenNoSnapshotNeedsThem) {
  const Hash kept = take(1, "kept"), dropped = take(2, "dropped");
  start();  // a process that has not told of them
  ASSERT_TRUE(sweep({kept}));
  must_open(3, kept);
  EXPECT_EQ(read(at(3, "file")), "kept");
  EXPECT_EQ(open(4, dropped).error().code, ErrorCode::corrupt);
  EXPECT_EQ(objects(), 2u);
}

TEST_F(Objects, StayWhileTheEventThatNamesThemIsOnItsWay) {
  const Hash taken = take(1, "content");
  close(1);
  ASSERT_TRUE(sweep({}));
  must_open(1, taken);
  close(1);
  ASSERT_TRUE(sweep({taken}));
  ASSERT_TRUE(sweep({}));  // it was there, and is no more
  EXPECT_EQ(objects(), 0u);
}

TEST_F(Objects, StayWhileAWorkspaceIsOpen) {
  const Hash taken = take(1, "content");
  start();
  must_open(2, taken);
  ASSERT_TRUE(sweep({}));
  write(at(2, "other"), "other");
  const Hash next = snapshot(2);  // takes the hash of what it was restored with over
  must_open(3, next);
  EXPECT_EQ(read(at(3, "file")), "content");
}

TEST_F(Objects, AllStayWhereAManifestCannotBeRead) {
  const Hash damaged = take(1, "one");
  take(2, "two");
  write(object_path(damaged), "damage");
  start();
  const std::size_t before = objects();
  const auto swept = sweep({damaged});
  ASSERT_FALSE(swept);
  EXPECT_EQ(swept.error().code, ErrorCode::corrupt);
  EXPECT_EQ(objects(), before);
}

TEST_F(Objects, OfASnapshotThatIsTakenMeanwhileStay) {
  // Both at once, and the snapshot finds what the sweep would remove.
  for (std::uint8_t round = 0; round < 40; ++round) {
    take(1, "content");
    close(1);
    start();
    must_open(2);
    write(at(2, "file"), "content");
    std::promise<Result<void>> swept;
    workspaces_->sweep({}, [&swept](Result<void> result) { swept.set_value(std::move(result)); });
    const Hash taken = snapshot(2);
    ASSERT_TRUE(swept.get_future().get());
    must_open(3, taken);
    ASSERT_EQ(read(at(3, "file")), "content");
  }
}

// --- after a crash
// --------------------------------------------------------------------------------------------------

TEST_F(Objects, HalfWrittenByADeadProcessAreRemovedAtTheStart) {
  const Hash taken = take(1, "content");
  write(data_.path() + "/sandbox/objects/tmp/17", "half");
  // Objects that a snapshot added before it died: they have no manifest.
  fs::remove(object_path(taken));
  start();
  EXPECT_EQ(objects(), 1u);
  EXPECT_TRUE(fs::exists(object_path(sha256("content"))));
  EXPECT_EQ(take(2, "content"), taken);
  start();
  ASSERT_TRUE(sweep({taken}));
  must_open(3, taken);
}

TEST_F(Objects, AndWorkspacesOfADeadProcessAreRemovedAtTheStart) {
  const std::string left = data_.path() + "/sandbox/workspaces/left";
  fs::create_directories(left + "/merged/deep/deeper");
  write(left + "/merged/deep/file", "left");
  const std::string older = data_.path() + "/sandbox/leftovers/0";  // that the process before did not come to
  fs::create_directories(older + "/run/upper");
  start();
  EXPECT_TRUE(fs::is_empty(data_.path() + "/sandbox/workspaces")) << "it is out of the way at once";
  must_open(1);
  workspaces_.reset();  // does what it has begun
  EXPECT_TRUE(fs::is_empty(data_.path() + "/sandbox/leftovers"));
}

// --- one workspace
// --------------------------------------------------------------------------------------------------

TEST_F(Objects, OfARunThatIsNotOpenCannotBeTaken) {
  const auto taken = try_snapshot(1);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::sandbox_unavailable);
  EXPECT_EQ(workspaces_->directory(workspace_run(1)), "");
  must_open(1);
  EXPECT_EQ(workspaces_->directory(workspace_run(1)) + '/', at(1, ""));
  close(1);
  EXPECT_EQ(workspaces_->directory(workspace_run(1)), "");
  close(1);  // what is not open is closed
}

}  // namespace

}  // namespace ratchet
