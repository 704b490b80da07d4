// What every journal promises of its outbox.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/contract.hpp"
#include "tests/store/story.hpp"

namespace ratchet {

namespace {

using stories::first_day;
using stories::Story;
using testing::ElementsAre;
using testing::IsEmpty;

class OutboxContract : public JournalContract {
 protected:
  static OutboxEntry entry(const Story& story, std::uint64_t seq, std::int64_t due_ms) {
    OutboxEntry entry;
    entry.due_at = first_day.plus_ms(due_ms);
    entry.run_id = story.id();
    entry.seq = seq;
    entry.type = "run.paused";
    entry.url = "https://a.example/";
    entry.body = "{}";
    entry.created_at = first_day;
    return entry;
  }

  /// The next append of the story, with these entries.
  static Commit with(Story& story, std::vector<OutboxEntry> entries) {
    Commit made = story.commit();
    made.runs[0].outbox = std::move(entries);
    return made;
  }

  std::vector<OutboxEntry> outbox(std::size_t limit = 100) {
    const auto entries = journal().outbox(limit);
    EXPECT_TRUE(entries) << (entries ? "" : entries.error().text);
    return entries.value_or(std::vector<OutboxEntry>{});
  }
};

TEST_P(OutboxContract, ReturnsWhatIsDueFirstBeforeAllElse) {
  Story one(1), two(2);
  const auto early = entry(one, 1, 10), late = entry(one, 1, 30), middle = entry(two, 1, 20);
  must(with(one, {late, early}));
  must(with(two, {middle}));
  EXPECT_THAT(outbox(), ElementsAre(early, middle, late));
  EXPECT_THAT(outbox(2), ElementsAre(early, middle));
  EXPECT_THAT(outbox(0), IsEmpty());
}

TEST_P(OutboxContract, WritesEntriesWithTheirEventsOrNotAtAll) {
  Story story(1);
  must(story.commit());
  Commit stale = with(story, {entry(story, 2, 10)});
  stale.runs[0].row.lease += 5;
  EXPECT_EQ(refusal(stale), ErrorCode::conflict);
  EXPECT_THAT(outbox(), IsEmpty());
}

TEST_P(OutboxContract, PutsAnEntryOffOrDropsIt) {
  Story story(1);
  auto first = entry(story, 1, 10), second = entry(story, 1, 10);
  second.n = 1;
  must(with(story, {first, second}));
  OutboxEntry again = first;
  again.due_at = first_day.plus_ms(5'000);
  again.attempts = 1;
  Commit update;
  update.outbox = {{first, again}, {second, std::nullopt}};
  must(update);
  EXPECT_THAT(outbox(), ElementsAre(again));
  Commit last;
  last.outbox = {{again, std::nullopt}};
  must(last);
  EXPECT_THAT(outbox(), IsEmpty());
  must(last);  // what is gone can be dropped again
}

INSTANTIATE_TEST_SUITE_P(Both, OutboxContract, both_journals(), journal_name);

}  // namespace

}  // namespace ratchet
