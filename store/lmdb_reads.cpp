// The reading half of `LmdbJournal`. Each read transaction is short: what it finds is copied out, and long
// walks are made in slices, because a reader that stays open keeps every page alive that was written over
// since.

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "store/lmdb_journal.hpp"
#include "store/pack.hpp"
#include "store/rules.hpp"
#include "store/run_reads.hpp"

namespace ratchet {

namespace {

constexpr std::size_t slice_keys = 4096;
constexpr std::size_t slice_rows = 256;

tl::unexpected<Error> walk_failed(const Txn& txn) {
  return tl::unexpected(lmdb_error(txn.failure(), "walking a table"));
}

/// Where a list goes on: backwards through `by_team` or `by_parent`, in slices.
struct Walk {
  Table table;
  std::string prefix;
  std::string before;  ///< the walk goes on before this key
  std::string since;   ///< and ends before this one

  Walk(const RunQuery& query, const RunRow* after)
      : table(query.parent_run_id ? Table::by_parent : Table::by_team) {
    const layout::Key start =
        query.parent_run_id ? layout::parent_prefix(*query.parent_run_id) : layout::team_prefix(query.team);
    prefix = std::string_view(start);
    before = prefix + std::string(25, '\xff');
    const auto key_at = [&](Timestamp at, const RunId& run) {
      return std::string(std::string_view(layout::listed_key(start, at, run)));
    };
    if (query.until) before = std::min(before, key_at(*query.until, RunId{}));
    if (after) before = std::min(before, key_at(after->created_at, after->run_id));
    since = query.since ? key_at(*query.since, RunId{}) : prefix;
  }
};

}  // namespace

// --- runs
// --------------------------------------------------------------------------------------------------

Result<RunRow> LmdbJournal::row(const RunId& run) {
  Txn txn(*environment_, Txn::Kind::read);
  return find_row(txn, run);
}

Result<std::vector<Record>> LmdbJournal::records(const RunId& run,
                                                 std::uint64_t from_seq,
                                                 std::size_t bytes_max) {
  Result<std::vector<std::string>> packed;
  {
    Txn txn(*environment_, Txn::Kind::read);
    packed = find_records(txn, run, from_seq, bytes_max);
  }
  if (!packed) return tl::unexpected(packed.error());
  std::vector<Record> records;
  records.reserve(packed->size());
  for (const std::string& bytes : *packed) {
    const auto unpacked = unpack_record(bytes);
    if (!unpacked) return quarantined(run, unpacked.error());
    auto record = decode_record(*unpacked);
    if (!record) return quarantined(run, record.error());
    records.push_back(std::move(*record));
  }
  return records;
}

Result<std::vector<RunRow>> LmdbJournal::list(const RunQuery& query) {
  std::optional<RunRow> after;
  if (query.after) {
    auto found = row(*query.after);
    if (!found && found.error().code != ErrorCode::unknown_run) return tl::unexpected(found.error());
    if (found) after = std::move(*found);
    if (auto valid = check_after(query, after ? &*after : nullptr); !valid)
      return tl::unexpected(valid.error());
  }
  std::vector<RunRow> rows;
  if (!is_team_name(query.team)) return rows;
  Walk walk(query, after ? &*after : nullptr);
  for (bool more = true; more && rows.size() < query.limit;) {
    Txn txn(*environment_, Txn::Kind::read);
    Cursor at(txn, walk.table);
    more = at.seek_before(walk.before);
    for (std::size_t i = 0; more && i < slice_rows && rows.size() < query.limit; ++i) {
      more = at.key().starts_with(walk.prefix) && at.key() >= walk.since;
      if (!more) break;
      walk.before = at.key();
      const auto entry = layout::read_time_and_run(at.key());
      // One damaged run must not hide all others: it is read by itself, told of, and passed over.
      auto found = entry ? row(entry->run) : tl::unexpected(entry.error());
      if (!found)
        passed_over(found.error());
      else if (matches(query, *found))
        rows.push_back(std::move(*found));
      more = at.previous();
    }
    if (txn.failure()) return walk_failed(txn);
  }
  return rows;
}

// --- indexes
// --------------------------------------------------------------------------------------------------

Result<std::vector<RunId>> LmdbJournal::active() {
  std::vector<RunId> runs;
  std::string from;
  for (bool more = true; more;) {
    Txn txn(*environment_, Txn::Kind::read);
    Cursor at(txn, Table::active);
    more = from.empty() ? at.first() : at.seek(from);
    for (std::size_t i = 0; more && i < slice_keys; ++i, more = at.next())
      if (const auto value = at.value(); !value)
        passed_over(value.error());
      else if (const auto entry = layout::read_time_and_run(at.key()))
        runs.push_back(entry->run);
    if (more) from = at.key();
    if (txn.failure()) return walk_failed(txn);
  }
  return runs;
}

Result<std::vector<RunId>> LmdbJournal::due(Timestamp now, std::size_t limit) {
  std::vector<RunId> runs;
  Txn txn(*environment_, Txn::Kind::read);
  Cursor at(txn, Table::due);
  for (bool more = at.first(); more && runs.size() < limit; more = at.next()) {
    const auto value = at.value();
    const auto entry = layout::read_time_and_run(at.key());
    if (!value || !entry) {
      passed_over(value ? entry.error() : value.error());
      continue;
    }
    if (entry->at > now) break;
    runs.push_back(entry->run);
  }
  if (txn.failure()) return walk_failed(txn);
  return runs;
}

Result<std::optional<Timestamp>> LmdbJournal::next_due() {
  Txn txn(*environment_, Txn::Kind::read);
  Cursor at(txn, Table::due);
  for (bool more = at.first(); more; more = at.next()) {
    const auto value = at.value();
    const auto entry = layout::read_time_and_run(at.key());
    if (value && entry) return entry->at;
    passed_over(value ? entry.error() : value.error());
  }
  if (txn.failure()) return walk_failed(txn);
  return std::nullopt;
}

Result<std::vector<OutboxEntry>> LmdbJournal::outbox(std::size_t limit) {
  std::vector<OutboxEntry> entries;
  Txn txn(*environment_, Txn::Kind::read);
  Cursor at(txn, Table::outbox);
  for (bool more = at.first(); more && entries.size() < limit; more = at.next()) {
    const auto value = at.value();
    auto entry = value ? decode_outbox(*value) : tl::unexpected(value.error());
    if (entry)
      entries.push_back(std::move(*entry));
    else
      passed_over(entry.error());
  }
  if (txn.failure()) return walk_failed(txn);
  return entries;
}

Result<std::vector<Hash>> LmdbJournal::snapshots() {
  std::set<std::array<std::uint8_t, 32>> found;  // runs share snapshots, and keys are in order of run
  std::string from;
  for (bool more = true; more;) {
    Txn txn(*environment_, Txn::Kind::read);
    Cursor at(txn, Table::snapshots);
    more = from.empty() ? at.first() : at.seek(from);
    for (std::size_t i = 0; more && i < slice_keys; ++i, more = at.next()) {
      const auto value = at.value();
      if (!value) return tl::unexpected(value.error());
      const auto key = layout::read_snapshot_key(at.key());
      if (!key) return tl::unexpected(key.error());
      found.insert(key->snapshot.bytes);
    }
    if (more) from = at.key();
    if (txn.failure()) return walk_failed(txn);
  }
  std::vector<Hash> snapshots;
  for (const auto& bytes : found)
    snapshots.push_back({bytes});
  return snapshots;
}

Result<std::optional<IdempotencyEntry>> LmdbJournal::idempotency(std::string_view scope,
                                                                 std::string_view key) {
  if (scope.size() + key.size() + 1 > limits::store_key_bytes_max) return std::nullopt;
  Txn txn(*environment_, Txn::Kind::read);
  const auto value = txn.get(Table::claims, layout::claim_key(scope, key));
  if (!value) return tl::unexpected(value.error());
  if (!*value) return std::nullopt;
  const auto entry = layout::read_claim(**value);
  if (!entry) return tl::unexpected(entry.error());
  return *entry;
}

Result<std::vector<std::pair<std::string, std::string>>> LmdbJournal::definitions(std::string_view table,
                                                                                  std::string_view prefix) {
  std::vector<std::pair<std::string, std::string>> found;
  if (table.size() + prefix.size() + 1 > limits::store_key_bytes_max) return found;
  const layout::Key from = layout::definition_key(table, prefix);
  Txn txn(*environment_, Txn::Kind::read);
  Cursor at(txn, Table::definitions);
  for (bool more = at.seek(from); more && at.key().starts_with(from); more = at.next()) {
    const auto value = at.value();
    if (!value) return tl::unexpected(value.error());
    found.emplace_back(at.key().substr(table.size() + 1), *value);
  }
  if (txn.failure()) return walk_failed(txn);
  return found;
}

// --- artifacts
// --------------------------------------------------------------------------------------------------

Result<JournalReader::ArtifactInfo> LmdbJournal::artifact(const ArtifactId& id) {
  Txn txn(*environment_, Txn::Kind::read);
  const auto value = txn.get(Table::artifacts, layout::artifact_key(id));
  if (!value) return tl::unexpected(value.error());
  if (!*value) return no_such_artifact(id);
  return layout::read_artifact(**value);
}

Result<std::string> LmdbJournal::blob(const ArtifactId& id, std::uint64_t offset, std::uint64_t limit) {
  const auto info = artifact(id);
  if (!info) return tl::unexpected(info.error());
  layout::StoredBlob blob;
  {
    Txn txn(*environment_, Txn::Kind::read);
    const auto value = txn.get(Table::blobs, layout::blob_key(info->run, info->ref.n));
    if (!value) return quarantined(info->run, value.error());
    if (!*value)
      return quarantined(info->run, {ErrorCode::corrupt, fmt::format("its blob {} is missing", info->ref.n)});
    auto stored = layout::read_blob(**value);
    if (!stored) return quarantined(info->run, stored.error());
    if (!stored->in_file)
      return std::string(stored->bytes.substr(std::min<std::uint64_t>(offset, stored->bytes.size()), limit));
    blob = std::move(*stored);
  }
  return files_.read(info->run, info->ref.n, blob, offset, limit);
}

}  // namespace ratchet
