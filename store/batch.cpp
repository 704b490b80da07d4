#include "store/batch.hpp"

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "store/rules.hpp"
#include "store/run_reads.hpp"

namespace ratchet {

using layout::StoredRun;

Result<Committed> Batch::apply(const Commit& commit) {
  if (auto shape = check_shape(commit); !shape) return tl::unexpected(shape.error());
  if (commit.claim) {
    auto holder = find_holder(*commit.claim);
    if (!holder) return tl::unexpected(holder.error());
    if (*holder) return Committed{*holder};
  }
  if (auto checked = check(commit); !checked) return tl::unexpected(checked.error());

  for (std::size_t i = 0; i < commit.runs.size(); ++i)
    write(commit.runs[i], before_[i]);
  if (const auto& claim = commit.claim)
    txn_.put(Table::claims,
             layout::claim_key(claim->scope, claim->key),
             {layout::write_claim({claim->run_id, claim->fingerprint})});
  for (const DefinitionPut& put : commit.definitions)
    txn_.put(Table::definitions, layout::definition_key(put.table, put.key), {put.value});
  for (const OutboxUpdate& update : commit.outbox) {
    txn_.erase(Table::outbox, layout::outbox_key(update.entry));
    if (update.again) put_outbox(*update.again);
  }
  return Committed{};
}

// --- looking
// --------------------------------------------------------------------------------------------------

Result<std::optional<RunId>> Batch::find_holder(const IdempotencyClaim& claim) {
  const auto value = txn_.get(Table::claims, layout::claim_key(claim.scope, claim.key));
  if (!value) return tl::unexpected(value.error());
  if (!*value) return std::nullopt;
  const auto entry = layout::read_claim(**value);
  if (!entry) return tl::unexpected(entry.error());
  if (entry->fingerprint != claim.fingerprint) return key_was_used(claim, entry->run_id);
  return entry->run_id;
}

Result<void> Batch::check(const Commit& commit) {
  before_.clear();
  for (const RunAppend& append : commit.runs)
    if (auto checked = check_run(append); !checked) return checked;
  for (const DefinitionPut& put : commit.definitions)
    if (put.must_be_new && txn_.contains(Table::definitions, layout::definition_key(put.table, put.key)))
      return definition_exists(put);
  return {};
}

Result<void> Batch::check_run(const RunAppend& append) {
  const RunId& run = append.row.run_id;
  const auto value = txn_.get(Table::runs, layout::run_key(run));
  if (!value) return quarantined(run, value.error());
  std::optional<Continuation> continuation;
  auto& before = before_.emplace_back();
  if (*value) {
    auto stored = layout::read_run(**value);
    if (!stored) return quarantined(run, stored.error());
    before = *stored;
    continuation = {stored->lease, stored->last_seq};
  }
  if (auto continues = check_continues(continuation, append); !continues) return continues;
  if (keeps_token(append))
    if (auto takes = check_token(append.row); !takes) return takes;
  for (const Blob& blob : append.blobs) {
    if (txn_.contains(Table::artifacts, layout::artifact_key(blob.ref.id)))
      return artifact_exists(blob.ref.id);
    if (txn_.contains(Table::blobs, layout::blob_key(run, blob.ref.n)))
      return fail(ErrorCode::conflict, fmt::format("{} has a blob {}", to_string(run), blob.ref.n));
  }
  return {};
}

/// A tree's token is its root's. That of a root that is over, or is not there, would never be deleted.
Result<void> Batch::check_token(const RunRow& row) {
  if (!node_key_) return tl::unexpected(node_key_.error());
  if (row.run_id == row.root_run_id) return {};
  const auto root = find_row(txn_, row.root_run_id);
  if (!root && root.error().code != ErrorCode::unknown_run) return tl::unexpected(root.error());
  if (root && root->status != RunStatus::finished) return {};
  return root_is_over(row);
}

// --- writing
// --------------------------------------------------------------------------------------------------

void Batch::write(const RunAppend& append, const std::optional<StoredRun>& before) {
  const RunRow& row = append.row;
  StoredRun after;
  if (before) after.latest = before->latest;
  if (append.events > 0) write_events(append, after.latest);
  write_indexes(row, before);
  write_blobs(append);
  write_approvals(append);
  write_token(append);
  for (const OutboxEntry& entry : append.outbox)
    put_outbox(entry);
  for (const Hash& snapshot : append.snapshots)
    txn_.put(Table::snapshots, layout::snapshot_key(row.run_id, snapshot), {});

  after.lease = row.lease;
  after.last_seq = row.last_seq;
  after.active = row.active;
  after.due_at = row.due_at;
  head_.clear();
  layout::write_run_head(after, head_);
  txn_.put(Table::runs, layout::run_key(row.run_id), {head_, encode_row(row)});
}

void Batch::write_events(const RunAppend& append, layout::AppendList& latest) {
  const RunId& run = append.row.run_id;
  std::uint64_t seq = append.first_seq;
  write_record(run, seq, append.events, append.record, latest);
  seq += append.events;
  for (const FurtherRecord& further : append.further) {
    write_record(run, seq, further.events, further.record, latest);
    seq += further.events;
  }
}

void Batch::write_record(const RunId& run,
                         std::uint64_t first_seq,
                         std::uint32_t events,
                         std::string_view record,
                         layout::AppendList& latest) {
  if (latest.full()) {
    head_.clear();
    latest.write(head_);
    txn_.put(Table::chunks, layout::chunk_key(run, latest.refs().front().first_seq), {head_});
    latest.clear();
  }
  latest.push({next_append_, first_seq, events});
  txn_.put(Table::events,
           layout::event_key(next_append_),
           {layout::events_head(run, first_seq, events), record},
           true);
  ++next_append_;
}

/// Only what changed: an index page that stays as it is costs nothing.
void Batch::write_indexes(const RunRow& row, const std::optional<StoredRun>& before) {
  if (!before) {
    txn_.put(
        Table::by_team, layout::listed_key(layout::team_prefix(row.team), row.created_at, row.run_id), {});
    if (row.parent_run_id)
      txn_.put(Table::by_parent,
               layout::listed_key(layout::parent_prefix(*row.parent_run_id), row.created_at, row.run_id),
               {});
  }
  const bool was_active = before && before->active;
  if (row.active && !was_active) txn_.put(Table::active, layout::active_key(row.created_at, row.run_id), {});
  if (!row.active && was_active) txn_.erase(Table::active, layout::active_key(row.created_at, row.run_id));

  const std::optional<Timestamp> due_before = before ? before->due_at : std::nullopt;
  if (row.due_at == due_before) return;
  if (due_before) txn_.erase(Table::due, layout::due_key(*due_before, row.run_id));
  if (row.due_at) txn_.put(Table::due, layout::due_key(*row.due_at, row.run_id), {});
}

void Batch::write_blobs(const RunAppend& append) {
  const RunId& run = append.row.run_id;
  for (const Blob& blob : append.blobs) {
    const auto key = layout::blob_key(run, blob.ref.n);
    if (blob.bytes.size() > limits::blob_file_bytes_min) {
      if (failure()) return;
      file_failure_ = files_.write(run, blob.ref.n, blob.bytes);
      txn_.put(Table::blobs, key, {layout::write_blob_file(blob.bytes.size(), part_checksums(blob.bytes))});
    } else {
      txn_.put(Table::blobs, key, {layout::blob_inline_mark, blob.bytes});
    }
    txn_.put(Table::artifacts, layout::artifact_key(blob.ref.id), {layout::write_artifact(run, blob.ref)});
  }
}

/// The row before is not looked at: wherever its index entry was, there is one afterwards.
void Batch::write_approvals(const RunAppend& append) {
  for (const ApprovalRow& row : append.approvals) {
    ApprovalRow other = row;
    for (std::uint64_t i = 0; const auto status = enum_at<ApprovalStatus>(i); ++i) {
      other.status = *status;
      if (other.status != row.status)
        txn_.erase(Table::approvals_by_status, layout::listed_approval_key(other));
    }
    txn_.put(Table::approvals_by_status, layout::listed_approval_key(row), {});
    txn_.put(Table::approvals, layout::approval_key(row.run_id, row.approval_id), {encode_approval(row)});
  }
}

void Batch::put_outbox(const OutboxEntry& entry) {
  txn_.put(Table::outbox, layout::outbox_key(entry), {encode_outbox(entry)});
}

void Batch::write_token(const RunAppend& append) {
  const RunId& root = append.row.root_run_id;
  if (keeps_token(append))
    txn_.put(Table::secrets, layout::run_key(root), {node_key_->seal(root, *append.user_token)});
  else if (ends_token(append.row))
    txn_.erase(Table::secrets, layout::run_key(root));
}

}  // namespace ratchet
