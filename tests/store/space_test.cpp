// A disk that fills up: refused before it is full, survived when it is, and going on when there is room.

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/lmdb_journal.hpp"
#include "store/tools.hpp"
#include "tests/fakes/directory.hpp"
#include "tests/store/process.hpp"
#include "tests/store/story.hpp"

namespace ratchet {

namespace {

using stories::run_id;
using stories::Story;

/// A file system in memory of a few megabytes, in a mount namespace of this process.
class SmallDisk {
 public:
  SmallDisk(const std::string& path, const char* size) : path_(path) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", path_.c_str(), "tmpfs", 0, size) != 0)
      problem_ = std::string("mounting a small disk: ") + strerror(errno);
  }

  ~SmallDisk() {
    if (problem_.empty()) umount2(path_.c_str(), MNT_DETACH);
  }

  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  const std::string& problem() const { return problem_; }

 private:
  std::string path_, problem_;
};

Result<Committed> commit(Journal& journal, const Commit& given) {
  auto outcomes = journal.commit({&given, 1});
  if (!outcomes) return tl::unexpected(outcomes.error());
  return outcomes->at(0);
}

TEST(Space, LowRefusesTheWholeBatchBeforeAnythingIsWritten) {
  TemporaryDirectory directory;
  std::uint64_t free_bytes = 1ull << 40;
  StoreOptions options;
  options.data_dir = directory.path();
  options.reserve_bytes = 1 << 20;
  options.free_bytes = [&] { return free_bytes; };
  auto journal = *open_store(options);
  Story one(1), two(2);
  ASSERT_TRUE(commit(*journal, one.commit()));
  ASSERT_TRUE(commit(*journal, two.commit()));

  free_bytes = options.reserve_bytes - 1;
  const Story before = one;
  EXPECT_EQ(commit(*journal, one.commit()).error().code, ErrorCode::store_unavailable);
  EXPECT_FALSE(journal->health().writable);
  EXPECT_EQ(journal->row(run_id(1))->last_seq, 1u) << "reads go on";
  one = before;

  // A cancel may use what is kept free; its neighbours may not.
  std::vector<Commit> batch{one.commit(), two.commit()};
  batch[1].reserve = true;
  const auto outcomes = journal->commit(batch);
  ASSERT_TRUE(outcomes) << outcomes.error().text;
  EXPECT_EQ(outcomes->at(0).error().code, ErrorCode::store_unavailable);
  EXPECT_TRUE(outcomes->at(1));

  free_bytes = 1ull << 40;
  EXPECT_TRUE(journal->health().writable);
  one = before;
  EXPECT_TRUE(commit(*journal, one.commit()));
}

TEST(Space, OfTheMapThatIsUsedUpIsNoDamage) {
  TemporaryDirectory directory;
  StoreOptions options;
  options.data_dir = directory.path();
  options.map_bytes = 2 << 20;
  auto journal = *open_store(options);
  Story story(1);
  Result<Committed> outcome;
  while (outcome)
    outcome = commit(*journal, story.commit(1, 60'000));
  EXPECT_EQ(outcome.error().code, ErrorCode::store_unavailable);
  story.take_back();
  EXPECT_FALSE(journal->health().writable);
  EXPECT_GT(story.records().size(), 5u);
  EXPECT_EQ(*journal->records(run_id(1), 1, SIZE_MAX), story.records());

  journal.reset();
  options.map_bytes = 64 << 20;
  journal = *open_store(options);
  EXPECT_TRUE(journal->health().writable);
  EXPECT_TRUE(commit(*journal, story.commit()));
}

TEST(Space, OfADiskThatIsFullLosesNothingAndGoesOnWhenThereIsRoom) {
  TemporaryDirectory directory;
  const SmallDisk disk(directory.path(), "size=8m");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  const std::string filler = directory.path() + "/filler";
  std::ofstream(filler) << std::string(3 << 20, 'x');
  StoreOptions options;
  options.data_dir = directory.path() + "/data";
  // The check beforehand is fooled, as by a disk that others fill at the same moment.
  options.free_bytes = [] { return 1ull << 40; };
  auto journal = *open_store(options);
  Story story(1);
  const auto fill_up = [&](bool with_blobs) {
    Result<Committed> outcome;
    while (outcome) {
      const std::uint64_t artifact = 1000 + story.records().size();
      outcome = commit(*journal,
                       with_blobs ? story.commit_with_blob(artifact, stories::text(artifact, 600'000))
                                  : story.commit(1, 150'000));
    }
    ASSERT_EQ(outcome.error().code, ErrorCode::store_unavailable) << outcome.error().text;
    story.take_back();
  };
  const auto nothing_is_lost = [&] {
    ASSERT_EQ(journal->row(run_id(1))->last_seq, story.records().size());
    ASSERT_EQ(*journal->records(run_id(1), 1, SIZE_MAX), story.records());
  };
  fill_up(false);
  nothing_is_lost();
  EXPECT_FALSE(journal->health().writable);
  EXPECT_FALSE(commit(*journal, story.commit(1, 1'500'000)));
  story.take_back();

  std::filesystem::remove(filler);
  ASSERT_TRUE(commit(*journal, story.commit(1, 150'000))) << "it goes on by itself";
  fill_up(true);
  nothing_is_lost();
  journal.reset();
  journal = *open_store(options);
  nothing_is_lost();
  const auto report = verify_store(options.data_dir);
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_TRUE(report->whole()) << report->problems.front();
}

TEST(Space, OfADiskThatIsShortIsAskedOfTheFileSystem) {
  TemporaryDirectory directory;
  const SmallDisk disk(directory.path(), "size=16m");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  StoreOptions options;
  options.data_dir = directory.path() + "/data";
  options.reserve_bytes = 4 << 20;
  auto journal = *open_store(options);
  Story story(1);
  ASSERT_TRUE(commit(*journal, story.commit()));
  std::ofstream(directory.path() + "/filler") << std::string(12 << 20, 'x');
  EXPECT_FALSE(journal->health().writable);
  const Commit next = story.commit();
  EXPECT_EQ(commit(*journal, next).error().code, ErrorCode::store_unavailable);
  Commit cancel = next;
  cancel.reserve = true;
  EXPECT_TRUE(commit(*journal, cancel));
}

TEST(Space, OtherFailuresOfTheDiskEndTheProcess) {
  TemporaryDirectory directory;
  const int signal = signal_of([&] {
    StoreOptions options;
    options.data_dir = directory.path();
    auto journal = *open_store(options);
    Story story(1);
    if (!commit(*journal, story.commit())) _exit(50);
    // A write that fails although there is room: here, for the largest size of a file.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200'000, 200'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 100; ++i)
      if (!commit(*journal, story.commit(1, 20'000))) _exit(51);
    _exit(52);
  });
  EXPECT_EQ(signal, SIGABRT);
  StoreOptions options;
  options.data_dir = directory.path();
  auto journal = open_store(options);
  ASSERT_TRUE(journal) << journal.error().text;
  EXPECT_GE((*journal)->row(run_id(1))->last_seq, 1u) << "what was acknowledged before is there";
}

}  // namespace

}  // namespace ratchet
