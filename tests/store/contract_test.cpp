// What every journal promises, asked of both: the one on disk and the one in memory.

#include "tests/store/contract.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/story.hpp"

namespace ratchet {

namespace {

using stories::artifact_id;
using stories::first_day;
using stories::run_id;
using stories::Story;
using testing::ElementsAre;
using testing::IsEmpty;

RunQuery runs_of(std::string team) {
  RunQuery query;
  query.team = std::move(team);
  return query;
}

// --- appends
// --------------------------------------------------------------------------------------------------

TEST_P(JournalContract, ReturnsRowsAndRecordsAsTheyWereCommitted) {
  Story story(1);
  story.row().labels.text = R"({"ticket":"7"})";
  for (std::uint32_t i = 0; i < 100; ++i)
    must(story.commit(1 + i % 3, 20 * i));
  EXPECT_EQ(*journal().row(story.id()), story.row());
  EXPECT_EQ(*journal().records(story.id(), 1, SIZE_MAX), story.records());
}

TEST_P(JournalContract, ReadsFromTheRecordThatHoldsASeqOn) {
  Story story(1);
  for (int i = 0; i < 150; ++i)
    must(story.commit(3));
  for (const std::uint64_t from : {0ul, 1ul, 2ul, 3ul, 4ul, 95ul, 96ul, 97ul, 288ul, 289ul, 449ul, 450ul}) {
    const auto records = *journal().records(story.id(), from, SIZE_MAX);
    const std::size_t skipped = from == 0 ? 0 : (from - 1) / 3;
    ASSERT_EQ(records.size(), 150 - skipped) << "from " << from;
    EXPECT_EQ(records.front(), story.records()[skipped]) << "from " << from;
  }
  EXPECT_THAT(*journal().records(story.id(), 451, SIZE_MAX), IsEmpty());
}

TEST_P(JournalContract, ReadsInSlicesOfAboutTheBytesAskedFor) {
  Story story(1);
  for (int i = 0; i < 70; ++i)
    must(story.commit(1, 1000));
  EXPECT_EQ(journal().records(story.id(), 1, 0)->size(), 1u);
  const std::size_t in_slice = journal().records(story.id(), 1, 10'000)->size();
  EXPECT_GE(in_slice, 8u);
  EXPECT_LE(in_slice, 10u);

  std::vector<Record> all;
  for (std::uint64_t from = 1;;) {
    auto slice = *journal().records(story.id(), from, 5'000);
    if (slice.empty()) break;
    from = slice.back().events.back().seq + 1;
    all.insert(all.end(), slice.begin(), slice.end());
  }
  EXPECT_EQ(all, story.records());
}

TEST_P(JournalContract, KeepsInterleavedRunsApart) {
  std::vector<Story> stories;
  for (int i = 0; i < 40; ++i)
    stories.emplace_back(i);
  for (int round = 0; round < 40; ++round) {
    std::vector<Commit> batch;
    for (Story& story : stories)
      batch.push_back(story.commit());
    const auto outcomes = *journal().commit(batch);
    for (const auto& outcome : outcomes)
      ASSERT_TRUE(outcome) << outcome.error().text;
  }
  for (const Story& story : stories)
    EXPECT_EQ(*journal().records(story.id(), 1, SIZE_MAX), story.records());
}

TEST_P(JournalContract, DoesNotKnowRunsThatWereNeverStarted) {
  EXPECT_EQ(journal().row(run_id(9)).error().code, ErrorCode::unknown_run);
  EXPECT_EQ(journal().records(run_id(9), 1, 100).error().code, ErrorCode::unknown_run);
}

// --- fencing
// --------------------------------------------------------------------------------------------------

TEST_P(JournalContract, RefusesTheSameEventsTwice) {
  Story story(1);
  const Commit first = story.commit();
  must(first);
  EXPECT_EQ(refusal(first), ErrorCode::conflict);
  const Commit second = story.commit();
  must(second);
  EXPECT_EQ(refusal(second), ErrorCode::conflict);
  EXPECT_EQ(journal().records(story.id(), 1, SIZE_MAX)->size(), 2u);
}

TEST_P(JournalContract, RefusesAGap) {
  Story story(1);
  must(story.commit());
  story.next();
  EXPECT_EQ(refusal(story.commit()), ErrorCode::conflict);
  EXPECT_EQ(journal().row(story.id())->last_seq, 1u);
}

TEST_P(JournalContract, RefusesEventsOfARunThatWasNeverStarted) {
  Story story(1);
  story.next();
  EXPECT_EQ(refusal(story.commit()), ErrorCode::conflict);
  EXPECT_EQ(refusal(Story(2).activate()), ErrorCode::conflict);
}

TEST_P(JournalContract, RefusesAnOlderActivationOnceANewerOneHasWritten) {
  Story story(1);
  must(story.commit());
  Story older = story;
  must(story.activate());
  EXPECT_EQ(refusal(older.commit()), ErrorCode::stale_lease);
  must(story.commit());
  EXPECT_EQ(journal().row(story.id())->lease, 2u);
}

TEST_P(JournalContract, TakesAnActivationOnlyWithTheNextLease) {
  Story story(1);
  must(story.commit());
  Story leaping = story;
  leaping.row().lease = 2;
  EXPECT_EQ(refusal(leaping.activate()), ErrorCode::conflict);
  must(story.activate());
  story.row().resumes = 1;
  story.row().lease -= 1;
  must(story.activate());  // the same lease again: only the row changes
  EXPECT_EQ(journal().row(story.id())->resumes, 1u);
}

TEST_P(JournalContract, RefusesAnActivationThatHasNotSeenTheLatestEvent) {
  Story story(1);
  must(story.commit());
  Story behind = story;
  must(story.commit());
  EXPECT_EQ(refusal(behind.activate()), ErrorCode::conflict);
}

// --- atomicity
// --------------------------------------------------------------------------------------------------

TEST_P(JournalContract, WritesNothingOfACommitThatFailsInOnePart) {
  Story parent(1), child(2);
  must(parent.commit());
  Commit both;
  both.runs.push_back(child.next());
  both.runs.push_back(Story(parent).next());
  both.runs[1].row.lease = 9;
  both.claim = IdempotencyClaim{"payments", "k", sha256("request"), child.id()};
  both.definitions.push_back({"tool", "search", "{}", false});
  EXPECT_EQ(refusal(both), ErrorCode::conflict);
  EXPECT_EQ(journal().row(child.id()).error().code, ErrorCode::unknown_run);
  EXPECT_FALSE(*journal().idempotency("payments", "k"));
  EXPECT_THAT(*journal().definitions("tool", ""), IsEmpty());
  EXPECT_THAT(*journal().active(), ElementsAre(parent.id()));
}

TEST_P(JournalContract, WritesTheOtherCommitsOfABatchWhenOneIsRefused) {
  Story one(1), two(2), three(3);
  two.next();
  const std::vector<Commit> batch{one.commit(), two.commit(), three.commit()};
  const auto outcomes = *journal().commit(batch);
  EXPECT_TRUE(outcomes[0]);
  EXPECT_EQ(outcomes[1].error().code, ErrorCode::conflict);
  EXPECT_TRUE(outcomes[2]);
  EXPECT_THAT(*journal().active(), ElementsAre(one.id(), three.id()));
}

TEST_P(JournalContract, SeesEarlierCommitsOfTheSameBatch) {
  Story story(1);
  const Commit first = story.commit(), second = story.commit(), third = story.commit();
  const std::vector<Commit> batch{first, second, second, third};
  const auto outcomes = *journal().commit(batch);
  EXPECT_TRUE(outcomes[0]);
  EXPECT_TRUE(outcomes[1]);
  EXPECT_EQ(outcomes[2].error().code, ErrorCode::conflict);
  EXPECT_TRUE(outcomes[3]);
  EXPECT_EQ(*journal().records(story.id(), 1, SIZE_MAX), story.records());
}

TEST_P(JournalContract, WritesSeveralRunsInOneCommit) {
  Story parent(1), child(2);
  must(parent.commit());
  child.row().parent_run_id = parent.id();
  Commit both;
  both.runs = {parent.next(), child.next()};
  must(both);
  EXPECT_EQ(journal().row(parent.id())->last_seq, 2u);
  EXPECT_EQ(journal().row(child.id())->last_seq, 1u);
}

TEST_P(JournalContract, RefusesARunThatIsInACommitTwice) {
  Story story(1);
  Commit twice;
  twice.runs = {story.next(), story.next()};
  EXPECT_EQ(refusal(twice), ErrorCode::conflict);
  EXPECT_EQ(journal().row(story.id()).error().code, ErrorCode::unknown_run);
}

// --- claims
// --------------------------------------------------------------------------------------------------

TEST_P(JournalContract, AnswersARepeatedClaimWithTheRunThatHoldsIt) {
  Story first(1), second(2);
  Commit start = first.commit();
  start.claim = IdempotencyClaim{"payments", "key-1", sha256("request"), first.id()};
  must(start);
  Commit again = second.commit();
  again.claim = IdempotencyClaim{"payments", "key-1", sha256("request"), second.id()};
  const auto outcome = commit(again);
  ASSERT_TRUE(outcome) << outcome.error().text;
  EXPECT_EQ(outcome->existing, first.id());
  EXPECT_EQ(journal().row(second.id()).error().code, ErrorCode::unknown_run);

  again.claim->fingerprint = sha256("another request");
  EXPECT_EQ(refusal(again), ErrorCode::idempotency_conflict);
  again.claim->scope = "support";
  must(again);
  EXPECT_EQ(journal().idempotency("payments", "key-1").value()->run_id, first.id());
  EXPECT_EQ(journal().idempotency("payments", "key-1").value()->fingerprint, sha256("request"));
  EXPECT_EQ(journal().idempotency("support", "key-1").value()->run_id, second.id());
  EXPECT_FALSE(*journal().idempotency("support", "key"));
}

TEST_P(JournalContract, GivesAClaimToOneOfTwoInTheSameBatch) {
  Story first(1), second(2);
  std::vector<Commit> batch{first.commit(), second.commit()};
  batch[0].claim = IdempotencyClaim{"payments", "key", sha256("request"), first.id()};
  batch[1].claim = IdempotencyClaim{"payments", "key", sha256("request"), second.id()};
  const auto outcomes = *journal().commit(batch);
  EXPECT_FALSE(outcomes[0]->existing);
  EXPECT_EQ(outcomes[1]->existing, first.id());
}

TEST_P(JournalContract, DoesNotTakeAKeyForACommitThatWasRefused) {
  Story story(1);
  story.next();
  Commit refused = story.commit();
  refused.claim = IdempotencyClaim{"payments", "key", sha256("request"), story.id()};
  EXPECT_EQ(refusal(refused), ErrorCode::conflict);
  EXPECT_FALSE(*journal().idempotency("payments", "key"));
}

TEST_P(JournalContract, RefusesAKeyThatIsTooLong) {
  Story story(1);
  Commit commit = story.commit();
  commit.claim = IdempotencyClaim{"payments", std::string(600, 'k'), sha256("request"), story.id()};
  EXPECT_EQ(refusal(commit), ErrorCode::invalid_request);
}

// --- definitions
// --------------------------------------------------------------------------------------------------

TEST_P(JournalContract, ListsDefinitionsByPrefixInOrderOfKey) {
  Commit puts;
  for (const char* key : {"b/2", "a/1", "b/1", "b0"})
    puts.definitions.push_back({"agent", key, std::string("value of ") + key, true});
  puts.definitions.push_back({"tool", "b/9", "a tool", true});
  must(puts);
  using Pair = std::pair<std::string, std::string>;
  EXPECT_THAT(*journal().definitions("agent", "b/"),
              ElementsAre(Pair("b/1", "value of b/1"), Pair("b/2", "value of b/2")));
  EXPECT_EQ(journal().definitions("agent", "")->size(), 4u);
  EXPECT_EQ(journal().definitions("tool", "")->size(), 1u);
  EXPECT_THAT(*journal().definitions("agen", ""), IsEmpty());
}

TEST_P(JournalContract, RefusesADefinitionThatMustBeNewAndIsNot) {
  Commit put;
  put.definitions.push_back({"agent", "a/1", "one", true});
  must(put);
  put.definitions[0].value = "two";
  EXPECT_EQ(refusal(put), ErrorCode::conflict);
  put.definitions[0].must_be_new = false;
  must(put);
  EXPECT_EQ(journal().definitions("agent", "a/")->at(0).second, "two");
  put.definitions.push_back(put.definitions[0]);
  EXPECT_EQ(refusal(put), ErrorCode::conflict);
}

TEST_P(JournalContract, KeepsLargeDefinitionsWhole) {
  Commit put;
  put.definitions.push_back({"agent", "a/1", stories::text(1, 1'500'000), true});
  must(put);
  EXPECT_EQ(journal().definitions("agent", "")->at(0).second, put.definitions[0].value);
}

// --- blobs
// --------------------------------------------------------------------------------------------------

TEST_P(JournalContract, ReturnsBlobsWholeAndInParts) {
  Story story(1);
  std::uint64_t number = 100;
  for (const std::size_t bytes : {0ul, 1ul, 20'000ul, limits::blob_file_bytes_min, 3ul << 20}) {
    SCOPED_TRACE(bytes);
    const std::string content = stories::text(number, bytes);
    const Commit with_blob = story.commit_with_blob(number, content);
    must(with_blob);
    const auto info = *journal().artifact(artifact_id(number));
    EXPECT_EQ(info.run, story.id());
    EXPECT_EQ(info.ref, with_blob.runs[0].blobs[0].ref);
    EXPECT_EQ(*journal().blob(artifact_id(number), 0, UINT64_MAX), content);
    for (const std::uint64_t offset : {0ul, 1ul, 7'777ul, 1'048'575ul, 1'048'576ul, bytes}) {
      const std::uint64_t from = std::min<std::uint64_t>(offset, bytes);
      EXPECT_EQ(*journal().blob(artifact_id(number), offset, 100), content.substr(from, 100)) << offset;
      EXPECT_EQ(*journal().blob(artifact_id(number), offset, 1'500'000), content.substr(from, 1'500'000));
    }
    ++number;
  }
  EXPECT_THAT(*journal().blob(artifact_id(104), UINT64_MAX, 1), IsEmpty());
  EXPECT_EQ(journal().blob(artifact_id(7), 0, 1).error().code, ErrorCode::unknown_artifact);
  EXPECT_EQ(journal().artifact(artifact_id(7)).error().code, ErrorCode::unknown_artifact);
}

TEST_P(JournalContract, RefusesAnArtifactIdThatIsTaken) {
  Story story(1), other(2);
  must(story.commit_with_blob(100, "bytes"));
  must(other.commit());
  EXPECT_EQ(refusal(other.commit_with_blob(100, "others")), ErrorCode::conflict);
  EXPECT_EQ(*journal().blob(artifact_id(100), 0, 100), "bytes");
}

// --- indexes
// --------------------------------------------------------------------------------------------------

TEST_P(JournalContract, ListsActiveRunsOldestFirst) {
  Story late(3), early(1), paused(2);
  for (Story* story : {&late, &early, &paused})
    must(story->commit());
  EXPECT_THAT(*journal().active(), ElementsAre(early.id(), paused.id(), late.id()));
  paused.row().active = false;
  must(paused.commit());
  EXPECT_THAT(*journal().active(), ElementsAre(early.id(), late.id()));
  paused.row().active = true;
  must(paused.activate());
  EXPECT_THAT(*journal().active(), ElementsAre(early.id(), paused.id(), late.id()));
}

TEST_P(JournalContract, FindsRunsByDueTime) {
  EXPECT_FALSE(*journal().next_due());
  Story one(1), two(2), three(3);
  one.row().due_at = first_day.plus_ms(3000);
  two.row().due_at = first_day.plus_ms(1000);
  three.row().due_at = Timestamp{-5};  // before 1970 sorts first
  for (Story* story : {&one, &two, &three})
    must(story->commit());
  EXPECT_EQ(*journal().next_due(), Timestamp{-5});
  EXPECT_THAT(*journal().due(first_day.plus_ms(999), 10), ElementsAre(three.id()));
  EXPECT_THAT(*journal().due(first_day.plus_ms(1000), 10), ElementsAre(three.id(), two.id()));
  EXPECT_THAT(*journal().due(first_day.plus_ms(9000), 2), ElementsAre(three.id(), two.id()));
  three.row().due_at.reset();
  must(three.commit());
  two.row().due_at = first_day.plus_ms(5000);
  must(two.activate());
  EXPECT_THAT(*journal().due(first_day.plus_ms(9000), 10), ElementsAre(one.id(), two.id()));
  EXPECT_EQ(*journal().next_due(), first_day.plus_ms(3000));
}

TEST_P(JournalContract, ListsATeamsRunsNewestFirstInPages) {
  for (int i = 1; i <= 25; ++i)
    must(Story(i, i % 5 == 0 ? "other" : "payments").commit());
  must(Story(100, "payments2").commit());
  must(Story(101, "pay").commit());
  RunQuery query = runs_of("payments");
  query.limit = 7;
  std::vector<RunId> all;
  for (;;) {
    const auto page = listed(query);
    if (page.empty()) break;
    all.insert(all.end(), page.begin(), page.end());
    query.after = page.back();
  }
  ASSERT_EQ(all.size(), 20u);
  EXPECT_TRUE(std::is_sorted(all.rbegin(), all.rend()));
  EXPECT_EQ(all.front(), run_id(24));
}

TEST_P(JournalContract, FiltersLists) {
  Story parent(1), child(2), finished(3), foreign(4, "other");
  child.row().parent_run_id = parent.id();
  finished.row().status = RunStatus::finished;
  finished.row().stop_reason = StopReason::cancelled;
  finished.row().agent_id = "triage";
  finished.row().user_id = "user-2";
  foreign.row().parent_run_id = parent.id();
  for (Story* story : {&parent, &child, &finished, &foreign})
    must(story->commit());
  RunQuery query = runs_of("payments");
  EXPECT_THAT(listed(query), ElementsAre(run_id(3), run_id(2), run_id(1)));
  query.status = RunStatus::finished;
  EXPECT_THAT(listed(query), ElementsAre(run_id(3)));
  query = runs_of("payments");
  query.agent_id = "triage";
  EXPECT_THAT(listed(query), ElementsAre(run_id(3)));
  query = runs_of("payments");
  query.user_id = "user-17";
  EXPECT_THAT(listed(query), ElementsAre(run_id(2), run_id(1)));
  query = runs_of("payments");
  query.parent_run_id = parent.id();
  EXPECT_THAT(listed(query), ElementsAre(run_id(2)));
  query = runs_of("payments");
  query.stop_reason = StopReason::cancelled;
  EXPECT_THAT(listed(query), ElementsAre(run_id(3)));
  query = runs_of("payments");
  query.since = first_day.plus_ms(2);
  EXPECT_THAT(listed(query), ElementsAre(run_id(3), run_id(2)));
  query.until = first_day.plus_ms(3);
  EXPECT_THAT(listed(query), ElementsAre(run_id(2)));
  query = runs_of("nobody");
  EXPECT_THAT(listed(query), IsEmpty());
}

TEST_P(JournalContract, ListsChildrenOfAParentInPages) {
  must(Story(1).commit());
  for (int i = 2; i <= 12; ++i) {
    Story child(i);
    child.row().parent_run_id = run_id(1);
    must(child.commit());
  }
  RunQuery query = runs_of("payments");
  query.parent_run_id = run_id(1);
  query.limit = 4;
  EXPECT_THAT(listed(query), ElementsAre(run_id(12), run_id(11), run_id(10), run_id(9)));
  query.after = run_id(9);
  EXPECT_THAT(listed(query), ElementsAre(run_id(8), run_id(7), run_id(6), run_id(5)));
  query.since = first_day.plus_ms(7);
  EXPECT_THAT(listed(query), ElementsAre(run_id(8), run_id(7)));
}

TEST_P(JournalContract, OrdersRunsOfTheSameMomentById) {
  for (const int i : {2, 3, 1}) {
    Story story(i);
    story.row().created_at = first_day;
    must(story.commit());
  }
  RunQuery query = runs_of("payments");
  EXPECT_THAT(listed(query), ElementsAre(run_id(3), run_id(2), run_id(1)));
  query.after = run_id(2);
  EXPECT_THAT(listed(query), ElementsAre(run_id(1)));
}

TEST_P(JournalContract, FindsFewRunsAmongMany) {
  std::vector<Commit> batch;
  for (int i = 1; i <= 1500; ++i) {
    Story story(i);
    if (i == 3 || i == 1400) story.row().agent_id = "rare";
    batch.push_back(story.commit());
  }
  ASSERT_TRUE(journal().commit(batch));
  RunQuery query = runs_of("payments");
  query.agent_id = "rare";
  EXPECT_THAT(listed(query), ElementsAre(run_id(1400), run_id(3)));
}

TEST_P(JournalContract, RefusesACursorOfAnotherTeam) {
  must(Story(1, "other").commit());
  RunQuery query = runs_of("payments");
  query.after = run_id(1);
  EXPECT_EQ(journal().list(query).error().code, ErrorCode::invalid_cursor);
  query.after = run_id(7);
  EXPECT_EQ(journal().list(query).error().code, ErrorCode::invalid_cursor);
}

TEST_P(JournalContract, IsHealthyWhenItIs) {
  must(Story(1).commit());
  EXPECT_TRUE(journal().health().writable);
  EXPECT_FALSE(journal().health().durability.empty());
}

INSTANTIATE_TEST_SUITE_P(Both, JournalContract, both_journals(), journal_name);

}  // namespace

}  // namespace ratchet
