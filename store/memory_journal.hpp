#pragma once
// A journal that forgets: the same contract as the one on disk, for tests and the simulator. It keeps what
// it was given in ordered maps, so that what it answers does not depend on addresses or hashing.

#include <array>
#include <map>
#include <mutex>
#include <set>

#include "runtime/journal.hpp"

namespace ratchet {

/// Called from any thread. What is committed stays as long as the object: hand it to a new node to simulate a
/// restart.
class MemoryJournal final : public Journal {
 public:
  Result<RunRow> row(const RunId& run) override;
  Result<std::vector<Record>> records(const RunId& run,
                                      std::uint64_t from_seq,
                                      std::size_t bytes_max) override;
  Result<std::vector<RunRow>> list(const RunQuery& query) override;
  Result<std::vector<RunId>> active() override;
  Result<std::vector<RunId>> due(Timestamp now, std::size_t limit) override;
  Result<std::optional<Timestamp>> next_due() override;
  Result<std::optional<IdempotencyEntry>> idempotency(std::string_view scope, std::string_view key) override;
  Result<std::string> blob(const ArtifactId& id, std::uint64_t offset, std::uint64_t limit) override;
  Result<ArtifactInfo> artifact(const ArtifactId& id) override;
  Result<std::vector<std::pair<std::string, std::string>>> definitions(std::string_view table,
                                                                       std::string_view prefix) override;
  Result<ApprovalRow> approval(const RunId& run, const ApprovalId& id) override;
  Result<std::vector<ApprovalRow>> approvals(const ApprovalQuery& query) override;
  Result<std::string> user_token(const RunId& run) override;
  Result<std::vector<OutboxEntry>> outbox(std::size_t limit) override;
  Result<std::vector<Hash>> snapshots() override;
  Result<std::vector<Result<Committed>>> commit(std::span<const Commit> batch) override;
  JournalHealth health() override;

 private:
  struct Append {
    std::uint64_t first_seq;
    std::uint32_t events;
    std::string record;
  };

  struct Run {
    RunRow row;
    std::vector<Append> appends;
  };

  struct StoredBlob {
    RunId run;
    Blob blob;
  };

  using ByTime = std::set<std::pair<Timestamp, RunId>>;

  Result<Committed> commit_one(const Commit& commit);
  Result<std::optional<RunId>> check_claim(const IdempotencyClaim& claim) const;
  Result<void> check(const Commit& commit) const;
  Result<void> check_token(const RunAppend& append) const;
  /// Whether `run` is `top`, or below it.
  bool is_within(RunId run, const RunId& top) const;
  void write(const RunAppend& append);

  std::mutex mutex_;
  std::map<RunId, Run> runs_;
  ByTime by_created_, active_, due_;
  std::map<std::pair<std::string, std::string>, IdempotencyEntry> claims_;
  std::map<ArtifactId, StoredBlob> artifacts_;
  std::map<std::pair<std::string, std::string>, std::string> definitions_;
  std::map<std::pair<ApprovalId, RunId>, ApprovalRow> approvals_;
  std::map<RunId, std::string> user_tokens_;
  std::set<std::array<std::uint8_t, 32>> snapshots_;
  std::map<std::tuple<Timestamp, RunId, std::uint64_t, std::uint32_t>, OutboxEntry> outbox_;
};

}  // namespace ratchet
