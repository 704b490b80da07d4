// The search for prompts, over both journals.

#include "runtime/replay/prompt_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/forged_journal.hpp"
#include "tests/store/contract.hpp"
#include "tests/store/story.hpp"

namespace ratchet {

namespace {

using stories::Story;
using testing::ElementsAre;
using testing::IsEmpty;

class PromptSearch : public JournalContract {
 protected:
  static Hash hash(std::uint8_t fill) {
    Hash hash;
    hash.bytes.fill(fill);
    return hash;
  }

  /// The next append of the story, which sends these prompts in one step.
  void sends(Story& story, std::vector<std::uint8_t> prompts, std::uint32_t step = 1) {
    std::vector<Payload> payloads;
    for (const std::uint8_t prompt : prompts) {
      ModelRequested requested;
      requested.prompt_hash = hash(prompt);
      story.row().prompts.add(requested.prompt_hash);
      payloads.emplace_back(std::move(requested));
    }
    Commit commit;
    commit.runs.push_back(story.next(std::move(payloads), step));
    must(commit);
  }

  PromptPage page(Hash of,
                  std::size_t limit = 50,
                  std::optional<PromptUse> after = {},
                  std::size_t rows = 0) {
    const auto found = find_prompt(journal(), {"payments", of, after, limit, rows});
    EXPECT_TRUE(found) << (found ? "" : found.error().text);
    return found.value_or(PromptPage{});
  }
};

TEST_P(PromptSearch, FindsTheNewestRunFirstAndGoesOnWhereThePageEnded) {
  Story first(1), second(2), other(3, "others");
  sends(first, {7, 8});
  sends(second, {8, 7});
  sends(other, {7});
  sends(second, {7}, 3);
  const auto all = page(hash(7));
  EXPECT_THAT(all.uses,
              ElementsAre(PromptUse{second.id(), 1}, PromptUse{second.id(), 3}, PromptUse{first.id(), 1}));
  EXPECT_FALSE(all.next);
  const auto one = page(hash(7), 1);
  EXPECT_THAT(one.uses, ElementsAre(PromptUse{second.id(), 1}));
  EXPECT_THAT(page(hash(7), 2, one.next).uses,
              ElementsAre(PromptUse{second.id(), 3}, PromptUse{first.id(), 1}));
  EXPECT_THAT(page(hash(9)).uses, IsEmpty());
}

TEST_P(PromptSearch, BelievesTheFilterAndReadsNoOtherRun) {
  Story story(1);
  sends(story, {7});
  story.row().prompts = {};
  story.row().prompts.add(hash(8));
  sends(story, {9});
  EXPECT_THAT(page(hash(7)).uses, IsEmpty());
}

TEST_P(PromptSearch, ADamagedRunHidesNoOther) {
  Story first(1), second(2);
  sends(first, {7});
  sends(second, {7});
  ForgedJournal damaged(journal());
  damaged.unreadable = second.id();
  const auto found = find_prompt(damaged, {"payments", hash(7), {}, 50, 0});
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_THAT(found->uses, ElementsAre(PromptUse{first.id(), 1}));
}

TEST_P(PromptSearch, LooksAtSoManyRunsForAPage) {
  Story first(1), second(2), third(3);
  for (Story* story : {&first, &second, &third})
    sends(*story, {static_cast<std::uint8_t>(story == &first ? 7 : 8)});
  const auto short_page = page(hash(7), 50, {}, 2);
  EXPECT_THAT(short_page.uses, IsEmpty());
  ASSERT_TRUE(short_page.next);
  EXPECT_EQ(short_page.next->run_id, second.id());
  EXPECT_THAT(page(hash(7), 50, short_page.next, 2).uses, ElementsAre(PromptUse{first.id(), 1}));
}

INSTANTIATE_TEST_SUITE_P(Both, PromptSearch, both_journals(), journal_name);

}  // namespace

}  // namespace ratchet
