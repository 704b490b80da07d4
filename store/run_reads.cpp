#include "store/run_reads.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "store/pack.hpp"
#include "store/rules.hpp"

namespace ratchet {

namespace {

/// Gathers packed records of one run from `from_seq` on, until there are about enough bytes of them.
class Gatherer {
 public:
  Gatherer(Txn& txn, const RunId& run, std::uint64_t from_seq, std::size_t bytes_max)
      : txn_(txn), run_(run), from_seq_(from_seq), bytes_left_(bytes_max) {}

  Result<void> gather() {
    const auto stored = find_run(txn_, run_);
    if (!stored) return tl::unexpected(stored.error());
    const auto latest = stored->latest.refs();
    if (!latest.empty() && from_seq_ < latest.front().first_seq)
      if (auto gathered = from_chunks(); !gathered) return gathered;
    return from_refs(latest);
  }

  std::vector<std::string>& packed() { return packed_; }

 private:
  Result<void> from_chunks() {
    Cursor at(txn_, Table::chunks);
    // The last chunk that begins at `from_seq` or before it; there is none before the first.
    bool more = at.seek_before(layout::chunk_key(run_, from_seq_ + 1)) && is_ours(at);
    if (!more) more = at.seek(layout::chunk_key(run_, 0)) && is_ours(at);
    for (; more && !full_; more = at.next() && is_ours(at)) {
      const auto value = at.value();
      if (!value) return quarantined(run_, value.error());
      const auto chunk = layout::read_chunk(*value);
      if (!chunk) return quarantined(run_, chunk.error());
      if (auto gathered = from_refs(chunk->refs()); !gathered) return gathered;
    }
    if (txn_.failure()) return quarantined(run_, lmdb_error(txn_.failure(), "walking its chunks"));
    return {};
  }

  bool is_ours(const Cursor& at) const { return at.key().starts_with(run_.ulid.view()); }

  Result<void> from_refs(std::span<const layout::AppendRef> refs) {
    for (const layout::AppendRef& ref : refs) {
      if (full_) return {};
      if (ref.first_seq + ref.events <= from_seq_) continue;
      if (auto gathered = from_append(ref); !gathered) return quarantined(run_, gathered.error());
    }
    return {};
  }

  Result<void> from_append(const layout::AppendRef& ref) {
    const auto value = txn_.get(Table::events, layout::event_key(ref.append));
    if (!value) return tl::unexpected(value.error());
    if (!*value) return fail(ErrorCode::corrupt, fmt::format("append {} is missing", ref.append));
    const auto stored = layout::read_events(**value);
    if (!stored) return tl::unexpected(stored.error());
    if (stored->run != run_ || stored->first_seq != ref.first_seq || stored->events != ref.events)
      return fail(ErrorCode::corrupt, fmt::format("append {} holds other events", ref.append));
    const auto bytes = unpacked_size(stored->packed);
    if (!bytes) return tl::unexpected(bytes.error());
    full_ = *bytes > bytes_left_;
    if (full_ && !packed_.empty()) return {};
    bytes_left_ -= std::min(bytes_left_, *bytes);
    packed_.emplace_back(stored->packed);
    return {};
  }

  Txn& txn_;
  RunId run_;
  std::uint64_t from_seq_;
  std::size_t bytes_left_;
  bool full_ = false;
  std::vector<std::string> packed_;
};

}  // namespace

Result<layout::StoredRun> find_run(Txn& txn, const RunId& run) {
  const auto value = txn.get(Table::runs, layout::run_key(run));
  if (!value) return quarantined(run, value.error());
  if (!*value) return no_such_run(run);
  auto stored = layout::read_run(**value);
  if (!stored) return quarantined(run, stored.error());
  return stored;
}

Result<std::vector<RunId>> runs_after(const Environment& environment, const std::optional<RunId>& after) {
  constexpr std::size_t runs_at_once = 1'024;
  Txn txn(environment, Txn::Kind::read);
  Cursor at(txn, Table::runs);
  bool more = after ? at.seek(layout::run_key(*after)) : at.first();
  if (more && after && at.key() == after->ulid.view()) more = at.next();
  std::vector<RunId> runs;
  for (; more && runs.size() < runs_at_once; more = at.next()) {
    const auto run = layout::read_run_key(at.key());
    if (!run) return tl::unexpected(run.error());
    runs.push_back(*run);
  }
  if (txn.failure()) return tl::unexpected(lmdb_error(txn.failure(), "walking the runs"));
  return runs;
}

Result<RunRow> find_row(Txn& txn, const RunId& run) {
  const auto stored = find_run(txn, run);
  if (!stored) return tl::unexpected(stored.error());
  auto row = decode_row(stored->row);
  if (!row) return quarantined(run, row.error());
  if (row->run_id != run) return quarantined(run, {ErrorCode::corrupt, "its row is of another run"});
  return row;
}

Result<ApprovalRow> find_approval(Txn& txn, const RunId& run, const ApprovalId& id) {
  const auto value = txn.get(Table::approvals, layout::approval_key(run, id));
  if (!value) return quarantined(run, value.error());
  if (!*value) return no_such_approval(run, id);
  auto row = decode_approval(**value);
  if (!row) return quarantined(run, row.error());
  if (row->run_id != run || row->approval_id != id)
    return quarantined(run, {ErrorCode::corrupt, fmt::format("the row of {} is of another", to_string(id))});
  return row;
}

Result<std::vector<std::string>> find_records(Txn& txn,
                                              const RunId& run,
                                              std::uint64_t from_seq,
                                              std::size_t bytes_max) {
  Gatherer gatherer(txn, run, from_seq, bytes_max);
  if (auto gathered = gatherer.gather(); !gathered) return tl::unexpected(gathered.error());
  return std::move(gatherer.packed());
}

}  // namespace ratchet
