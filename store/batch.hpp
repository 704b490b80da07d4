#pragma once
// Commits on their way into one transaction. Each is looked at as a whole before anything of it is written,
// with what earlier commits of the transaction wrote in sight; so one that is refused leaves no trace.

#include <optional>
#include <string>
#include <vector>

#include "runtime/journal.hpp"
#include "store/blob_files.hpp"
#include "store/environment.hpp"
#include "store/layout.hpp"
#include "store/node_key.hpp"

namespace ratchet {

class Batch {
 public:
  /// `next_append` is the number that the next append gets. Without a node key, commits that bring a user
  /// token are refused with its error.
  Batch(Txn& txn, BlobFiles& files, const Result<NodeKey>& node_key, std::uint64_t next_append)
      : txn_(txn), files_(files), node_key_(node_key), next_append_(next_append) {}

  /// The commit's outcome. If `failure` is set afterwards, nothing of the transaction can be used.
  Result<Committed> apply(const Commit& commit);

  /// The first failure of the transaction or of a blob's file: an errno or an LMDB code, or 0.
  int failure() const { return txn_.failure() ? txn_.failure() : file_failure_; }

  std::uint64_t next_append() const { return next_append_; }

 private:
  Result<std::optional<RunId>> find_holder(const IdempotencyClaim& claim);
  Result<void> check(const Commit& commit);
  Result<void> check_run(const RunAppend& append);
  Result<void> check_token(const RunRow& row);
  void write(const RunAppend& append, const std::optional<layout::StoredRun>& before);
  void write_events(const RunAppend& append, layout::AppendList& latest);
  void write_record(const RunId& run,
                    std::uint64_t first_seq,
                    std::uint32_t events,
                    std::string_view record,
                    layout::AppendList& latest);
  void write_indexes(const RunRow& row, const std::optional<layout::StoredRun>& before);
  void write_blobs(const RunAppend& append);
  void write_approvals(const RunAppend& append);
  void write_token(const RunAppend& append);
  void put_outbox(const OutboxEntry& entry);

  Txn& txn_;
  BlobFiles& files_;
  const Result<NodeKey>& node_key_;
  std::uint64_t next_append_;
  int file_failure_ = 0;
  /// Of the commit at hand: its runs as they are stored, in its order. Their `row` views are not used.
  std::vector<std::optional<layout::StoredRun>> before_;
  std::string head_;  ///< kept for its memory
};

}  // namespace ratchet
