// Bytes that change on the disk: found, named, and kept to the run they belong to.

#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/child.hpp"
#include "store/lmdb_journal.hpp"
#include "store/tools.hpp"
#include "tests/fakes/directory.hpp"
#include "tests/store/process.hpp"
#include "tests/store/story.hpp"

namespace ratchet {

namespace {

using stories::approvals_of;
using stories::artifact_id;
using stories::run_id;
using stories::Story;
using testing::ElementsAre;
using testing::HasSubstr;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class Damage : public testing::Test {
 protected:
  /// Some runs, of several appends each, written and closed.
  void write_runs(int count, int appends) {
    for (int i = 1; i <= count; ++i)
      stories_.emplace_back(i);
    const auto journal = open();
    ASSERT_TRUE(journal);
    for (int append = 0; append < appends; ++append) {
      std::vector<Commit> batch;
      for (Story& story : stories_)
        batch.push_back(story.commit(1, 400));
      const auto outcomes = (*journal)->commit(batch);
      ASSERT_TRUE(outcomes) << outcomes.error().text;
    }
  }

  Result<std::unique_ptr<LmdbJournal>> open() {
    StoreOptions options;
    options.data_dir = directory_.path();
    options.on_damage = [this](const Error& damage) { told_.push_back(damage.text); };
    return LmdbJournal::open(options);
  }

  std::string file() const { return directory_.path() + "/journal.mdb"; }

  /// Flips a bit in the middle of every place where the file holds these bytes.
  void damage(std::string_view bytes) {
    std::string content = read_file(file());
    std::size_t found = 0;
    for (auto at = content.find(bytes); at != std::string::npos; at = content.find(bytes, at + 1), ++found)
      content[at + bytes.size() / 2] ^= 0x10;
    ASSERT_GT(found, 0u) << "the bytes are not in the file";
    write_file(file(), content);
  }

  TemporaryDirectory directory_;
  std::vector<Story> stories_;
  std::vector<std::string> told_;
};

TEST_F(Damage, OfARecordQuarantinesItsRunAndNoOther) {
  write_runs(3, 5);
  damage(pack_record(encode(stories_[1].records()[2])).substr(20));
  const auto journal = open();
  ASSERT_TRUE(journal) << journal.error().text;
  EXPECT_THAT(told_, ElementsAre(HasSubstr(to_string(run_id(2))), testing::_)) << "by run, and as an append";

  const auto records = (*journal)->records(run_id(2), 1, SIZE_MAX);
  ASSERT_FALSE(records);
  EXPECT_EQ(records.error().code, ErrorCode::corrupt);
  EXPECT_THAT(records.error().text, HasSubstr(to_string(run_id(2))));
  EXPECT_EQ((*journal)->records(run_id(2), 4, SIZE_MAX)->size(), 2u) << "what follows is whole";
  EXPECT_EQ(*(*journal)->records(run_id(1), 1, SIZE_MAX), stories_[0].records());
  EXPECT_EQ(*(*journal)->records(run_id(3), 1, SIZE_MAX), stories_[2].records());

  const auto report = verify_store(directory_.path());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->runs, 3u);
  EXPECT_THAT(report->problems, testing::Contains(HasSubstr(to_string(run_id(2)))));
  EXPECT_THAT(report->problems, testing::Not(testing::Contains(HasSubstr(to_string(run_id(1))))));
}

TEST_F(Damage, OfARowRefusesCommitsToItsRunAndNoOther) {
  write_runs(3, 2);
  damage(encode_row(stories_[1].row()).substr(60));
  const auto journal = open();
  ASSERT_TRUE(journal) << journal.error().text;
  told_.clear();

  EXPECT_EQ((*journal)->row(run_id(2)).error().code, ErrorCode::corrupt);
  const std::vector<Commit> batch{stories_[0].commit(), stories_[1].commit(), stories_[2].commit()};
  const auto outcomes = (*journal)->commit(batch);
  ASSERT_TRUE(outcomes) << outcomes.error().text;
  EXPECT_TRUE(outcomes->at(0));
  EXPECT_EQ(outcomes->at(1).error().code, ErrorCode::corrupt);
  EXPECT_THAT(outcomes->at(1).error().text, HasSubstr(to_string(run_id(2))));
  EXPECT_TRUE(outcomes->at(2));

  RunQuery query;
  query.team = "payments";
  const auto listed = (*journal)->list(query);
  ASSERT_TRUE(listed) << listed.error().text;
  EXPECT_EQ(listed->size(), 2u) << "others are listed";
  EXPECT_THAT(told_, ElementsAre(HasSubstr(to_string(run_id(2))))) << "and it is said that one is not";
}

TEST_F(Damage, OfAnApprovalHidesNoOtherAndEndsWithTheNextWordOnIt) {
  write_runs(2, 1);
  {
    const auto journal = open();
    ASSERT_TRUE(journal) << journal.error().text;
    const std::vector<Commit> batch{stories_[0].commit_with_approval(1), stories_[1].commit_with_approval(2)};
    ASSERT_TRUE((*journal)->commit(batch));
  }
  damage(encode_approval(stories_[0].approval_row(1)));
  const auto journal = open();
  ASSERT_TRUE(journal) << journal.error().text;
  EXPECT_THAT(told_, ElementsAre(HasSubstr("an approval of " + to_string(run_id(1)))));
  told_.clear();
  EXPECT_EQ((*journal)->approval(run_id(1), stories::approval_id(1)).error().code, ErrorCode::corrupt);
  EXPECT_THAT(*(*journal)->approvals(approvals_of("payments")), ElementsAre(stories_[1].approval_row(2)));
  EXPECT_THAT(told_, ElementsAre(HasSubstr(to_string(run_id(1)))));

  const Commit decided = stories_[0].commit_with_approval(1, ApprovalStatus::decided);
  ASSERT_TRUE((*journal)->commit({&decided, 1})->at(0));
  EXPECT_EQ((*journal)->approvals(approvals_of("payments"))->size(), 2u);
  EXPECT_EQ((*journal)->approvals(approvals_of("payments", ApprovalStatus::pending))->size(), 1u);
}

TEST_F(Damage, OfABlobIsFoundInsideTheDatabaseAndInAFile) {
  Story story(1);
  const std::string small = stories::text(1, 20'000), large = stories::text(2, 2'500'000);
  {
    const auto journal = open();
    const std::vector<Commit> batch{story.commit_with_blob(1, small), story.commit_with_blob(2, large)};
    ASSERT_TRUE((*journal)->commit(batch));
  }
  damage(small.substr(5000, 5000));
  const std::string path = directory_.path() + "/blobs/" + to_string(story.id().ulid) + "-2";
  std::string content = read_file(path);
  content[1'500'000] ^= 1;
  write_file(path, content);

  const auto journal = open();
  EXPECT_EQ((*journal)->blob(artifact_id(1), 0, 10).error().code, ErrorCode::corrupt);
  EXPECT_EQ(*(*journal)->blob(artifact_id(2), 0, 1 << 20), large.substr(0, 1 << 20))
      << "the first part is whole";
  EXPECT_EQ((*journal)->blob(artifact_id(2), 1'100'000, 10).error().code, ErrorCode::corrupt);
  std::filesystem::remove(path);
  EXPECT_EQ((*journal)->blob(artifact_id(2), 0, 10).error().code, ErrorCode::corrupt);
}

TEST_F(Damage, OfRandomBitsNeverYieldsAWrongRowOrRecord) {
  write_runs(12, 20);
  const std::string whole = read_file(file());
  int read_well = 0, refused = 0, died = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    std::string content = whole;
    for (int flips = 0; flips < 40; ++flips)
      content[random() % content.size()] ^= static_cast<char>(1 << random() % 8);
    write_file(file(), content);
    // Pages that make no sense may end the process: that is no wrong answer.
    const auto signal = run_in_child(
        [&](const Say& say) {
          const auto journal = LmdbJournal::open_for_reading(directory_.path());
          if (!journal) return say("refused");
          for (const Story& story : stories_) {
            const auto row = (*journal)->row(story.id());
            if (row) say(*row == stories_[story.id().ulid.bytes[15] - 1].row() ? "well" : "WRONG row");
            const auto records = (*journal)->records(story.id(), 1, SIZE_MAX);
            if (records) say(*records == story.records() ? "well" : "WRONG records");
            if (!row || !records) say("refused");
          }
        },
        [&](std::string_view line) {
          EXPECT_FALSE(line.starts_with("WRONG")) << line << " with seed " << seed;
          ++(line == "well" ? read_well : refused);
        });
    ASSERT_TRUE(signal);
    died += *signal != 0;
  }
  EXPECT_GT(read_well, 0);
  EXPECT_GT(refused, 0);
  std::printf("%d read well, %d refused, %d of 40 processes died\n", read_well, refused, died);
}

TEST_F(Damage, OfAFileThatWasCutOffIsFoundBeforeTheStoreIsServed) {
  write_runs(20, 30);
  const auto size = std::filesystem::file_size(file());
  std::filesystem::resize_file(file(), size / 2 / 4096 * 4096);
  const auto refused = open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  EXPECT_THAT(refused.error().text, HasSubstr("ratchet journal salvage"));

  const auto report = verify_store(directory_.path());
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_FALSE(report->whole());
}

TEST_F(Damage, OfPagesThatKillTheReaderIsFoundByAChild) {
  write_runs(20, 30);
  std::string content = read_file(file());
  for (std::size_t page = 40; page * 4096 < content.size(); ++page)
    content.replace(page * 4096 + 8, 500, std::string(500, '\xff'));
  write_file(file(), content);
  const auto refused = open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  EXPECT_THAT(refused.error().text, HasSubstr("ratchet journal salvage"));
  EXPECT_FALSE(open()) << "and again at the next start";
}

TEST_F(Damage, OfAPageWhileTheStoreIsOpenRefusesOnlyTheCommitsThatMeetIt) {
  write_runs(60, 2);
  const auto journal = open();
  ASSERT_TRUE(journal) << journal.error().text;
  const std::string row = encode_row(stories_[29].row()), content = read_file(file());
  std::fstream opened(file(), std::ios::in | std::ios::out | std::ios::binary);
  for (auto at = content.find(row); at != std::string::npos; at = content.find(row, at + 1))
    opened.seekp(static_cast<std::streamoff>(at / 4096 * 4096)).write(std::string(4096, '\0').data(), 4096);
  opened.close();

  EXPECT_EQ((*journal)->row(run_id(30)).error().code, ErrorCode::corrupt);
  const std::vector<Commit> batch{stories_[0].commit(), stories_[29].commit(), stories_[59].commit()};
  const auto outcomes = (*journal)->commit(batch);
  ASSERT_TRUE(outcomes) << outcomes.error().text;
  EXPECT_TRUE(outcomes->at(0));
  EXPECT_EQ(outcomes->at(1).error().code, ErrorCode::corrupt);
  EXPECT_TRUE(outcomes->at(2));
  EXPECT_EQ(*(*journal)->records(run_id(1), 1, SIZE_MAX), stories_[0].records());
  EXPECT_EQ(*(*journal)->records(run_id(60), 1, SIZE_MAX), stories_[59].records());
}

TEST_F(Damage, LeavesWhatIsWholeToSalvage) {
  write_runs(6, 40);
  {
    const auto journal = open();
    std::vector<Commit> batch{stories_[0].commit_with_blob(1, stories::text(1, 20'000)),
                              stories_[2].commit_with_blob(2, stories::text(2, 400'000))};
    batch[0].claim = IdempotencyClaim{"payments", "key", sha256("request"), run_id(1)};
    batch[1].definitions.push_back({"agent", "support/1", "{}", true});
    stories_[3].row().active = false;
    stories_[3].row().due_at = stories::first_day;
    batch.push_back(stories_[3].commit_with_approval(1));
    batch.back().runs[0].user_token = "a token";
    batch.push_back(stories_[4].commit_with_approval(2, ApprovalStatus::decided));
    batch.push_back(stories_[1].commit_with_approval(3));
    ASSERT_TRUE((*journal)->commit(batch));
  }
  damage(pack_record(encode(stories_[1].records()[10])).substr(20));
  TemporaryDirectory target;
  const auto report = salvage_store(directory_.path(), target.path() + "/new");
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->runs_copied, 5u);
  EXPECT_THAT(report->lost, ElementsAre(HasSubstr(to_string(run_id(2)))));
  EXPECT_EQ(salvage_store(directory_.path(), target.path() + "/new").error().code, ErrorCode::conflict);

  const auto verified = verify_store(target.path() + "/new");
  ASSERT_TRUE(verified) << verified.error().text;
  EXPECT_TRUE(verified->whole()) << verified->problems.front();
  StoreOptions options;
  options.data_dir = target.path() + "/new";
  const auto journal = open_store(options);
  ASSERT_TRUE(journal) << journal.error().text;
  for (const int i : {0, 2, 3, 4, 5})
    EXPECT_EQ(*(*journal)->records(stories_[i].id(), 1, SIZE_MAX), stories_[i].records());
  EXPECT_EQ((*journal)->blob(artifact_id(1), 0, UINT64_MAX)->size(), 20'000u);
  EXPECT_EQ((*journal)->blob(artifact_id(2), 0, UINT64_MAX)->size(), 400'000u);
  EXPECT_EQ((*journal)->idempotency("payments", "key").value()->run_id, run_id(1));
  EXPECT_EQ((*journal)->definitions("agent", "")->size(), 1u);
  EXPECT_THAT(*(*journal)->due(stories::first_day, 10), ElementsAre(run_id(4)));
  EXPECT_EQ((*journal)->active()->size(), 4u);
  EXPECT_EQ((*journal)->approvals(approvals_of("payments"))->size(), 2u) << "not that of the lost run";
  EXPECT_EQ((*journal)->approvals(approvals_of("payments", ApprovalStatus::pending))->size(), 1u);
  EXPECT_EQ(*(*journal)->user_token(run_id(4)), "a token");
  const Commit next = stories_[0].commit();
  EXPECT_TRUE((*journal)->commit({&next, 1})->at(0)) << "it can be written";
}

TEST_F(Damage, OfPagesLeavesTheOtherRunsToSalvage) {
  write_runs(60, 30);
  // The page of one record is gone.
  std::string content = read_file(file());
  const auto at = content.find(pack_record(encode(stories_[20].records()[15])));
  ASSERT_NE(at, std::string::npos);
  content.replace(at / 4096 * 4096, 4096, std::string(4096, '\0'));
  write_file(file(), content);
  ASSERT_FALSE(open());
  TemporaryDirectory target;
  const auto report = salvage_store(directory_.path(), target.path() + "/new");
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_THAT(report->lost, testing::Contains(HasSubstr(to_string(run_id(21)))));
  EXPECT_GT(report->runs_copied, 40u);
  const auto verified = verify_store(target.path() + "/new");
  ASSERT_TRUE(verified) << verified.error().text;
  EXPECT_TRUE(verified->whole()) << verified->problems.front();
  EXPECT_EQ(verified->runs, report->runs_copied);
}

}  // namespace

}  // namespace ratchet
