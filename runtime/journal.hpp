#pragma once
// The journal: the only thing that is remembered. Writes come as commits, each atomic, many to one durable
// transaction. Rows, indexes and blobs are written in the transaction of the events they follow from.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/event/codec.hpp"
#include "runtime/hash.hpp"
#include "runtime/run/approval_row.hpp"
#include "runtime/run/outbox.hpp"
#include "runtime/run/row.hpp"

namespace ratchet {

/// Bytes of an artifact, written with the append that refers to it.
struct Blob {
  ArtifactRef ref;
  std::string bytes;
};

/// A record that follows the first one of an append.
struct FurtherRecord {
  std::uint32_t events = 0;
  std::string record;  ///< as `RunAppend::record`
};

/// The next events of one run. Refused with `stale_lease` or `conflict` unless `row.lease` and `first_seq`
/// continue what is stored. `record` is the encoded `Record`, compressed or not by the writer of this struct
/// with `pack`.
struct RunAppend {
  std::uint64_t first_seq = 0;  ///< 1: the run is new and its row must not exist
  std::uint32_t events = 0;     ///< how many the record holds; 0: only the row changes (an activation)
  std::string record;
  RunRow row;  ///< as it is after these events
  std::vector<Blob> blobs = {};
  std::vector<ApprovalRow> approvals = {};     ///< that these events ask for or decide
  std::vector<OutboxEntry> outbox = {};        ///< that the outside is to be told of these events
  std::vector<Hash> snapshots = {};            ///< of the run's workspace, that these events name
  std::vector<FurtherRecord> further = {};     ///< of a run that is written whole: its other records
  std::optional<std::string> user_token = {};  ///< to be sealed in place of the one of the run's root;
                                               ///< deleted with the append that finishes the root
};

/// A client's key for a request that creates something. Scope and key together are unique.
struct IdempotencyClaim {
  std::string scope;  ///< the team
  std::string key;    ///< 1 to 255 bytes
  Hash fingerprint;   ///< of the request, without secrets
  RunId run_id;
};

/// A stored definition: `table` is "tool" or "agent", `key` sorts versions of one thing together.
struct DefinitionPut {
  std::string table, key, value;
  bool must_be_new = false;  ///< conflict, if the key exists
};

/// An entry of the outbox was delivered or given up, or is to be tried again later: `again` takes its place.
struct OutboxUpdate {
  OutboxEntry entry;
  std::optional<OutboxEntry> again;
};

struct Commit {
  std::vector<RunAppend> runs;
  std::optional<IdempotencyClaim> claim;
  std::vector<DefinitionPut> definitions;
  bool reserve = false;  ///< may use the space that is kept free for cancels
  std::vector<OutboxUpdate> outbox = {};
};

/// What became of one commit. `existing` is set where the claim was taken before with the same fingerprint:
/// nothing of the commit was written, and this is the run that holds the key. Another fingerprint is
/// `idempotency_conflict`.
struct Committed {
  std::optional<RunId> existing;
};

struct RunQuery {
  std::string team;
  std::optional<RunStatus> status;
  std::string agent_id, user_id;
  std::optional<RunId> parent_run_id;
  std::optional<StopReason> stop_reason;
  std::optional<Timestamp> since, until;  ///< of created_at: since <= t < until
  std::optional<RunId> after;             ///< the last run of the page before; newest first
  std::size_t limit = 50;
};

struct ApprovalQuery {
  std::string team;
  std::optional<ApprovalStatus> status;
  std::optional<RunId> run_id;      ///< and all runs below it
  std::optional<ApprovalId> after;  ///< the last approval of the page before; newest first
  std::size_t limit = 50;
};

struct IdempotencyEntry {
  RunId run_id;
  Hash fingerprint;
};

/// Read from any thread, each call a short read of its own. Errors of all: corrupt (the run is quarantined,
/// others go on), store_unavailable.
class JournalReader {
 public:
  virtual ~JournalReader() = default;
  /// Errors: unknown_run.
  virtual Result<RunRow> row(const RunId& run) = 0;
  /// Whole records from the one that holds `from_seq` on, at most about `bytes_max` of them (at least one).
  /// Errors: unknown_run.
  virtual Result<std::vector<Record>> records(const RunId& run,
                                              std::uint64_t from_seq,
                                              std::size_t bytes_max) = 0;
  virtual Result<std::vector<RunRow>> list(const RunQuery& query) = 0;
  /// Runs that are queued or running and so need an actor, oldest first.
  virtual Result<std::vector<RunId>> active() = 0;
  /// Runs whose `due_at` is not after `now`, earliest first.
  virtual Result<std::vector<RunId>> due(Timestamp now, std::size_t limit) = 0;
  /// The earliest `due_at` there is.
  virtual Result<std::optional<Timestamp>> next_due() = 0;
  virtual Result<std::optional<IdempotencyEntry>> idempotency(std::string_view scope,
                                                              std::string_view key) = 0;
  /// Errors: unknown_artifact.
  virtual Result<std::string> blob(const ArtifactId& id, std::uint64_t offset, std::uint64_t limit) = 0;

  struct ArtifactInfo {
    RunId run;
    ArtifactRef ref;
  };

  virtual Result<ArtifactInfo> artifact(const ArtifactId& id) = 0;
  /// Errors: unknown_approval.
  virtual Result<ApprovalRow> approval(const RunId& run, const ApprovalId& id) = 0;
  virtual Result<std::vector<ApprovalRow>> approvals(const ApprovalQuery& query) = 0;
  /// The token of the user of the run's root, unsealed. A secret: for the request of a call, and nothing
  /// else. Errors: not_found, where there is none or the run has finished.
  virtual Result<std::string> user_token(const RunId& run) = 0;
  /// The entries of the outbox, the one due first before all others. A damaged one is told of and passed
  /// over.
  virtual Result<std::vector<OutboxEntry>> outbox(std::size_t limit) = 0;
  /// Every workspace snapshot that an event names, each once, in order. What is not among them may be
  /// removed, so nothing is passed over here: one damaged entry is `corrupt` for all.
  virtual Result<std::vector<Hash>> snapshots() = 0;
  /// Pairs of key and value with this prefix, in order of key.
  virtual Result<std::vector<std::pair<std::string, std::string>>> definitions(std::string_view table,
                                                                               std::string_view prefix) = 0;
};

/// What an acknowledged commit survives.
RATCHET_ENUM(Durability,
             fsync,  // a power cut
             os)     // the death of the process; a power cut can damage the whole store

/// Space and health, for `/readyz` and metrics.
struct JournalHealth {
  bool writable = true;
  std::string durability;  ///< "fsync" or "os"
  std::uint64_t bytes_used = 0;
  std::uint64_t bytes_free = 0;
};

class Journal : public JournalReader {
 public:
  /// Writes all commits in one transaction and returns when it is durable: one outcome for each, in order.
  /// Called by the journal writer's thread only. Errors of the whole: store_unavailable, when space runs low:
  /// nothing was written, try again later. Any other failure of the disk ends the process, because what a
  /// failed fsync left is unknown.
  virtual Result<std::vector<Result<Committed>>> commit(std::span<const Commit> batch) = 0;
  virtual JournalHealth health() = 0;
};

/// Compresses a record for `RunAppend::record`, on the caller's thread. The first byte tells the form.
using RecordPacker = std::string (*)(std::string_view record);

}  // namespace ratchet
