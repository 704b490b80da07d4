// Dump and verify, with and without a server beside them.

#include "store/tools.hpp"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/environment.hpp"
#include "store/layout.hpp"
#include "store/store.hpp"
#include "tests/fakes/directory.hpp"
#include "tests/store/process.hpp"
#include "tests/store/story.hpp"

namespace ratchet {

namespace {

using stories::run_id;
using stories::Story;
using testing::HasSubstr;

class Tools : public testing::Test {
 protected:
  Tools() {
    StoreOptions options;
    options.data_dir = directory_.path();
    journal_ = *open_store(options);
  }

  void must(const Commit& commit) {
    const auto outcomes = journal_->commit({&commit, 1});
    ASSERT_TRUE(outcomes) << outcomes.error().text;
    ASSERT_TRUE(outcomes->at(0)) << outcomes->at(0).error().text;
  }

  std::vector<std::string> dumped(const std::optional<RunId>& only = std::nullopt) {
    std::ostringstream out;
    const auto result = dump_store(directory_.path(), only, out);
    EXPECT_TRUE(result) << result.error().text;
    std::vector<std::string> lines;
    std::istringstream in(out.str());
    for (std::string line; std::getline(in, line);)
      lines.push_back(line);
    return lines;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Journal> journal_;
};

TEST_F(Tools, DumpsEveryEventWithItsRunAndTheHashBeforeIt) {
  Story one(1), two(2);
  must(one.commit(3));
  const Hash between = one.row().head;
  must(two.commit(1));
  must(one.commit(1));
  const auto lines = dumped();
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], HasSubstr("\"run_id\":\"" + to_string(run_id(1)) + "\""));
  EXPECT_THAT(lines[0], HasSubstr("\"seq\":1,"));
  EXPECT_THAT(lines[0], HasSubstr("\"type\":\"message.received\""));
  EXPECT_THAT(lines[0], testing::EndsWith(",\"prev\":\"" + to_string(Hash{}) + "\"}"));
  EXPECT_THAT(lines[3], testing::EndsWith(",\"prev\":\"" + to_string(between) + "\"}"));
  EXPECT_THAT(lines[4], HasSubstr(to_string(run_id(2))));

  // The hash before the third event is that after the first two.
  Record first_two = one.records()[0];
  first_two.events.pop_back();
  EXPECT_THAT(lines[2], HasSubstr(to_string(chain_head(first_two))));

  EXPECT_EQ(dumped(run_id(2)).size(), 1u);
  std::ostringstream out;
  EXPECT_EQ(dump_store(directory_.path(), run_id(9), out).error().code, ErrorCode::unknown_run);
}

TEST_F(Tools, DumpsRunsOfManySlices) {
  Story story(1);
  for (int i = 0; i < 50; ++i)
    must(story.commit(1, 200'000));
  EXPECT_EQ(dumped().size(), 50u);
}

TEST_F(Tools, VerifiesAStoreBesideItsServer) {
  for (int i = 1; i <= 5; ++i) {
    Story story(i);
    if (i == 2) story.row().parent_run_id = run_id(1);
    for (int append = 0; append < 40; ++append)
      must(story.commit(2));
    story.row().due_at = stories::first_day;
    must(story.commit_with_blob(100 + i, stories::text(i, i == 3 ? 300'000 : 500)));
    must(story.commit_with_approval(i));
    if (i % 2) must(story.commit_with_approval(i, ApprovalStatus::decided));
    must(story.commit_with_token("a token"));
    if (i % 2) story.row().status = RunStatus::finished;
    must(story.commit());
  }
  const auto report = verify_store(directory_.path());
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_TRUE(report->whole()) << report->problems.front();
  EXPECT_EQ(report->runs, 5u);
  EXPECT_EQ(report->events, 5u * 84 + 3);
  EXPECT_EQ(report->artifacts, 5u);
}

TEST_F(Tools, FindsNothingWrongWhileAServerWrites) {
  journal_.reset();
  ChildProcess server([&](const auto& report) {
    StoreOptions options;
    options.data_dir = directory_.path();
    const auto journal = *open_store(options);
    for (std::uint64_t number = 1;; ++number) {
      Story story(number);
      for (int append = 0; append < 4; ++append) {
        story.row().active = append < 3;
        story.row().due_at.reset();
        if (append % 2 == 0) story.row().due_at = stories::first_day.plus_ms(append);
        if (append == 3) story.row().status = RunStatus::finished;
        Commit commit = story.commit_with_approval(number, *enum_at<ApprovalStatus>(append % 3));
        if (append == 1) commit.runs[0].user_token = "a token";
        RATCHET_ENSURE(journal->commit({&commit, 1})->at(0).has_value(), "a commit was refused");
      }
      report(number);
    }
  });
  for (int times = 0; times < 5; ++times) {
    std::uint64_t number = 0;
    ASSERT_TRUE(server.hear(number));
    const auto report = verify_store(directory_.path());
    ASSERT_TRUE(report) << report.error().text;
    EXPECT_TRUE(report->whole()) << report->problems.front();
    EXPECT_GE(report->runs, number);
  }
}

TEST_F(Tools, FindsAChainThatDoesNotHold) {
  Story honest(1), forged(2), cut(3);
  for (Story* story : {&honest, &forged, &cut})
    must(story->commit());
  // A record that does not follow from the one before, with everything else in order.
  forged.row().head = sha256("another past");
  must(forged.commit());
  // A row that claims another head than the records have.
  Commit lying = cut.commit();
  lying.runs[0].row.head = sha256("another present");
  must(lying);
  const auto report = verify_store(directory_.path());
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_THAT(
      report->problems,
      testing::UnorderedElementsAre(
          testing::AllOf(HasSubstr(to_string(run_id(2))), HasSubstr("audit chain is broken: event 2")),
          testing::AllOf(HasSubstr(to_string(run_id(3))), HasSubstr("last hash"))));
}

TEST_F(Tools, FindsAnArtifactThatIsNotWhatItsEventSays) {
  Story story(1);
  Commit commit = story.commit_with_blob(1, "bytes");
  commit.runs[0].blobs[0].ref.sha256 = sha256("others");
  must(commit);
  const auto report = verify_store(directory_.path());
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_THAT(report->problems, testing::ElementsAre(HasSubstr("art_")));
}

TEST_F(Tools, FindsApprovalsAndTokensThatAreNotSo) {
  Story story(1), finished(2);
  must(story.commit_with_approval(1));
  must(story.commit_with_token("a token"));
  finished.row().status = RunStatus::finished;
  must(finished.commit());
  journal_.reset();
  {
    const auto environment =
        Environment::open(directory_.path() + "/journal.mdb", Environment::Access::write, true, 0);
    Txn txn(**environment, Txn::Kind::write);
    const ApprovalRow unlisted = story.approval_row(2), gone = story.approval_row(3);
    ApprovalRow elsewhere = story.approval_row(1);
    elsewhere.status = ApprovalStatus::expired;
    txn.put(
        Table::approvals, layout::approval_key(run_id(1), unlisted.approval_id), {encode_approval(unlisted)});
    txn.put(Table::approvals_by_status, layout::listed_approval_key(gone), {});
    txn.put(Table::approvals_by_status, layout::listed_approval_key(elsewhere), {});
    txn.put(Table::secrets, layout::run_key(run_id(1)), {"a token in the clear"});
    txn.put(Table::secrets, layout::run_key(run_id(2)), {std::string(50, '\1')});
    ASSERT_EQ(txn.commit(), 0);
  }
  const auto report = verify_store(directory_.path());
  ASSERT_TRUE(report) << report.error().text;
  const auto names = [](std::uint64_t approval, std::string_view why) {
    return testing::AllOf(HasSubstr(to_string(stories::approval_id(approval))), HasSubstr(std::string(why)));
  };
  EXPECT_THAT(report->problems,
              testing::UnorderedElementsAre(names(2, "index by status"),
                                            names(3, "is not so"),
                                            names(1, "is not so"),
                                            HasSubstr("a form that is not known"),
                                            HasSubstr("which does not run")));
  EXPECT_THAT(report->problems, testing::Not(testing::Contains(HasSubstr("in the clear"))));
}

TEST_F(Tools, DumpNoUserToken) {
  Story story(1);
  must(story.commit_with_token("a-token-of-a-user"));
  for (const std::string& line : dumped())
    EXPECT_THAT(line, testing::Not(HasSubstr("a-token-of-a-user")));
}

TEST_F(Tools, SayWhereThereIsNoStore) {
  EXPECT_EQ(verify_store(directory_.path() + "/none").error().code, ErrorCode::store_unavailable);
  std::ostringstream out;
  EXPECT_EQ(dump_store(directory_.path() + "/none", {}, out).error().code, ErrorCode::store_unavailable);
  EXPECT_EQ(salvage_store(directory_.path() + "/none", directory_.path() + "/new").error().code,
            ErrorCode::store_unavailable);
  EXPECT_EQ(salvage_store(directory_.path(), directory_.path() + "/new").error().code,
            ErrorCode::store_unavailable)
      << "a server has it";
}

}  // namespace

}  // namespace ratchet
