// All invariants over a data directory.

#include "store/audit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/store.hpp"
#include "tests/fakes/directory.hpp"
#include "tests/store/story.hpp"

namespace ratchet {

namespace {

using stories::Story;
using testing::Contains;
using testing::HasSubstr;

class StoreAudit : public testing::Test {
 protected:
  StoreAudit() {
    StoreOptions options;
    options.data_dir = directory_.path();
    journal_ = *open_store(options);
  }

  void must(RunAppend append) {
    Commit commit;
    commit.runs.push_back(std::move(append));
    const auto outcomes = journal_->commit({&commit, 1});
    ASSERT_TRUE(outcomes) << outcomes.error().text;
    ASSERT_TRUE(outcomes->at(0)) << outcomes->at(0).error().text;
  }

  AuditReport audited() {
    const auto report = audit_store(directory_.path());
    EXPECT_TRUE(report) << report.error().text;
    return report ? *report : AuditReport{};
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Journal> journal_;
};

RunStarted started_with(std::int64_t tokens) {
  RunStarted started;
  started.team = "payments";
  started.agent_id = "support";
  started.agent_version = 1;
  started.input = text_content("go");
  started.budgets.max_tokens = tokens;
  started.deadline_at = stories::first_day.plus_ms(60'000);
  return started;
}

TEST_F(StoreAudit, HoldsSubAgentsAgainstTheirParents) {
  Story parent(1), child(2), grandchild(3);
  child.below(parent);
  grandchild.below(child);
  const auto given = [](const Story& to, std::int64_t tokens) {
    SubagentStarted given;
    given.call_id = "call_1_1";
    given.child_run_id = to.id();
    given.share.tokens = tokens;
    given.deadline_at = stories::first_day.plus_ms(60'000);
    return given;
  };
  must(parent.next({started_with(1'000), given(child, 500)}));
  must(child.next({started_with(500), given(grandchild, 100)}));
  must(grandchild.next({started_with(400)}));
  const auto report = audited();
  EXPECT_EQ(report.runs, 3u) << "each is looked at once";
  EXPECT_EQ(report.events, 5u);
  EXPECT_THAT(report.problems,
              Contains(testing::AllOf(HasSubstr(to_string(grandchild.id())),
                                      HasSubstr("other budgets than its share"))));
  EXPECT_GT(report.over_budget(), 0u);
  EXPECT_FALSE(report.sound());
}

TEST_F(StoreAudit, LooksAtARunWhoseParentIsGone) {
  Story parent(1), child(2);
  child.below(parent);
  must(child.next({started_with(500)}));
  EXPECT_EQ(audited().runs, 1u);
}

TEST_F(StoreAudit, TellsMonitoringWhatItFound) {
  Story run(1);
  must(run.next());
  const std::string page = audit_metrics(audited());
  EXPECT_THAT(page, HasSubstr("\nratchet_audit_runs 1\n"));
  EXPECT_THAT(page, HasSubstr("\nratchet_audit_duplicate_side_effects 0\n"));
  EXPECT_THAT(page, testing::Not(HasSubstr("violations{invariant=\"1\"} 0\n")))
      << "a run that begins with a message breaks the first rule";
}

}  // namespace

}  // namespace ratchet
