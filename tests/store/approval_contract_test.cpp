// What every journal promises of approvals and of users' tokens.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/contract.hpp"
#include "tests/store/story.hpp"

namespace ratchet {

namespace {

using stories::approval_id;
using stories::approvals_of;
using stories::run_id;
using stories::Story;
using testing::ElementsAre;
using testing::IsEmpty;

class ApprovalContract : public JournalContract {};

// --- approvals
// --------------------------------------------------------------------------------------------------

TEST_P(ApprovalContract, ReturnsApprovalsAsTheyWereCommitted) {
  Story story(1), other(2);
  must(story.commit_with_approval(7));
  must(other.commit_with_approval(8));
  EXPECT_EQ(*journal().approval(story.id(), approval_id(7)), story.approval_row(7));
  EXPECT_EQ(journal().approval(story.id(), approval_id(8)).error().code, ErrorCode::unknown_approval);
  EXPECT_EQ(journal().approval(run_id(9), approval_id(7)).error().code, ErrorCode::unknown_approval);

  must(story.commit_with_approval(7, ApprovalStatus::decided));
  EXPECT_EQ(*journal().approval(story.id(), approval_id(7)), story.approval_row(7, ApprovalStatus::decided));
}

TEST_P(ApprovalContract, ListsATeamsApprovalsByStatusNewestFirstInPages) {
  std::vector<Story> stories;
  for (int i = 1; i <= 5; ++i)
    stories.emplace_back(i, i == 5 ? "other" : "payments");
  for (int i = 1; i <= 25; ++i)
    must(stories[i % 5].commit_with_approval(i));
  must(Story(101, "pay").commit_with_approval(101));
  must(Story(102, "payments2").commit_with_approval(102));
  ApprovalQuery query = approvals_of("payments", ApprovalStatus::pending);
  query.limit = 7;
  std::vector<ApprovalId> all;
  for (;;) {
    const auto page = listed(query);
    if (page.empty()) break;
    EXPECT_LE(page.size(), 7u);
    all.insert(all.end(), page.begin(), page.end());
    query.after = page.back();
    // What leaves the list meanwhile is still a place to go on from.
    const std::uint64_t last = page.back().ulid.bytes[15];
    must(stories[last % 5].commit_with_approval(last, ApprovalStatus::expired));
  }
  ASSERT_EQ(all.size(), 20u);
  EXPECT_TRUE(std::is_sorted(all.rbegin(), all.rend()));
  EXPECT_EQ(all.front(), approval_id(25));
  query = approvals_of("other");
  EXPECT_THAT(listed(query), testing::SizeIs(5));
}

TEST_P(ApprovalContract, MovesAnApprovalBetweenListsWithItsStatus) {
  Story story(1);
  const auto listed_as = [&](ApprovalStatus status) { return listed(approvals_of("payments", status)); };
  for (const int i : {1, 2, 3})
    must(story.commit_with_approval(i));
  must(story.commit_with_approval(2, ApprovalStatus::decided));
  must(story.commit_with_approval(1, ApprovalStatus::expired));
  EXPECT_THAT(listed_as(ApprovalStatus::pending), ElementsAre(approval_id(3)));
  EXPECT_THAT(listed_as(ApprovalStatus::decided), ElementsAre(approval_id(2)));
  EXPECT_THAT(listed_as(ApprovalStatus::expired), ElementsAre(approval_id(1)));
  EXPECT_THAT(listed(approvals_of("payments")), ElementsAre(approval_id(3), approval_id(2), approval_id(1)));
}

TEST_P(ApprovalContract, ListsTheApprovalsOfARunAndOfOneStatusInIt) {
  Story story(2), before(1), after(3);
  for (const int i : {1, 2, 3, 4})
    must(story.commit_with_approval(i, i % 2 ? ApprovalStatus::pending : ApprovalStatus::decided));
  must(before.commit_with_approval(5));
  must(after.commit_with_approval(6));
  ApprovalQuery query = approvals_of("payments");
  query.run_id = story.id();
  EXPECT_THAT(listed(query), ElementsAre(approval_id(4), approval_id(3), approval_id(2), approval_id(1)));
  query.status = ApprovalStatus::pending;
  EXPECT_THAT(listed(query), ElementsAre(approval_id(3), approval_id(1)));
  query.after = approval_id(3);
  EXPECT_THAT(listed(query), ElementsAre(approval_id(1)));
  query = approvals_of("other");
  query.run_id = story.id();
  EXPECT_THAT(listed(query), IsEmpty()) << "another team's run";
  query = approvals_of("payments");
  query.run_id = run_id(9);
  EXPECT_THAT(listed(query), IsEmpty());
}

TEST_P(ApprovalContract, ListsTheApprovalsOfARunWithThoseOfAllRunsBelowIt) {
  Story root(1), other(5);
  Story child(2), sibling(3), grandchild(4);
  child.below(root), sibling.below(root), grandchild.below(child);
  must(root.commit_with_approval(4));
  must(child.commit_with_approval(2));
  must(sibling.commit_with_approval(5, ApprovalStatus::decided));
  must(grandchild.commit_with_approval(3));
  must(other.commit_with_approval(1));
  must(grandchild.commit_with_approval(6));
  const auto listed_of = [&](const Story& story, std::optional<ApprovalStatus> status = {}) {
    ApprovalQuery query = approvals_of("payments", status);
    query.run_id = story.id();
    query.limit = 2;
    std::vector<ApprovalId> all;
    for (auto page = listed(query); !page.empty(); page = listed(query)) {
      all.insert(all.end(), page.begin(), page.end());
      query.after = page.back();
    }
    return all;
  };
  EXPECT_THAT(listed_of(root),
              ElementsAre(approval_id(6), approval_id(5), approval_id(4), approval_id(3), approval_id(2)));
  EXPECT_THAT(listed_of(root, ApprovalStatus::decided), ElementsAre(approval_id(5)));
  EXPECT_THAT(listed_of(child), ElementsAre(approval_id(6), approval_id(3), approval_id(2)));
  EXPECT_THAT(listed_of(grandchild), ElementsAre(approval_id(6), approval_id(3)));
  EXPECT_THAT(listed_of(sibling), ElementsAre(approval_id(5)));
}

TEST_P(ApprovalContract, MergesTheListsOfAllStatuses) {
  Story story(1);
  Commit commit = story.commit();
  for (int i = 1; i <= 600; ++i)
    commit.runs[0].approvals.push_back(story.approval_row(i, *enum_at<ApprovalStatus>(i * i % 3)));
  must(commit);
  ApprovalQuery query = approvals_of("payments");
  query.limit = 1000;
  const auto all = listed(query);
  ASSERT_EQ(all.size(), 600u);
  EXPECT_TRUE(std::is_sorted(all.rbegin(), all.rend()));
  query.after = approval_id(300);
  EXPECT_THAT(listed(query), testing::SizeIs(299));
}

TEST_P(ApprovalContract, WritesNoApprovalAndNoTokenOfARefusedCommit) {
  Story story(1);
  must(story.commit_with_token("first"));
  Story stale = story;
  must(story.commit());
  Commit refused = stale.commit_with_approval(1);
  refused.runs[0].user_token = "second";
  EXPECT_EQ(refusal(refused), ErrorCode::conflict);
  EXPECT_THAT(listed(approvals_of("payments")), IsEmpty());
  EXPECT_EQ(journal().approval(story.id(), approval_id(1)).error().code, ErrorCode::unknown_approval);
  EXPECT_EQ(*journal().user_token(story.id()), "first");
}

TEST_P(ApprovalContract, TakesTeamNamesUpToTheirBoundAndAnswersLongerOnesWithNothing) {
  std::size_t longest = 0;
  for (std::size_t bytes = 440; bytes <= 500; ++bytes) {
    Story story(bytes, std::string(bytes, 't'));
    const auto outcome = commit(story.commit_with_approval(bytes));
    if (outcome)
      longest = bytes;
    else
      EXPECT_EQ(outcome.error().code, ErrorCode::invalid_request);
    EXPECT_EQ(listed(approvals_of(std::string(bytes, 't'))).size(), outcome ? 1u : 0u) << bytes;
    RunQuery query;
    query.team = std::string(bytes, 't');
    query.until = Timestamp{INT64_MAX};
    EXPECT_EQ(listed(query).size(), outcome ? 1u : 0u) << bytes;
  }
  EXPECT_GE(longest, 440u);
  EXPECT_LT(longest, 500u);
}

// --- user tokens
// --------------------------------------------------------------------------------------------------

TEST_P(ApprovalContract, KeepsTheLatestUserTokenOfARun) {
  Story story(1), other(2), without(3);
  const std::string bytes("a\0token", 7);
  must(story.commit_with_token("first"));
  must(other.commit_with_token(""));
  must(without.commit());
  EXPECT_EQ(*journal().user_token(story.id()), "first");
  EXPECT_EQ(*journal().user_token(other.id()), "");
  EXPECT_EQ(journal().user_token(without.id()).error().code, ErrorCode::not_found);
  EXPECT_EQ(journal().user_token(run_id(9)).error().code, ErrorCode::not_found);
  must(story.commit_with_token(bytes));
  must(story.commit());
  EXPECT_EQ(*journal().user_token(story.id()), bytes);
}

TEST_P(ApprovalContract, ForgetsTheUserTokenOfARunThatFinishes) {
  Story story(1), once(2), other(3);
  must(story.commit_with_token("first"));
  must(other.commit_with_token("others"));
  story.row().status = RunStatus::finished;
  must(story.commit());
  EXPECT_EQ(journal().user_token(story.id()).error().code, ErrorCode::not_found);
  once.row().status = RunStatus::finished;
  must(once.commit_with_token("second"));
  EXPECT_EQ(journal().user_token(once.id()).error().code, ErrorCode::not_found);
  EXPECT_EQ(*journal().user_token(other.id()), "others");
}

TEST_P(ApprovalContract, KeepsOneUserTokenForATreeUntilItsRootFinishes) {
  Story root(1), other(4);
  Story child(2), grandchild(3);
  child.below(root), grandchild.below(child);
  must(root.commit_with_token("first"));
  must(other.commit_with_token("others"));
  must(child.commit());
  must(grandchild.commit());
  for (const Story* story : {&root, &child, &grandchild})
    EXPECT_EQ(*journal().user_token(story->id()), "first");
  must(grandchild.commit_with_token("fresh"));
  for (const Story* story : {&root, &child, &grandchild})
    EXPECT_EQ(*journal().user_token(story->id()), "fresh");
  EXPECT_EQ(*journal().user_token(other.id()), "others");

  grandchild.row().status = RunStatus::finished;
  must(grandchild.commit());
  EXPECT_EQ(journal().user_token(grandchild.id()).error().code, ErrorCode::not_found) << "it needs none";
  EXPECT_EQ(*journal().user_token(child.id()), "fresh");
  EXPECT_EQ(*journal().user_token(root.id()), "fresh");
  child.row().status = RunStatus::finished;
  must(child.commit_with_token("last words"));
  EXPECT_EQ(*journal().user_token(root.id()), "fresh");
  root.row().status = RunStatus::finished;
  must(root.commit());
  EXPECT_EQ(journal().user_token(root.id()).error().code, ErrorCode::not_found);
}

TEST_P(ApprovalContract, RefusesATokenThatNoRootWouldTakeAway) {
  Story root(1);
  Story child(2), orphan(3);
  child.below(root), orphan.below(Story(9));
  root.row().status = RunStatus::finished;
  must(root.commit());
  must(child.commit());
  EXPECT_EQ(refusal(child.commit_with_token("late")), ErrorCode::conflict);
  EXPECT_EQ(refusal(orphan.commit_with_token("nobody's")), ErrorCode::conflict);
  EXPECT_EQ(journal().user_token(child.id()).error().code, ErrorCode::not_found);
}

INSTANTIATE_TEST_SUITE_P(Both, ApprovalContract, both_journals(), journal_name);

}  // namespace

}  // namespace ratchet
