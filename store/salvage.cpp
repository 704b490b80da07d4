// Salvage works where reading itself may kill: every part is done by a child process that writes straight
// into the new store, and says what it is about to touch. When it dies, the parent notes what it was at and
// starts another one behind it.

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "runtime/event/fields.hpp"
#include "store/child.hpp"
#include "store/file.hpp"
#include "store/lmdb_journal.hpp"
#include "store/run_reads.hpp"
#include "store/tools.hpp"
#include "store/verify.hpp"

namespace ratchet {

namespace {

constexpr std::string_view at_mark = "at";
constexpr std::string_view lost_mark = "lost ";
constexpr std::string_view copied_mark = "copied";

struct Directories {
  std::string from, to;
};

std::string store_file(const std::string& data_dir) {
  return data_dir + std::string(LmdbJournal::file_name);
}

// --- which runs there are
// --------------------------------------------------------------------------------------------------

std::optional<RunId> run_named(Table table, const Cursor& at) {
  if (table == Table::runs) {
    const auto run = layout::read_run_key(at.key());
    return run ? std::optional(*run) : std::nullopt;
  }
  if (table == Table::by_team) {
    const auto entry = layout::read_time_and_run(at.key());
    return entry ? std::optional(entry->run) : std::nullopt;
  }
  const auto value = at.value();
  const auto stored = value ? layout::read_events(*value) : tl::unexpected(value.error());
  return stored ? std::optional(stored->run) : std::nullopt;
}

/// From one end of a table as far as it can be walked.
template <class Visit>
void walk(Txn& txn, Table table, bool forward, const Visit& visit) {
  Cursor at(txn, table);
  for (bool more = forward ? at.first() : at.last(); more; more = forward ? at.next() : at.previous())
    visit(at);
}

/// Every run that any of three tables names: what one has lost, another may still have.
Result<std::vector<RunId>> find_runs(const Directories& directories) {
  std::set<RunId> runs;
  for (const Table table : {Table::runs, Table::by_team, Table::events})
    for (const bool forward : {true, false}) {
      const auto say_them = [&](const Say& say) {
        const auto from =
            Environment::open(store_file(directories.from), Environment::Access::read_no_lock, true, 0);
        if (!from) return;
        Txn txn(**from, Txn::Kind::read);
        walk(txn, table, forward, [&](const Cursor& at) {
          if (const auto run = run_named(table, at)) say(to_string(*run));
        });
      };
      const auto signal = run_in_child(say_them, [&](std::string_view line) {
        if (const auto run = parse_id<RunKind>(line)) runs.insert(*run);
      });
      if (!signal) return tl::unexpected(signal.error());
    }
  return std::vector<RunId>(runs.begin(), runs.end());
}

// --- copying, in a child
// --------------------------------------------------------------------------------------------------

/// Copies runs and tables. What is in the new store before a child dies stays there: each run and each value
/// is a transaction of its own, flushed by the parent in the end.
class Copier {
 public:
  Copier(const Environment& from, const Environment& to, const Directories& directories, const Say& say)
      : from_(from), to_(to), directories_(directories), say_(say) {}

  Result<void> run(const RunId& run) {
    Txn from(from_, Txn::Kind::read);
    if (const auto whole = verify_run(from, run); !whole) return tl::unexpected(whole.error());
    const auto stored = find_run(from, run);
    const auto row = find_row(from, run);
    if (!stored || !row) return tl::unexpected(stored ? row.error() : stored.error());
    Txn to(to_, Txn::Kind::write);
    if (auto copied = events(from, to, run, stored->latest); !copied) return copied;
    copy(from, to, Table::runs, layout::run_key(run));
    indexes(to, *row);
    blobs(to, run);
    approvals(to, run);
    token(to, run);
    if (const int code = to.commit()) return tl::unexpected(lmdb_error(code, to_string(run)));
    return {};
  }

  void table(Table table, bool forward) {
    Txn from(from_, Txn::Kind::read);
    walk(from, table, forward, [&](const Cursor& at) {
      Txn to(to_, Txn::Kind::write);
      const auto value = at.value();
      if (!value) return lost(value.error().text);
      if (table == Table::artifacts) {
        const auto artifact = layout::read_artifact(*value);
        if (!artifact || !to.contains(Table::runs, layout::run_key(artifact->run))) return;
      }
      to.put(table, at.key(), {*value});
      if (const int code = to.commit()) lost(lmdb_error(code, name(table)).text);
    });
    if (from.failure()) lost(lmdb_error(from.failure(), fmt::format("table {}", name(table))).text);
  }

 private:
  void lost(std::string_view what) { say_(fmt::format("{}{}", lost_mark, what)); }

  static void copy(Txn& from, Txn& to, Table table, std::string_view key) {
    if (const auto value = from.get(table, key); value && *value) to.put(table, key, {**value});
  }

  static Result<void> events(Txn& from, Txn& to, const RunId& run, const layout::AppendList& latest) {
    const auto copy_all = [&](const layout::AppendList& appends) {
      for (const layout::AppendRef& ref : appends.refs())
        copy(from, to, Table::events, layout::event_key(ref.append));
    };
    Cursor at(from, Table::chunks);
    for (bool more = at.seek(run.ulid.view()); more && at.key().starts_with(run.ulid.view());
         more = at.next()) {
      const auto value = at.value();
      const auto chunk = value ? layout::read_chunk(*value) : tl::unexpected(value.error());
      if (!chunk) return tl::unexpected(chunk.error());
      to.put(Table::chunks, at.key(), {*value});
      copy_all(*chunk);
    }
    copy_all(latest);
    return {};
  }

  static void indexes(Txn& to, const RunRow& row) {
    const RunId& run = row.run_id;
    to.put(Table::by_team, layout::listed_key(layout::team_prefix(row.team), row.created_at, run), {});
    if (row.parent_run_id)
      to.put(Table::by_parent,
             layout::listed_key(layout::parent_prefix(*row.parent_run_id), row.created_at, run),
             {});
    if (row.active) to.put(Table::active, layout::active_key(row.created_at, run), {});
    if (row.due_at) to.put(Table::due, layout::due_key(*row.due_at, run), {});
  }

  /// The run is worth having without a blob that is lost: reading that one says so.
  void blobs(Txn& to, const RunId& run) {
    Txn from(from_, Txn::Kind::read);
    Cursor at(from, Table::blobs);
    for (bool more = at.seek(run.ulid.view()); more && at.key().starts_with(run.ulid.view());
         more = at.next()) {
      const auto value = at.value();
      const auto blob = value ? layout::read_blob(*value) : tl::unexpected(value.error());
      if (!blob) {
        lost(fmt::format("a blob of {}: {}", to_string(run), blob.error().text));
        continue;
      }
      to.put(Table::blobs, at.key(), {*value});
      if (blob->in_file) file(run, layout::read_blob_number(at.key()), *blob);
    }
  }

  /// The run is worth having without these too: its events say what was asked and decided.
  void approvals(Txn& to, const RunId& run) {
    Txn from(from_, Txn::Kind::read);
    Cursor at(from, Table::approvals);
    for (bool more = at.seek(run.ulid.view()); more && at.key().starts_with(run.ulid.view());
         more = at.next()) {
      const auto value = at.value();
      const auto row = value ? decode_approval(*value) : tl::unexpected(value.error());
      if (!row) {
        lost(fmt::format("an approval of {}: {}", to_string(run), row.error().text));
        continue;
      }
      to.put(Table::approvals, at.key(), {*value});
      to.put(Table::approvals_by_status, layout::listed_approval_key(*row), {});
    }
  }

  /// Sealed as it is: the new store needs the same node key.
  void token(Txn& to, const RunId& run) {
    Txn from(from_, Txn::Kind::read);
    const auto sealed = from.get(Table::secrets, layout::run_key(run));
    if (!sealed) return lost(fmt::format("the user token of {}: {}", to_string(run), sealed.error().text));
    if (*sealed) to.put(Table::secrets, layout::run_key(run), {**sealed});
  }

  void file(const RunId& run, std::uint32_t n, const layout::StoredBlob& blob) {
    std::error_code error;
    const BlobFiles files(directories_.from, true);
    if (const auto whole = files.read(run, n, blob, 0, blob.file_bytes); !whole)
      return lost(fmt::format("a blob of {}: {}", to_string(run), whole.error().text));
    const std::string from = files.path(run, n);
    const std::string to = BlobFiles(directories_.to, true).path(run, n);
    std::filesystem::create_directories(std::filesystem::path(to).parent_path(), error);
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, error);
    if (error) lost(fmt::format("{}: {}", from, error.message()));
  }

  const Environment& from_;
  const Environment& to_;
  const Directories& directories_;
  const Say& say_;
};

Result<int> copy_in_child(const Directories& directories,
                          const std::function<void(Copier&, const Say&)>& work,
                          const Say& hear) {
  return run_in_child(
      [&](const Say& say) {
        const auto from =
            Environment::open(store_file(directories.from), Environment::Access::read_no_lock, true, 0);
        const auto to = Environment::open(
            store_file(directories.to), Environment::Access::write, false, StoreOptions{}.map_bytes);
        if (!from || !to) return say(fmt::format("{}{}", lost_mark, (from ? to : from).error().text));
        Copier copier(**from, **to, directories, say);
        work(copier, say);
      },
      hear);
}

// --- the parent
// --------------------------------------------------------------------------------------------------

Result<void> copy_runs(const Directories& directories,
                       const std::vector<RunId>& runs,
                       SalvageReport& report) {
  for (std::size_t next = 0; next < runs.size();) {
    const auto copy_the_rest = [&](Copier& copier, const Say& say) {
      for (std::size_t i = next; i < runs.size(); ++i) {
        say(at_mark);
        const auto copied = copier.run(runs[i]);
        say(copied ? std::string(copied_mark) : fmt::format("{}{}", lost_mark, copied.error().text));
      }
    };
    const std::size_t before = next;
    const auto signal = copy_in_child(directories, copy_the_rest, [&](std::string_view line) {
      if (line == at_mark) ++next;
      if (line == copied_mark) ++report.runs_copied;
      if (line.starts_with(lost_mark)) report.lost.emplace_back(line.substr(lost_mark.size()));
    });
    if (!signal) return tl::unexpected(signal.error());
    if (next == before)
      return fail(
          ErrorCode::store_unavailable,
          report.lost.empty() ? "no run can be copied" : "no run can be copied: " + report.lost.back());
    if (*signal != 0)
      report.lost.push_back(
          fmt::format("{}: reading it ends with signal {}", to_string(runs[next - 1]), *signal));
  }
  return {};
}

/// What damage hides from one end of a table may be reached from the other.
Result<void> copy_table(const Directories& directories, Table table, SalvageReport& report) {
  for (const bool forward : {true, false}) {
    std::set<std::string> lost;  // each once, though it may be met from both ends
    const auto signal = copy_in_child(
        directories,
        [&](Copier& copier, const Say&) { copier.table(table, forward); },
        [&](std::string_view line) { lost.emplace(line.substr(std::min(lost_mark.size(), line.size()))); });
    if (!signal) return tl::unexpected(signal.error());
    if (*signal != 0)
      lost.insert(fmt::format("table {}: reading it ends with signal {}", name(table), *signal));
    for (const std::string& what : lost)
      if (std::find(report.lost.begin(), report.lost.end(), what) == report.lost.end())
        report.lost.push_back(what);
    if (lost.empty()) return {};
  }
  return {};
}

/// A key that lies elsewhere is the operator's to give to the new server too.
void copy_node_key(const Directories& directories, SalvageReport& report) {
  const std::string from = directories.from + std::string(NodeKey::file_name);
  const std::string to = directories.to + std::string(NodeKey::file_name);
  std::error_code error;
  if (!std::filesystem::exists(from, error) && !error) return;
  if (const int code = error ? error.value() : copy_private_file(from, to))
    report.lost.push_back(fmt::format("{}: {}", from, std::generic_category().message(code)));
}

/// Sets the number of the next append, and makes all durable.
Result<void> finish(const std::string& data_dir) {
  const auto environment =
      Environment::open(store_file(data_dir), Environment::Access::write, true, StoreOptions{}.map_bytes);
  if (!environment) return tl::unexpected(environment.error());
  Txn txn(**environment, Txn::Kind::write);
  std::uint64_t last = 0;
  {
    Cursor at(txn, Table::events);
    if (at.last()) last = layout::read_event_key(at.key());
  }
  std::string counter;
  fields::put_varint(counter, last + 1);
  txn.put(Table::meta, LmdbJournal::next_append_key, {counter});
  if (int code = txn.commit(); code || (code = (*environment)->sync()))
    return tl::unexpected(lmdb_error(code, "the new store cannot be finished"));
  return {};
}

}  // namespace

Result<SalvageReport> salvage_store(const std::string& from_data_dir, const std::string& to_data_dir) {
  const Directories directories{from_data_dir, to_data_dir};
  std::error_code error;
  if (!std::filesystem::exists(store_file(from_data_dir), error))
    return fail(ErrorCode::store_unavailable, fmt::format("there is no store in {}", from_data_dir));
  if (std::filesystem::exists(store_file(to_data_dir), error))
    return fail(ErrorCode::conflict, fmt::format("there is a store in {} already", to_data_dir));
  const auto from_lock = DirectoryLock::take(from_data_dir);
  if (!from_lock) return tl::unexpected(from_lock.error());

  const auto to_lock = DirectoryLock::take(to_data_dir);
  if (!to_lock) return tl::unexpected(to_lock.error());

  SalvageReport report;
  const auto runs = find_runs(directories);
  if (!runs) return tl::unexpected(runs.error());
  if (auto copied = copy_runs(directories, *runs, report); !copied) return tl::unexpected(copied.error());
  for (const Table table :
       {Table::artifacts, Table::claims, Table::definitions, Table::outbox, Table::snapshots})
    if (auto copied = copy_table(directories, table, report); !copied) return tl::unexpected(copied.error());
  copy_node_key(directories, report);
  if (auto finished = finish(to_data_dir); !finished) return tl::unexpected(finished.error());
  return report;
}

}  // namespace ratchet
