#pragma once
// Both journals, for the tests of what every journal promises.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/memory_journal.hpp"
#include "store/store.hpp"
#include "tests/fakes/directory.hpp"

namespace ratchet {

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Journal>(const std::string& data_dir)> open;
};

class JournalContract : public testing::TestWithParam<Kind> {
 protected:
  JournalContract() : journal_(GetParam().open(directory_.path())) {}

  Journal& journal() { return *journal_; }

  Result<Committed> commit(const Commit& commit) {
    auto outcomes = journal_->commit({&commit, 1});
    if (!outcomes) return tl::unexpected(outcomes.error());
    EXPECT_EQ(outcomes->size(), 1u);
    return outcomes->at(0);
  }

  void must(const Commit& given) {
    const auto outcome = commit(given);
    ASSERT_TRUE(outcome) << outcome.error().text;
    ASSERT_FALSE(outcome->existing);
  }

  ErrorCode refusal(const Commit& given) {
    const auto outcome = commit(given);
    if (outcome) {
      ADD_FAILURE() << "was not refused";
      return ErrorCode::internal_error;
    }
    return outcome.error().code;
  }

  std::vector<ApprovalId> listed(const ApprovalQuery& query) {
    const auto rows = journal_->approvals(query);
    if (!rows) {
      ADD_FAILURE() << rows.error().text;
      return {};
    }
    std::vector<ApprovalId> ids;
    for (const ApprovalRow& row : *rows) {
      EXPECT_EQ(row, *journal_->approval(row.run_id, row.approval_id));
      ids.push_back(row.approval_id);
    }
    return ids;
  }

  std::vector<RunId> listed(const RunQuery& query) {
    const auto rows = journal_->list(query);
    if (!rows) {
      ADD_FAILURE() << rows.error().text;
      return {};
    }
    std::vector<RunId> ids;
    for (const RunRow& row : *rows)
      ids.push_back(row.run_id);
    return ids;
  }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<Journal> journal_;
};

inline auto both_journals() {
  return testing::Values(Kind{"Memory", [](const std::string&) { return std::make_unique<MemoryJournal>(); }},
                         Kind{"Lmdb", [](const std::string& data_dir) -> std::unique_ptr<Journal> {
                                StoreOptions options;
                                options.data_dir = data_dir;
                                auto journal = open_store(options);
                                RATCHET_ENSURE(journal.has_value(), journal.error().text);
                                return std::move(*journal);
                              }});
}

/// Names the tests after the journal.
inline std::string journal_name(const testing::TestParamInfo<Kind>& kind) {
  return kind.param.name;
}

}  // namespace ratchet
