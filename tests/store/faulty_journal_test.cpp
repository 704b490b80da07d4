#include "tests/fakes/faulty_journal.hpp"

#include <future>

#include <gtest/gtest.h>

#include "store/memory_journal.hpp"
#include "tests/store/story.hpp"

namespace ratchet {

namespace {

using stories::Story;

class FaultyJournalTest : public testing::Test {
 protected:
  Result<Committed> commit(const Commit& commit) {
    auto outcomes = journal_.commit({&commit, 1});
    if (!outcomes) return tl::unexpected(outcomes.error());
    return outcomes->at(0);
  }

  bool is_stored(const Story& story) { return inner_.row(story.id()).has_value(); }

  MemoryJournal inner_;
  FaultyJournal journal_{inner_};
};

TEST_F(FaultyJournalTest, RefusesTheNthCommitAndWritesNothing) {
  Story one(1), two(2), three(3);
  journal_.plan(2, Fault::refuse);
  EXPECT_TRUE(commit(one.commit()));
  EXPECT_EQ(commit(two.commit()).error().code, ErrorCode::store_unavailable);
  EXPECT_TRUE(commit(three.commit()));
  EXPECT_FALSE(is_stored(two));
}

TEST_F(FaultyJournalTest, CrashesBeforeOrAfterWriting) {
  Story before(1), after(2);
  journal_.plan(1, Fault::crash_before);
  journal_.plan(2, Fault::crash_after);
  EXPECT_THROW((void)commit(before.commit()), SimulatedCrash);
  EXPECT_FALSE(is_stored(before));
  EXPECT_THROW((void)commit(after.commit()), SimulatedCrash);
  EXPECT_TRUE(is_stored(after));
}

TEST_F(FaultyJournalTest, HoldsACommitUntilItIsReleased) {
  Story story(1);
  journal_.plan(1, Fault::hold);
  auto held = std::async(std::launch::async, [&] { return commit(story.commit()); });
  journal_.wait_until_held();
  EXPECT_FALSE(is_stored(story));
  journal_.release();
  EXPECT_TRUE(held.get());
  EXPECT_TRUE(is_stored(story));
}

TEST_F(FaultyJournalTest, LetsOnlyTheReserveThroughWhileThereIsNoRoom) {
  Story one(1), two(2);
  journal_.refuse_all(true);
  std::vector<Commit> batch{one.commit(), two.commit()};
  batch[1].reserve = true;
  const auto outcomes = *journal_.commit(batch);
  EXPECT_EQ(outcomes[0].error().code, ErrorCode::store_unavailable);
  EXPECT_TRUE(outcomes[1]);
  EXPECT_FALSE(journal_.health().writable);
  journal_.refuse_all(false);
  EXPECT_TRUE(commit(batch[0]));
}

}  // namespace

}  // namespace ratchet
