#include "store/verify.hpp"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "store/child.hpp"
#include "store/lmdb_journal.hpp"
#include "store/pack.hpp"
#include "store/rules.hpp"
#include "store/run_reads.hpp"
#include "store/tools.hpp"

namespace ratchet {

namespace {

constexpr std::size_t slice_keys = 1024;
constexpr std::string_view problem_mark = "problem ";
constexpr std::string_view at_mark = "at ";
constexpr std::string_view done_mark = "done ";
/// What is no store that can be read is an error of the call, not a finding.
constexpr ErrorCode refusals[] = {
    ErrorCode::store_unavailable, ErrorCode::not_supported, ErrorCode::not_found};

/// Follows the records of one run.
class ChainCheck {
 public:
  Result<void> add(std::string_view packed) {
    const auto bytes = unpack_record(packed);
    if (!bytes) return tl::unexpected(bytes.error());
    const auto record = decode_record(*bytes);
    if (!record) return tl::unexpected(record.error());
    if (record->head_before != head_) return broken(fmt::format("event {} does not follow", last_seq_ + 1));
    for (const Event& event : record->events)
      if (event.seq != ++last_seq_)
        return broken(fmt::format("event {} has number {}", last_seq_, event.seq));
    const auto head = chain_head(*bytes);
    if (!head) return tl::unexpected(head.error());
    head_ = *head;
    return {};
  }

  Result<void> ends_as(const RunRow& row) const {
    if (row.last_seq != last_seq_)
      return broken(fmt::format("its row says {} events, there are {}", row.last_seq, last_seq_));
    if (row.head != head_) return broken("its last hash is not the one in its row");
    return {};
  }

  std::uint64_t last_seq() const { return last_seq_; }

 private:
  static tl::unexpected<Error> broken(std::string what) {
    return fail(ErrorCode::corrupt, "its audit chain is broken: " + std::move(what));
  }

  Hash head_;
  std::uint64_t last_seq_ = 0;
};

Result<void> indexes_agree(Txn& txn, const RunRow& row, const layout::StoredRun& stored) {
  const RunId& run = row.run_id;
  const auto has = [&](Table table, const layout::Key& key) {
    const auto value = txn.get(table, key);
    return value && *value;
  };
  const auto listed = [&](const layout::Key& prefix) {
    return layout::listed_key(prefix, row.created_at, run);
  };
  std::string_view differs;
  if (stored.active != row.active || stored.due_at != row.due_at || stored.lease != row.lease ||
      stored.last_seq != row.last_seq)
    differs = "what the store keeps beside its row";
  else if (has(Table::active, layout::active_key(row.created_at, run)) != row.active)
    differs = "the index of active runs";
  else if (row.due_at && !has(Table::due, layout::due_key(*row.due_at, run)))
    differs = "the index of due times";
  else if (!has(Table::by_team, listed(layout::team_prefix(row.team))))
    differs = "the index by team";
  else if (row.parent_run_id && !has(Table::by_parent, listed(layout::parent_prefix(*row.parent_run_id))))
    differs = "the index by parent";
  if (differs.empty()) return {};
  return fail(ErrorCode::corrupt, fmt::format("{} and its row differ", differs));
}

/// Reads a store from one end to the other, and says what it finds.
class Verification {
 public:
  Verification(LmdbJournal& journal, const Say& say) : journal_(journal), say_(say) {}

  void everything() {
    walk(Table::runs, [this](std::string_view key) { run(key); });
    walk(Table::events, [this](std::string_view key) { events(key); });
    for (const Table table : {Table::active, Table::due, Table::by_team, Table::by_parent})
      walk(table, [this, table](std::string_view key) { index(table, key); });
    walk(Table::artifacts, [this](std::string_view key) { artifact(key); });
    walk(Table::approvals, [this](std::string_view key) { approval(key); });
    walk(Table::approvals_by_status, [this](std::string_view key) { listed_approval(key); });
    walk(Table::secrets, [this](std::string_view key) { secret(key); });
    walk(Table::outbox, [this](std::string_view key) { outbox(key); });
    walk(Table::snapshots, [this](std::string_view key) { snapshot(key); });
    for (const Table table : {Table::meta, Table::chunks, Table::claims, Table::blobs, Table::definitions})
      walk(table, [this, table](std::string_view key) { value(table, key); });
    say_(fmt::format("{}{} {} {}", done_mark, runs_, events_, artifacts_));
  }

 private:
  void problem(std::string_view what) { say_(fmt::format("{}{}", problem_mark, what)); }

  /// Calls `visit` for every key, in slices of which each has a transaction of its own. So has each visit: a
  /// transaction that has met a damaged page is of no use for the next one.
  void walk(Table table, const std::function<void(std::string_view)>& visit) {
    say_(fmt::format("{}table {}", at_mark, name(table)));
    std::string from;
    for (bool more = true; more;) {
      Txn txn(journal_.environment(), Txn::Kind::read);
      Cursor at(txn, table);
      more = from.empty() ? at.first() : at.seek(from);
      for (std::size_t i = 0; more && i < slice_keys; ++i, more = at.next())
        visit(at.key());
      if (more) from = at.key();
      if (txn.failure()) {
        problem(lmdb_error(txn.failure(), fmt::format("table {}", name(table))).text);
        return;
      }
    }
  }

  Txn begin() const { return Txn(journal_.environment(), Txn::Kind::read); }

  void run(std::string_view key) {
    ++runs_;
    Txn txn = begin();
    const auto id = layout::read_run_key(key);
    if (!id) return problem(id.error().text);
    say_(fmt::format("{}{}", at_mark, to_string(*id)));
    const auto events = verify_run(txn, *id);
    if (!events) return problem(events.error().text);
    events_ += *events;
    if (const auto agree = verify_indexes(txn, *id); !agree) problem(agree.error().text);
  }

  /// What no run refers to is a problem too.
  void events(std::string_view key) {
    Txn txn = begin();
    const auto value = txn.get(Table::events, key);
    if (!value) return problem(value.error().text);
    const auto stored = *value ? layout::read_events(**value) : layout::StoredEvents{};
    if (!stored) return problem(stored.error().text);
    const auto run = find_run(txn, stored->run);
    if (run ? stored->first_seq + stored->events > run->last_seq + 1
            : run.error().code == ErrorCode::unknown_run)
      problem(fmt::format(
          "append {} of {} belongs to no run", layout::read_event_key(key), to_string(stored->run)));
  }

  void index(Table table, std::string_view key) {
    value(table, key);
    Txn txn = begin();
    const auto entry = layout::read_time_and_run(key);
    if (!entry) return problem(entry.error().text);
    // The key was read a moment ago: a server beside may have moved the run on.
    if (!txn.contains(table, key)) return;
    const auto run = find_run(txn, entry->run);
    if (run ? (table == Table::active && !run->active) || (table == Table::due && run->due_at != entry->at)
            : run.error().code == ErrorCode::unknown_run)
      problem(fmt::format("table {} names {}, which is not so", name(table), to_string(entry->run)));
  }

  void artifact(std::string_view key) {
    ++artifacts_;
    ArtifactId id;
    std::memcpy(id.ulid.bytes.data(), key.data(), std::min(key.size(), sizeof id));
    say_(fmt::format("{}{}", at_mark, to_string(id)));
    const auto info = journal_.artifact(id);
    if (!info) return problem(info.error().text);
    const auto bytes = journal_.blob(id, 0, UINT64_MAX);
    if (!bytes) return problem(bytes.error().text);
    if (bytes->size() != info->ref.bytes || sha256(*bytes) != info->ref.sha256)
      problem(fmt::format("{} is not what its event says", to_string(id)));
  }

  void approval(std::string_view key) {
    Txn txn = begin();
    const auto id = layout::read_approval_key(key);
    if (!id) return problem(id.error().text);
    const auto row = find_approval(txn, id->run, id->approval);
    if (!row) return problem(row.error().text);
    const auto run = find_row(txn, id->run);
    if (run ? run->team != row->team : run.error().code == ErrorCode::unknown_run)
      problem(fmt::format("{} is not of {}", to_string(id->approval), to_string(id->run)));
    if (!txn.contains(Table::approvals_by_status, layout::listed_approval_key(*row)))
      problem(fmt::format(
          "{} of {}: the index by status and its row differ", to_string(id->approval), to_string(id->run)));
  }

  void listed_approval(std::string_view key) {
    value(Table::approvals_by_status, key);
    Txn txn = begin();
    const auto id = layout::read_listed_approval_key(key);
    if (!id) return problem(id.error().text);
    // As above: the approval may have been decided meanwhile.
    if (!txn.contains(Table::approvals_by_status, key)) return;
    const auto row = find_approval(txn, id->run, id->approval);
    if (row ? std::string_view(layout::listed_approval_key(*row)) != key
            : row.error().code == ErrorCode::unknown_approval)
      problem(fmt::format("table {} names {} of {}, which is not so",
                          name(Table::approvals_by_status),
                          to_string(id->approval),
                          to_string(id->run)));
  }

  /// Whether it opens is not looked at: the key is where this process has no business.
  void secret(std::string_view key) {
    Txn txn = begin();
    const auto sealed = txn.get(Table::secrets, key);
    if (!sealed) return problem(sealed.error().text);
    if (!*sealed) return;
    const auto id = layout::read_run_key(key);
    if (!id) return problem(id.error().text);
    if (!NodeKey::is_sealed(**sealed))
      problem(fmt::format("the user token of {} is of a form that is not known", to_string(*id)));
    const auto run = find_row(txn, *id);
    if (run ? run->status == RunStatus::finished : run.error().code == ErrorCode::unknown_run)
      problem(fmt::format("there is a user token of {}, which does not run", to_string(*id)));
  }

  void outbox(std::string_view key) {
    Txn txn = begin();
    const auto stored = txn.get(Table::outbox, key);
    if (!stored) return problem(stored.error().text);
    if (!*stored) return;
    const auto entry = decode_outbox(**stored);
    if (!entry) return problem(entry.error().text);
    if (std::string_view(layout::outbox_key(*entry)) != key)
      problem(fmt::format(
          "table {} has {} at another key than it says", name(Table::outbox), delivery_id(*entry)));
  }

  void snapshot(std::string_view key) {
    value(Table::snapshots, key);
    Txn txn = begin();
    const auto id = layout::read_snapshot_key(key);
    if (!id) return problem(id.error().text);
    const auto run = find_row(txn, id->run);
    if (!run && run.error().code == ErrorCode::unknown_run)
      problem(fmt::format("there is a workspace snapshot of {}, which does not exist", to_string(id->run)));
  }

  void value(Table table, std::string_view key) {
    Txn txn = begin();
    if (const auto value = txn.get(table, key); !value) problem(value.error().text);
  }

  LmdbJournal& journal_;
  const Say& say_;
  std::uint64_t runs_ = 0, events_ = 0, artifacts_ = 0;
};

void verify(const std::string& data_dir, const Say& say) {
  const auto journal = LmdbJournal::open_for_reading(data_dir);
  if (!journal && journal.error().code == ErrorCode::corrupt) {
    say(fmt::format("{}{}", problem_mark, journal.error().text));
    return say(done_mark);
  }
  if (!journal) return say(fmt::format("{} {}", name(journal.error().code), journal.error().text));
  Verification(**journal, say).everything();
}

void read_counts(std::string_view line, VerifyReport& report) {
  for (std::uint64_t* const count : {&report.runs, &report.events, &report.artifacts}) {
    const auto [end, error] = std::from_chars(line.begin(), line.end(), *count);
    line.remove_prefix(static_cast<std::size_t>(end - line.begin()));
    line.remove_prefix(std::min<std::size_t>(1, line.size()));
  }
}

}  // namespace

Result<std::uint64_t> verify_run(Txn& txn, const RunId& run) {
  const auto row = find_row(txn, run);
  if (!row) return tl::unexpected(row.error());
  ChainCheck chain;
  while (chain.last_seq() < row->last_seq) {
    constexpr std::size_t slice_bytes = 4u << 20;
    const std::uint64_t before = chain.last_seq();
    const auto packed = find_records(txn, run, before + 1, slice_bytes);
    if (!packed) return tl::unexpected(packed.error());
    for (const std::string& record : *packed)
      if (auto added = chain.add(record); !added) return quarantined(run, added.error());
    if (chain.last_seq() == before) break;
  }
  if (auto ends = chain.ends_as(*row); !ends) return quarantined(run, ends.error());
  return chain.last_seq();
}

Result<void> verify_indexes(Txn& txn, const RunId& run) {
  const auto stored = find_run(txn, run);
  if (!stored) return tl::unexpected(stored.error());
  const auto row = find_row(txn, run);
  if (!row) return tl::unexpected(row.error());
  if (auto agree = indexes_agree(txn, *row, *stored); !agree) return quarantined(run, agree.error());
  return {};
}

Result<VerifyReport> verify_store(const std::string& data_dir) {
  VerifyReport report;
  std::optional<Error> refused;
  std::string at = "the beginning";
  bool done = false;
  const auto add = [&](std::string problem) {
    if (++report.problem_count <= limits::problems_told_max) report.problems.push_back(std::move(problem));
  };
  const auto hear = [&](std::string_view line) {
    if (line.starts_with(problem_mark)) add(std::string(line.substr(problem_mark.size())));
    if (line.starts_with(at_mark)) at = line.substr(at_mark.size());
    for (const ErrorCode code : refusals)
      if (line.starts_with(name(code)))
        refused = Error{code, std::string(line.substr(name(code).size() + 1))};
    if (!line.starts_with(done_mark)) return;
    read_counts(line.substr(done_mark.size()), report);
    done = true;
  };
  const auto signal = run_in_child([&](const Say& say) { verify(data_dir, say); }, hear);
  if (!signal) return tl::unexpected(signal.error());
  if (refused) return tl::unexpected(*refused);
  if (!done)
    add(fmt::format("reading {} ends with signal {} ({}): pages are damaged there, or the file was cut off",
                    at,
                    *signal,
                    strsignal(*signal)));
  return report;
}

}  // namespace ratchet
