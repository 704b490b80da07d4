#pragma once
// Keys and values of the tables, byte by byte: docs/store-format.md in code. Numbers in keys are big-endian,
// so that LMDB's order of bytes is their order.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/content.hpp"
#include "runtime/journal.hpp"

namespace ratchet::layout {

/// A key under construction, on the stack.
class Key {
 public:
  Key() = default;

  Key& add(std::string_view bytes);

  Key& add(const Ulid& ulid) { return add(ulid.view()); }

  Key& add_u32(std::uint32_t number);
  Key& add_u64(std::uint64_t number);

  /// Times before 1970 sort before those after it.
  Key& add(Timestamp at) { return add_u64(static_cast<std::uint64_t>(at.us) ^ (1ull << 63)); }

  operator std::string_view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 511> bytes_;
  std::size_t size_ = 0;
};

// --- keys
// --------------------------------------------------------------------------------------------------

Key event_key(std::uint64_t append);
Key run_key(const RunId& run);
Key chunk_key(const RunId& run, std::uint64_t first_seq);
Key active_key(Timestamp created_at, const RunId& run);
Key due_key(Timestamp due_at, const RunId& run);
Key team_prefix(std::string_view team);
Key parent_prefix(const RunId& parent);
/// Of `by_team` and `by_parent`, after their prefix.
Key listed_key(const Key& prefix, Timestamp created_at, const RunId& run);
Key claim_key(std::string_view scope, std::string_view key);
Key artifact_key(const ArtifactId& id);
Key blob_key(const RunId& run, std::uint32_t n);
Key definition_key(std::string_view table, std::string_view key);
Key approval_key(const RunId& run, const ApprovalId& approval);
Key approvals_prefix(std::string_view team, ApprovalStatus status);
/// Of `approvals_by_status`.
Key listed_approval_key(const ApprovalRow& row);

Key outbox_key(const OutboxEntry& entry);
Key snapshot_key(const RunId& run, const Hash& snapshot);

struct TimeAndRun {
  Timestamp at;
  RunId run;
};

/// The last 24 bytes of a key of `active`, `due`, `by_team` or `by_parent`. Errors: corrupt.
Result<TimeAndRun> read_time_and_run(std::string_view key);

struct RunAndApproval {
  RunId run;
  ApprovalId approval;
};

/// A key of `approvals`. Errors: corrupt.
Result<RunAndApproval> read_approval_key(std::string_view key);
/// The last 32 bytes of a key of `approvals_by_status`. Errors: corrupt.
Result<RunAndApproval> read_listed_approval_key(std::string_view key);

struct RunAndSnapshot {
  RunId run;
  Hash snapshot;
};

/// A key of `snapshots`. Errors: corrupt.
Result<RunAndSnapshot> read_snapshot_key(std::string_view key);
/// Errors: corrupt.
Result<RunId> read_run_key(std::string_view key);
std::uint64_t read_event_key(std::string_view key);
std::uint32_t read_blob_number(std::string_view key);

// --- events
// --------------------------------------------------------------------------------------------------

/// The value of one append.
struct StoredEvents {
  RunId run;
  std::uint64_t first_seq = 0;
  std::uint32_t events = 0;
  std::string_view packed;
};

std::string events_head(const RunId& run, std::uint64_t first_seq, std::uint32_t events);
/// Errors: corrupt.
Result<StoredEvents> read_events(std::string_view value);

// --- runs
// --------------------------------------------------------------------------------------------------

/// Where one append is.
struct AppendRef {
  std::uint64_t append = 0;
  std::uint64_t first_seq = 0;
  std::uint32_t events = 0;
};

/// Consecutive appends of one run, oldest first. The latest stand in the run's value; when they are too
/// many there, all move to one chunk.
class AppendList {
 public:
  static constexpr std::size_t size_max = 32;

  bool full() const { return size_ == size_max; }

  bool empty() const { return size_ == 0; }

  void push(const AppendRef& ref);

  void clear() { size_ = 0; }

  std::span<const AppendRef> refs() const { return {refs_.data(), size_}; }

  void write(std::string& out) const;
  /// Returns what was wrong, or nullptr.
  const char* read(std::string_view& bytes);

 private:
  std::array<AppendRef, size_max> refs_;
  std::size_t size_ = 0;
};

/// The value of a run: what the store itself needs to know, and the encoded `RunRow`.
struct StoredRun {
  std::uint32_t lease = 0;
  std::uint64_t last_seq = 0;
  bool active = false;
  std::optional<Timestamp> due_at;
  AppendList latest;
  std::string_view row;
};

/// Appends all but the row.
void write_run_head(const StoredRun& run, std::string& out);
/// Errors: corrupt.
Result<StoredRun> read_run(std::string_view value);
/// Errors: corrupt.
Result<AppendList> read_chunk(std::string_view value);

// --- claims, artifacts, blobs
// --------------------------------------------------------------------------------------------------

std::string write_claim(const IdempotencyEntry& entry);
/// Errors: corrupt.
Result<IdempotencyEntry> read_claim(std::string_view value);

std::string write_artifact(const RunId& run, const ArtifactRef& ref);
/// Errors: corrupt.
Result<JournalReader::ArtifactInfo> read_artifact(std::string_view value);

/// Where a blob's bytes are: in the value, or in a file of which each part has a checksum.
struct StoredBlob {
  bool in_file = false;
  std::string_view bytes;
  std::uint64_t file_bytes = 0;
  std::vector<std::uint32_t> part_checksums;
};

inline constexpr std::size_t blob_part_bytes = 1u << 20;

std::string write_blob_file(std::uint64_t bytes, const std::vector<std::uint32_t>& part_checksums);
inline constexpr std::string_view blob_inline_mark{"\0", 1};
/// Errors: corrupt.
Result<StoredBlob> read_blob(std::string_view value);

}  // namespace ratchet::layout
