#include "store/memory_journal.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "store/pack.hpp"
#include "store/rules.hpp"

namespace ratchet {

namespace {

auto key_of(const OutboxEntry& entry) {
  return std::tuple(entry.due_at, entry.run_id, entry.seq, entry.n);
}

}  // namespace

// --- writing
// --------------------------------------------------------------------------------------------------

Result<std::vector<Result<Committed>>> MemoryJournal::commit(std::span<const Commit> batch) {
  const std::lock_guard lock(mutex_);
  std::vector<Result<Committed>> outcomes;
  outcomes.reserve(batch.size());
  for (const Commit& commit : batch)
    outcomes.push_back(commit_one(commit));
  return outcomes;
}

Result<Committed> MemoryJournal::commit_one(const Commit& commit) {
  if (auto shape = check_shape(commit); !shape) return tl::unexpected(shape.error());
  if (commit.claim) {
    auto existing = check_claim(*commit.claim);
    if (!existing) return tl::unexpected(existing.error());
    if (*existing) return Committed{*existing};
  }
  if (auto checked = check(commit); !checked) return tl::unexpected(checked.error());

  for (const RunAppend& append : commit.runs)
    write(append);
  if (const auto& claim = commit.claim)
    claims_[{claim->scope, claim->key}] = {claim->run_id, claim->fingerprint};
  for (const DefinitionPut& put : commit.definitions)
    definitions_[{put.table, put.key}] = put.value;
  for (const OutboxUpdate& update : commit.outbox) {
    outbox_.erase(key_of(update.entry));
    if (update.again) outbox_[key_of(*update.again)] = *update.again;
  }
  return Committed{};
}

Result<std::optional<RunId>> MemoryJournal::check_claim(const IdempotencyClaim& claim) const {
  const auto found = claims_.find({claim.scope, claim.key});
  if (found == claims_.end()) return std::nullopt;
  if (found->second.fingerprint == claim.fingerprint) return found->second.run_id;
  return key_was_used(claim, found->second.run_id);
}

Result<void> MemoryJournal::check(const Commit& commit) const {
  for (const RunAppend& append : commit.runs) {
    const auto found = runs_.find(append.row.run_id);
    std::optional<Continuation> stored;
    if (found != runs_.end()) stored = {found->second.row.lease, found->second.row.last_seq};
    if (auto continues = check_continues(stored, append); !continues) return continues;
    if (auto takes = check_token(append); !takes) return takes;
    for (const Blob& blob : append.blobs)
      if (artifacts_.contains(blob.ref.id)) return artifact_exists(blob.ref.id);
  }
  for (const DefinitionPut& put : commit.definitions)
    if (put.must_be_new && definitions_.contains({put.table, put.key})) return definition_exists(put);
  return {};
}

Result<void> MemoryJournal::check_token(const RunAppend& append) const {
  const RunRow& row = append.row;
  if (!keeps_token(append) || row.run_id == row.root_run_id) return {};
  const auto root = runs_.find(row.root_run_id);
  if (root == runs_.end() || root->second.row.status == RunStatus::finished) return root_is_over(row);
  return {};
}

void MemoryJournal::write(const RunAppend& append) {
  const RunRow& row = append.row;
  Run& run = runs_[row.run_id];
  if (run.row.active) active_.erase({row.created_at, row.run_id});
  if (run.row.due_at) due_.erase({*run.row.due_at, row.run_id});
  if (row.active) active_.emplace(row.created_at, row.run_id);
  if (row.due_at) due_.emplace(*row.due_at, row.run_id);
  by_created_.emplace(row.created_at, row.run_id);
  run.row = row;
  if (append.events > 0) run.appends.push_back({append.first_seq, append.events, append.record});
  std::uint64_t seq = append.first_seq + append.events;
  for (const FurtherRecord& further : append.further) {
    run.appends.push_back({seq, further.events, further.record});
    seq += further.events;
  }
  for (const Blob& blob : append.blobs)
    artifacts_[blob.ref.id] = {row.run_id, blob};
  for (const ApprovalRow& approval : append.approvals)
    approvals_[{approval.approval_id, row.run_id}] = approval;
  for (const OutboxEntry& entry : append.outbox)
    outbox_[key_of(entry)] = entry;
  for (const Hash& snapshot : append.snapshots)
    snapshots_.insert(snapshot.bytes);
  if (keeps_token(append))
    user_tokens_[row.root_run_id] = *append.user_token;
  else if (ends_token(row))
    user_tokens_.erase(row.root_run_id);
}

// --- reading
// --------------------------------------------------------------------------------------------------

Result<RunRow> MemoryJournal::row(const RunId& run) {
  const std::lock_guard lock(mutex_);
  const auto found = runs_.find(run);
  if (found == runs_.end()) return no_such_run(run);
  return found->second.row;
}

Result<std::vector<Record>> MemoryJournal::records(const RunId& run,
                                                   std::uint64_t from_seq,
                                                   std::size_t bytes_max) {
  const std::lock_guard lock(mutex_);
  const auto found = runs_.find(run);
  if (found == runs_.end()) return no_such_run(run);
  std::vector<Record> records;
  std::size_t bytes = 0;
  for (const Append& append : found->second.appends) {
    if (append.first_seq + append.events <= from_seq) continue;
    auto unpacked = unpack_record(append.record);
    if (!unpacked) return tl::unexpected(unpacked.error());
    if (!records.empty() && bytes + unpacked->size() > bytes_max) break;
    auto record = decode_record(*unpacked);
    if (!record) return tl::unexpected(record.error());
    bytes += unpacked->size();
    records.push_back(std::move(*record));
  }
  return records;
}

Result<std::vector<RunRow>> MemoryJournal::list(const RunQuery& query) {
  const std::lock_guard lock(mutex_);
  auto at = by_created_.end();
  if (query.after) {
    const auto after = runs_.find(*query.after);
    auto valid = check_after(query, after == runs_.end() ? nullptr : &after->second.row);
    if (!valid) return tl::unexpected(valid.error());
    at = by_created_.find({after->second.row.created_at, *query.after});
  }
  std::vector<RunRow> rows;
  while (at != by_created_.begin() && rows.size() < query.limit) {
    const RunRow& row = runs_.at((--at)->second).row;
    if (matches(query, row)) rows.push_back(row);
  }
  return rows;
}

Result<std::vector<RunId>> MemoryJournal::active() {
  const std::lock_guard lock(mutex_);
  std::vector<RunId> runs;
  for (const auto& [created_at, run] : active_)
    runs.push_back(run);
  return runs;
}

Result<std::vector<RunId>> MemoryJournal::due(Timestamp now, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<RunId> runs;
  for (auto at = due_.begin(); at != due_.end() && at->first <= now && runs.size() < limit; ++at)
    runs.push_back(at->second);
  return runs;
}

Result<std::optional<Timestamp>> MemoryJournal::next_due() {
  const std::lock_guard lock(mutex_);
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

Result<std::optional<IdempotencyEntry>> MemoryJournal::idempotency(std::string_view scope,
                                                                   std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = claims_.find({std::string(scope), std::string(key)});
  if (found == claims_.end()) return std::nullopt;
  return found->second;
}

Result<std::string> MemoryJournal::blob(const ArtifactId& id, std::uint64_t offset, std::uint64_t limit) {
  const std::lock_guard lock(mutex_);
  const auto found = artifacts_.find(id);
  if (found == artifacts_.end()) return no_such_artifact(id);
  const std::string& bytes = found->second.blob.bytes;
  return bytes.substr(std::min<std::uint64_t>(offset, bytes.size()), limit);
}

Result<JournalReader::ArtifactInfo> MemoryJournal::artifact(const ArtifactId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = artifacts_.find(id);
  if (found == artifacts_.end()) return no_such_artifact(id);
  return ArtifactInfo{found->second.run, found->second.blob.ref};
}

Result<std::vector<std::pair<std::string, std::string>>> MemoryJournal::definitions(std::string_view table,
                                                                                    std::string_view prefix) {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::string>> found;
  for (auto at = definitions_.lower_bound({std::string(table), std::string(prefix)});
       at != definitions_.end() && at->first.first == table && at->first.second.starts_with(prefix);
       ++at)
    found.emplace_back(at->first.second, at->second);
  return found;
}

Result<ApprovalRow> MemoryJournal::approval(const RunId& run, const ApprovalId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = approvals_.find({id, run});
  if (found == approvals_.end()) return no_such_approval(run, id);
  return found->second;
}

Result<std::vector<ApprovalRow>> MemoryJournal::approvals(const ApprovalQuery& query) {
  const std::lock_guard lock(mutex_);
  auto at = query.after ? approvals_.lower_bound({*query.after, RunId{}}) : approvals_.end();
  std::vector<ApprovalRow> rows;
  while (at != approvals_.begin() && rows.size() < query.limit)
    if (--at; matches(query, at->second) && (!query.run_id || is_within(at->second.run_id, *query.run_id)))
      rows.push_back(at->second);
  return rows;
}

bool MemoryJournal::is_within(RunId run, const RunId& top) const {
  while (run != top) {
    const auto found = runs_.find(run);
    if (found == runs_.end() || !found->second.row.parent_run_id) return false;
    run = *found->second.row.parent_run_id;
  }
  return true;
}

Result<std::string> MemoryJournal::user_token(const RunId& run) {
  const std::lock_guard lock(mutex_);
  const auto stored = runs_.find(run);
  if (stored == runs_.end() || stored->second.row.status == RunStatus::finished) return no_user_token(run);
  const auto found = user_tokens_.find(stored->second.row.root_run_id);
  if (found == user_tokens_.end()) return no_user_token(run);
  return found->second;
}

Result<std::vector<OutboxEntry>> MemoryJournal::outbox(std::size_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<OutboxEntry> entries;
  for (auto at = outbox_.begin(); at != outbox_.end() && entries.size() < limit; ++at)
    entries.push_back(at->second);
  return entries;
}

Result<std::vector<Hash>> MemoryJournal::snapshots() {
  const std::lock_guard lock(mutex_);
  std::vector<Hash> found;
  for (const auto& bytes : snapshots_)
    found.push_back({bytes});
  return found;
}

JournalHealth MemoryJournal::health() {
  return {.writable = true, .durability = "memory", .bytes_used = 0, .bytes_free = 0};
}

}  // namespace ratchet
