// What every journal promises of the search for prompts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/contract.hpp"
#include "tests/store/story.hpp"

namespace ratchet {

namespace {

using stories::Story;
using testing::ElementsAre;
using testing::IsEmpty;

class PromptContract : public JournalContract {
 protected:
  static Hash hash(std::uint8_t fill) {
    Hash hash;
    hash.bytes.fill(fill);
    return hash;
  }

  /// The next append of the story, which announces these prompts.
  static Commit with(Story& story, std::vector<SentPrompt> prompts) {
    Commit made = story.commit();
    made.runs[0].prompts = std::move(prompts);
    return made;
  }

  std::vector<PromptUse> uses(const std::string& team,
                              Hash of,
                              std::size_t limit = 50,
                              std::optional<PromptUse> after = {}) {
    PromptQuery query{team, of, {}, limit};
    if (after) query.after = std::pair(after->run_id, after->step);
    const auto found = journal().prompts(query);
    EXPECT_TRUE(found) << (found ? "" : found.error().text);
    return found.value_or(std::vector<PromptUse>{});
  }
};

TEST_P(PromptContract, AreFoundByTeamInOrderOfRunAndStep) {
  Story first(1), second(2);
  must(with(second, {{hash(7), 1}}));
  must(with(first, {{hash(7), 1}, {hash(8), 2}}));
  must(with(first, {{hash(7), 3}}));
  const RunId a = first.id(), b = second.id();
  const std::string team = "payments";
  const auto all = uses(team, hash(7));
  EXPECT_THAT(all, ElementsAre(PromptUse{a, 1}, PromptUse{a, 3}, PromptUse{b, 1}));
  EXPECT_THAT(uses(team, hash(7), 2), ElementsAre(PromptUse{a, 1}, PromptUse{a, 3}));
  EXPECT_THAT(uses(team, hash(7), 2, PromptUse{a, 3}), ElementsAre(PromptUse{b, 1}));
  EXPECT_THAT(uses(team, hash(9)), IsEmpty());
  EXPECT_THAT(uses("others", hash(7)), IsEmpty());
}

TEST_P(PromptContract, AreWrittenWithTheirEventsOrNotAtAll) {
  Story story(1);
  must(story.commit());
  Commit stale = with(story, {{hash(1), 1}});
  stale.runs[0].row.lease += 5;
  EXPECT_EQ(refusal(stale), ErrorCode::conflict);
  EXPECT_THAT(uses(stale.runs[0].row.team, hash(1)), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Both, PromptContract, both_journals(), journal_name);

}  // namespace

}  // namespace ratchet
