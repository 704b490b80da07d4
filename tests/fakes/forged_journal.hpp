#pragma once
// A journal whose reads a test can change or hold up.

#include <functional>
#include <vector>

#include "runtime/journal.hpp"

namespace ratchet {

/// Tells other records than were written, or tells them late: `forge` is called with what is read.
class ForgedJournal final : public Journal {
 public:
  explicit ForgedJournal(Journal& real) : real_(real) {}

  std::function<void(std::vector<Record>&)> forge;
  std::optional<RunId> unreadable;  ///< set while nobody reads

  Result<RunRow> row(const RunId& run) override { return real_.row(run); }

  Result<std::vector<Record>> records(const RunId& run, std::uint64_t seq, std::size_t bytes) override {
    if (run == unreadable) return fail(ErrorCode::corrupt, "a page of it is damaged");
    auto records = real_.records(run, seq, bytes);
    if (records && forge) forge(*records);
    return records;
  }

  Result<std::vector<RunRow>> list(const RunQuery& query) override { return real_.list(query); }

  Result<std::vector<RunId>> active() override { return real_.active(); }

  Result<std::vector<RunId>> due(Timestamp now, std::size_t limit) override { return real_.due(now, limit); }

  Result<std::optional<Timestamp>> next_due() override { return real_.next_due(); }

  Result<std::optional<IdempotencyEntry>> idempotency(std::string_view scope, std::string_view key) override {
    return real_.idempotency(scope, key);
  }

  Result<std::string> blob(const ArtifactId& id, std::uint64_t offset, std::uint64_t limit) override {
    return real_.blob(id, offset, limit);
  }

  Result<ArtifactInfo> artifact(const ArtifactId& id) override { return real_.artifact(id); }

  Result<std::vector<std::pair<std::string, std::string>>> definitions(std::string_view table,
                                                                       std::string_view prefix) override {
    return real_.definitions(table, prefix);
  }

  Result<ApprovalRow> approval(const RunId& run, const ApprovalId& id) override {
    return real_.approval(run, id);
  }

  Result<std::vector<ApprovalRow>> approvals(const ApprovalQuery& query) override {
    return real_.approvals(query);
  }

  Result<std::vector<OutboxEntry>> outbox(std::size_t limit) override { return real_.outbox(limit); }

  Result<std::vector<Hash>> snapshots() override { return real_.snapshots(); }

  Result<std::string> user_token(const RunId& run) override { return real_.user_token(run); }

  Result<std::vector<Result<Committed>>> commit(std::span<const Commit> batch) override {
    return real_.commit(batch);
  }

  JournalHealth health() override { return health_; }

  JournalHealth health_{true, "fsync", 1, 2};

 private:
  Journal& real_;
};

}  // namespace ratchet
