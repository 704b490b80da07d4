// What a process that dies leaves to the next one, and two processes on one directory.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lmdb.h>

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

StoreOptions options_for(const TemporaryDirectory& directory, Durability durability = Durability::fsync) {
  StoreOptions options;
  options.data_dir = directory.path();
  options.durability = durability;
  return options;
}

std::unique_ptr<LmdbJournal> open(const StoreOptions& options) {
  auto journal = LmdbJournal::open(options);
  RATCHET_ENSURE(journal.has_value(), journal.error().text);
  return std::move(*journal);
}

void must_commit(Journal& journal, std::span<const Commit> batch) {
  const auto outcomes = journal.commit(batch);
  RATCHET_ENSURE(outcomes.has_value(), outcomes.error().text);
  for (const auto& outcome : *outcomes)
    RATCHET_ENSURE(outcome.has_value(), outcome.error().text);
}

/// Round `n` appends to three runs in one commit: it asks for an approval and decides the one before, brings
/// a token, and every fifth time keeps a blob in a file.
constexpr int runs_in_a_commit = 3;

std::string token_of(std::uint64_t round) {
  return "token-of-round-" + std::to_string(round);
}

void write_rounds(Journal& journal,
                  std::vector<Story>& stories,
                  std::uint64_t from_round,
                  const std::function<void(std::uint64_t)>& report) {
  for (std::uint64_t round = from_round;; ++round) {
    Commit commit;
    for (Story& story : stories)
      commit.runs.push_back(story.next(1 + round % 2, 700));
    commit.runs[1].approvals = {stories[1].approval_row(round)};
    if (round > 1)
      commit.runs[1].approvals.push_back(stories[1].approval_row(round - 1, ApprovalStatus::decided));
    commit.runs[2].user_token = token_of(round);
    if (round % 5 == 0) {
      std::string bytes = stories::text(round, limits::blob_file_bytes_min + 1000);
      RunRow& row = stories[0].row();
      commit.runs[0].row.blobs = ++row.blobs;
      commit.runs[0].blobs.push_back(
          {{artifact_id(round), row.blobs, bytes.size(), sha256(bytes), "head"}, std::move(bytes)});
    }
    must_commit(journal, {&commit, 1});
    report(round);
  }
}

TEST(Crash, LosesNothingAcknowledgedAndShowsNothingHalfWrittenAfterSigkill) {
  TemporaryDirectory directory;
  std::uint64_t acknowledged = 0;
  for (const std::uint64_t rounds_until_kill : {1, 2, 7, 3, 12, 5}) {
    std::vector<Story> stories;
    for (int i = 0; i < runs_in_a_commit; ++i)
      stories.emplace_back(i);
    {
      // The stories go on from what is stored: the same as what was written, by their determinism.
      const auto journal = open(options_for(directory));
      if (const auto row = journal->row(run_id(0))) {
        std::uint64_t round = 0;
        while (stories[0].row().last_seq < row->last_seq) {
          ++round;
          for (Story& story : stories)
            story.next(1 + round % 2, 700);
          if (round % 5 == 0) ++stories[0].row().blobs;
        }
        ASSERT_GE(round, acknowledged) << "an acknowledged commit is gone";
        ASSERT_LE(round, acknowledged + 1) << "more than one commit was under way";
        acknowledged = round;
        for (const Story& story : stories) {
          ASSERT_EQ(*journal->records(story.id(), 1, SIZE_MAX), story.records());
          ASSERT_EQ(journal->row(story.id())->last_seq, story.records().back().events.back().seq);
        }
        ASSERT_EQ(*journal->user_token(run_id(2)), token_of(acknowledged));
        ASSERT_THAT(*journal->approvals(approvals_of("payments", ApprovalStatus::pending)),
                    ElementsAre(stories[1].approval_row(acknowledged)));
        for (std::uint64_t blob = 5; blob <= acknowledged; blob += 5)
          ASSERT_EQ(*journal->blob(artifact_id(blob), 0, UINT64_MAX),
                    stories::text(blob, limits::blob_file_bytes_min + 1000));
      }
    }
    ChildProcess writer([&](const auto& report) {
      const auto journal = open(options_for(directory));
      write_rounds(*journal, stories, acknowledged + 1, report);
    });
    std::uint64_t heard = acknowledged;
    for (std::uint64_t i = 0; i < rounds_until_kill; ++i)
      ASSERT_TRUE(writer.hear(heard));
    writer.kill_now();
    while (writer.hear(heard)) {
    }
    acknowledged = heard;
  }
  const auto report = verify_store(directory.path());
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_TRUE(report->whole()) << report->problems.front();
}

TEST(Crash, RemovesFilesOfBlobsThatWereNeverCommitted) {
  TemporaryDirectory directory;
  Story story(1);
  {
    const auto journal = open(options_for(directory));
    const Commit commit = story.commit_with_blob(7, stories::text(1, 300'000));
    must_commit(*journal, {&commit, 1});
  }
  const std::filesystem::path blobs = directory.path() + "/blobs";
  const std::string kept = to_string(story.id().ulid) + "-1";
  const std::string orphan = to_string(story.id().ulid) + "-2";
  const auto exists = [&](const std::string& name) { return std::filesystem::exists(blobs / name); };
  ASSERT_TRUE(exists(kept));
  for (const std::string& name : {orphan, kept + ".fresh", std::string("notes.txt")})
    std::ofstream(blobs / name) << "bytes";
  ChildProcess writer([&](const auto& report) {
    const auto journal = open(options_for(directory));
    report(0);
    pause();
  });
  std::uint64_t opened = 1;
  ASSERT_TRUE(writer.hear(opened));
  writer.kill_now();

  const auto journal = open(options_for(directory));
  EXPECT_TRUE(exists(kept));
  EXPECT_FALSE(exists(orphan));
  EXPECT_FALSE(exists(kept + ".fresh"));
  EXPECT_TRUE(exists("notes.txt")) << "not ours to remove";
  EXPECT_EQ(journal->blob(artifact_id(7), 0, UINT64_MAX)->size(), 300'000u);
}

TEST(Crash, RefusesASecondProcessAndNamesTheFirst) {
  TemporaryDirectory directory;
  ChildProcess server([&](const auto& report) {
    const auto journal = open(options_for(directory));
    Story story(1);
    const Commit commit = story.commit();
    must_commit(*journal, {&commit, 1});
    report(0);
    pause();
  });
  std::uint64_t opened = 1;
  ASSERT_TRUE(server.hear(opened));
  const auto second = open_store(options_for(directory));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::store_unavailable);
  EXPECT_THAT(second.error().text, HasSubstr("process " + std::to_string(server.pid())));

  const auto reader = open_store_for_reading(directory.path());
  ASSERT_TRUE(reader) << reader.error().text;
  EXPECT_TRUE((*reader)->row(run_id(1)));

  server.kill_now();
  EXPECT_TRUE(open_store(options_for(directory)));
}

TEST(Crash, RefusesToOpenTheSameDirectoryTwiceInOneProcess) {
  TemporaryDirectory directory;
  const auto first = open(options_for(directory));
  EXPECT_EQ(open_store(options_for(directory)).error().code, ErrorCode::store_unavailable);
}

TEST(Crash, ClearsReadersThatDied) {
  TemporaryDirectory directory;
  const auto journal = open(options_for(directory));
  ChildProcess reader([&](const auto& report) {
    const auto reading = LmdbJournal::open_for_reading(directory.path());
    const Txn txn((*reading)->environment(), Txn::Kind::read);
    report(0);
    pause();
  });
  std::uint64_t opened = 1;
  ASSERT_TRUE(reader.hear(opened));
  EXPECT_EQ(journal->clear_stale_readers(), 0);
  reader.kill_now();
  EXPECT_EQ(journal->clear_stale_readers(), 1);
  EXPECT_EQ(journal->clear_stale_readers(), 0);
}

TEST(Crash, KeepsAcknowledgedCommitsOfADeadProcessWithoutFsyncToo) {
  TemporaryDirectory directory;
  ChildProcess writer([&](const auto& report) {
    const auto journal = open(options_for(directory, Durability::os));
    Story story(1);
    for (std::uint64_t round = 1;; ++round) {
      const Commit commit = story.commit();
      must_commit(*journal, {&commit, 1});
      report(round);
    }
  });
  std::uint64_t round = 0;
  while (round < 50)
    ASSERT_TRUE(writer.hear(round));
  writer.kill_now();
  while (writer.hear(round)) {
  }
  const auto journal = open(options_for(directory, Durability::os));
  EXPECT_EQ(journal->health().durability, "os");
  EXPECT_GE(journal->row(run_id(1))->last_seq, round);
}

TEST(Crash, GivesNumbersThatWereNeverUsedAfterARestart) {
  TemporaryDirectory directory;
  Story story(1);
  for (int restart = 0; restart < 3; ++restart) {
    const auto journal = open(options_for(directory));
    const std::vector<Commit> batch{story.commit(), story.commit()};
    must_commit(*journal, batch);
  }
  const auto journal = open(options_for(directory));
  EXPECT_EQ(*journal->records(story.id(), 1, SIZE_MAX), story.records());
}

TEST(Crash, RefusesAStoreOfAnotherFormat) {
  TemporaryDirectory directory;
  {
    open(options_for(directory));
  }
  {
    const auto environment =
        Environment::open(directory.path() + "/journal.mdb", Environment::Access::write, true, 0);
    Txn txn(**environment, Txn::Kind::write);
    txn.put(Table::meta, "format", {"\x02"});
    ASSERT_EQ(txn.commit(), 0);
  }
  const auto refused = open_store(options_for(directory));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_supported);
  EXPECT_THAT(refused.error().text, HasSubstr("format 2"));
}

TEST(Crash, StartsAfterAProcessThatDiedBeforeItsFirstCommit) {
  TemporaryDirectory directory;
  std::ofstream(directory.path() + "/LOCK") << "process 1\n";
  {
    std::ofstream(directory.path() + "/journal.mdb");
  }
  const auto journal = open(options_for(directory));
  EXPECT_TRUE(journal->active()->empty());
}

TEST(Crash, OpensAStoreOfTheFirstBuildsWhichHasFewerTables) {
  TemporaryDirectory directory;
  Story story(1);
  {
    const auto journal = open(options_for(directory));
    const Commit commit = story.commit();
    must_commit(*journal, {&commit, 1});
  }
  {
    const auto environment =
        Environment::open(directory.path() + "/journal.mdb", Environment::Access::write, true, 0);
    MDB_txn* txn = nullptr;
    ASSERT_EQ(mdb_txn_begin((*environment)->get(), nullptr, 0, &txn), 0);
    for (const Table table :
         {Table::approvals, Table::approvals_by_status, Table::secrets, Table::outbox, Table::snapshots})
      ASSERT_EQ(mdb_drop(txn, (*environment)->handle(table), 1), 0);
    ASSERT_EQ(mdb_txn_commit(txn), 0);
  }
  const auto report = verify_store(directory.path());
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_TRUE(report->whole()) << report->problems.front();
  {
    const auto reader = open_store_for_reading(directory.path());
    ASSERT_TRUE(reader) << reader.error().text;
    EXPECT_TRUE((*reader)->row(run_id(1)));
    EXPECT_TRUE((*reader)->approvals(approvals_of("payments"))->empty());
    EXPECT_EQ((*reader)->user_token(run_id(1)).error().code, ErrorCode::not_found);
    EXPECT_TRUE((*reader)->outbox(9)->empty());
    EXPECT_TRUE((*reader)->snapshots()->empty());
  }
  const auto journal = open(options_for(directory));
  const std::vector<Commit> batch{story.commit_with_approval(1), story.commit_with_token("token")};
  must_commit(*journal, batch);
  EXPECT_EQ(journal->approvals(approvals_of("payments"))->size(), 1u);
  EXPECT_EQ(*journal->user_token(run_id(1)), "token");
}

TEST(Crash, MakesTheDataDirectoryForItsOwnerOnly) {
  TemporaryDirectory directory;
  StoreOptions options = options_for(directory);
  options.data_dir += "/made/here";
  const auto journal = open(options);
  namespace fs = std::filesystem;
  EXPECT_EQ(fs::status(options.data_dir).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(options.data_dir + "/journal.mdb").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

}  // namespace

}  // namespace ratchet
