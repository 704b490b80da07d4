#pragma once
// The journal on disk. One writer, any number of short readers; nothing of LMDB's memory leaves a call.

#include <atomic>
#include <chrono>

#include "store/batch.hpp"
#include "store/directory_lock.hpp"
#include "store/store.hpp"

namespace ratchet {

class LmdbJournal final : public Journal {
 public:
  static constexpr std::string_view file_name = "/journal.mdb";
  static constexpr std::string_view next_append_key = "next_append";  ///< in `meta`

  /// Errors: of `open_store`.
  static Result<std::unique_ptr<LmdbJournal>> open(const StoreOptions& options);
  /// Every commit is refused. Errors: of `open_store_for_reading`.
  static Result<std::unique_ptr<LmdbJournal>> open_for_reading(const std::string& data_dir);
  ~LmdbJournal() override;

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
  /// A journal that was opened for reading has no node key: store_unavailable.
  Result<std::string> user_token(const RunId& run) override;
  Result<std::vector<OutboxEntry>> outbox(std::size_t limit) override;
  Result<std::vector<Hash>> snapshots() override;

  Result<std::vector<Result<Committed>>> commit(std::span<const Commit> batch) override;
  JournalHealth health() override;

  /// Frees what readers of other processes held when they died; `commit` does it once a minute. Returns how
  /// many there were.
  int clear_stale_readers() { return environment_->clear_stale_readers(); }

  const Environment& environment() const { return *environment_; }

 private:
  using Outcomes = std::vector<Result<Committed>>;
  using Steady = std::chrono::steady_clock;

  LmdbJournal(StoreOptions options,
              std::optional<DirectoryLock> lock,
              std::unique_ptr<Environment> environment);

  Result<void> read_counter();
  Result<void> sweep_files();
  void take_node_key();
  bool has_room(std::size_t bytes) const;
  Result<Outcomes> commit_in_one(std::span<const Commit> batch);
  Error give_up(int code, std::size_t bytes);

  void passed_over(const Error& damage) const { options_.on_damage(damage); }

  StoreOptions options_;
  std::optional<DirectoryLock> lock_;  ///< none: opened for reading
  std::unique_ptr<Environment> environment_;
  BlobFiles files_;
  Result<NodeKey> node_key_;
  std::uint64_t next_append_ = 1;
  Steady::time_point readers_checked_;
  std::atomic<Steady::rep> no_room_at_ =
      Steady::time_point::min().time_since_epoch().count() / 2;  ///< when a commit last found none
};

}  // namespace ratchet
