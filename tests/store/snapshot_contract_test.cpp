// What every journal promises of the workspace snapshots that its events name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/contract.hpp"
#include "tests/store/story.hpp"

namespace ratchet {

namespace {

using stories::Story;
using testing::ElementsAre;
using testing::IsEmpty;

class SnapshotContract : public JournalContract {
 protected:
  static Hash hash(std::uint8_t fill) {
    Hash hash;
    hash.bytes.fill(fill);
    return hash;
  }

  /// The next append of the story, with these snapshots.
  static Commit with(Story& story, std::vector<Hash> snapshots) {
    Commit made = story.commit();
    made.runs[0].snapshots = std::move(snapshots);
    return made;
  }

  std::vector<Hash> snapshots() {
    const auto found = journal().snapshots();
    EXPECT_TRUE(found) << (found ? "" : found.error().text);
    return found.value_or(std::vector<Hash>{});
  }
};

TEST_P(SnapshotContract, NamesEachSnapshotOnceInOrder) {
  EXPECT_THAT(snapshots(), IsEmpty());
  Story one(1), two(2);
  must(with(one, {hash(9), hash(3)}));
  must(with(two, {hash(5), hash(3)}));
  must(with(one, {hash(9)}));  // the files are again what they were
  EXPECT_THAT(snapshots(), ElementsAre(hash(3), hash(5), hash(9)));
}

TEST_P(SnapshotContract, WritesSnapshotsWithTheirEventsOrNotAtAll) {
  Story story(1);
  must(story.commit());
  Commit stale = with(story, {hash(1)});
  stale.runs[0].row.lease += 5;
  EXPECT_EQ(refusal(stale), ErrorCode::conflict);
  EXPECT_THAT(snapshots(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Both, SnapshotContract, both_journals(), journal_name);

}  // namespace

}  // namespace ratchet
