#include "store/check.hpp"

#include <cstring>
#include <set>
#include <sys/stat.h>

#include <fmt/format.h>
#include <lmdb.h>

#include "runtime/limits.hpp"
#include "store/child.hpp"
#include "store/environment.hpp"
#include "store/layout.hpp"
#include "store/rules.hpp"

namespace ratchet {

namespace {

constexpr std::string_view run_mark = "run ";    // damage of one run
constexpr std::string_view file_mark = "file ";  // damage of the whole
constexpr std::string_view done_mark = "done";

constexpr std::string_view advice = "run `ratchet journal salvage` to copy what is whole to a new directory";

class Check {
 public:
  Check(const Environment& environment, const Say& say)
      : environment_(environment), say_(say), txn_(environment, Txn::Kind::read) {}

  void everything(const std::string& path) {
    pages(path);
    unfinished_runs();
    newest_appends();
    definitions();
    if (txn_.failure()) file_damage(lmdb_error(txn_.failure(), "its tables cannot be walked").text);
  }

 private:
  void file_damage(std::string_view what) { say_(fmt::format("{}{}", file_mark, what)); }

  void run_damage(const RunId& run, const Error& why) {
    say_(fmt::format("{}{}", run_mark, quarantined(run, why).value().text));
  }

  /// LMDB never writes pages that a transaction took from the end of the file and gave up again, so a file
  /// may end before its last page: but only by pages that are free.
  void pages(const std::string& path) {
    struct stat status{};
    MDB_envinfo info;
    MDB_stat main;
    if (stat(path.c_str(), &status) != 0 || mdb_env_info(environment_.get(), &info) != 0 ||
        mdb_env_stat(environment_.get(), &main) != 0)
      return file_damage("its pages cannot be counted");
    const std::size_t in_file = static_cast<std::size_t>(status.st_size) / main.ms_psize;
    const std::size_t in_use = info.me_last_pgno + 1;
    const std::size_t beyond_end = free_pages_from(in_file, in_use);
    if (in_file + beyond_end < in_use)
      file_damage(fmt::format("it was cut off: it has {} of {} pages", in_file, in_use));
  }

  /// Reads the whole list of free pages (table 0: transaction → count, pages in descending order), which a
  /// writer trusts when it overwrites pages. Returns how many of them are at `from` or after it.
  std::size_t free_pages_from(std::size_t from, std::size_t in_use) {
    const std::unique_ptr<MDB_txn, decltype(&mdb_txn_abort)> txn{begin(), &mdb_txn_abort};
    MDB_cursor* opened = nullptr;
    if (!txn || mdb_cursor_open(txn.get(), 0, &opened) != 0) return 0;
    const std::unique_ptr<MDB_cursor, decltype(&mdb_cursor_close)> cursor{opened, &mdb_cursor_close};
    std::size_t found = 0;
    MDB_val key, value;
    int code;
    while ((code = mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT)) == 0) {
      std::vector<std::size_t> list(value.mv_size / sizeof(std::size_t));
      std::memcpy(list.data(), value.mv_data, list.size() * sizeof(std::size_t));
      if (list.empty() || list[0] >= list.size()) {
        file_damage("a list of free pages has another length than it says");
        return found;
      }
      std::size_t above = in_use;
      for (std::size_t i = 1; i <= list[0]; ++i) {
        if (list[i] >= above || list[i] < 2) {
          file_damage("a list of free pages is not in order");
          return found;
        }
        above = list[i];
        if (above >= from) ++found;
      }
    }
    if (code != MDB_NOTFOUND) file_damage(lmdb_error(code, "its free pages cannot be read").text);
    return found;
  }

  MDB_txn* begin() {
    MDB_txn* txn = nullptr;
    return mdb_txn_begin(environment_.get(), nullptr, MDB_RDONLY, &txn) == 0 ? txn : nullptr;
  }

  void unfinished_runs() {
    std::set<RunId> runs;
    for (const Table table : {Table::active, Table::due}) {
      Cursor at(txn_, table);
      for (bool more = at.first(); more; more = at.next()) {
        const auto value = at.value();
        const auto entry = layout::read_time_and_run(at.key());
        if (value && entry)
          runs.insert(entry->run);
        else
          say_(fmt::format("{}{}", run_mark, (value ? entry.error() : value.error()).text));
      }
    }
    for (const RunId& run : runs) {
      Txn txn(environment_, Txn::Kind::read);
      const auto whole = run_is_whole(txn, run);
      if (whole) approvals_and_token(txn, run);
      // A value that fails its checksum concerns its run; a page that makes no sense concerns all of them.
      if (txn.failure()) {
        const Error why = whole ? lmdb_error(txn.failure(), "reading its approvals") : whole.error();
        return file_damage(quarantined(run, why).value().text);
      }
      if (!whole) run_damage(run, whole.error());
    }
  }

  Result<void> run_is_whole(Txn& txn, const RunId& run) {
    const auto value = txn.get(Table::runs, layout::run_key(run));
    if (!value) return tl::unexpected(value.error());
    if (!*value) return fail(ErrorCode::corrupt, "an index names it, and it has no row");
    const auto stored = layout::read_run(**value);
    if (!stored) return tl::unexpected(stored.error());
    if (const auto row = decode_row(stored->row); !row) return tl::unexpected(row.error());
    for (const layout::AppendRef& ref : stored->latest.refs()) {
      if (bytes_read_ > limits::check_bytes_max) return {};
      const auto events = txn.get(Table::events, layout::event_key(ref.append));
      if (!events) return tl::unexpected(events.error());
      if (!*events) return fail(ErrorCode::corrupt, fmt::format("append {} is missing", ref.append));
      bytes_read_ += (*events)->size();
    }
    return {};
  }

  /// Damage here concerns one approval, or the run's next call.
  void approvals_and_token(Txn& txn, const RunId& run) {
    Cursor at(txn, Table::approvals);
    for (bool more = at.seek(run.ulid.view()); more && at.key().starts_with(run.ulid.view());
         more = at.next())
      if (const auto value = at.value(); !value)
        say_(fmt::format("{}an approval of {}: {}", run_mark, to_string(run), value.error().text));
    if (const auto sealed = txn.get(Table::secrets, layout::run_key(run)); !sealed)
      say_(fmt::format("{}the user token of {}: {}", run_mark, to_string(run), sealed.error().text));
  }

  void newest_appends() {
    Cursor at(txn_, Table::events);
    bytes_read_ = 0;
    for (bool more = at.last(); more && bytes_read_ < limits::check_bytes_max / 4; more = at.previous()) {
      const auto value = at.value();
      bytes_read_ += value ? value->size() : 0;
      if (!value)
        say_(fmt::format("{}append {}: {}", run_mark, layout::read_event_key(at.key()), value.error().text));
    }
  }

  void definitions() {
    Cursor at(txn_, Table::definitions);
    for (bool more = at.first(); more; more = at.next())
      if (const auto value = at.value(); !value)
        say_(fmt::format("{}a definition: {}", run_mark, value.error().text));
  }

  const Environment& environment_;
  const Say& say_;
  Txn txn_;
  std::size_t bytes_read_ = 0;
};

void look(const std::string& path, const Say& say) {
  auto environment = Environment::open(path, Environment::Access::read_no_lock, true, 0);
  // Whatever else is the matter, the parent will meet it safely and say it better.
  if (!environment && environment.error().code != ErrorCode::corrupt) return say(done_mark);
  if (!environment) return say(fmt::format("{}{}", file_mark, environment.error().text));
  Check(**environment, say).everything(path);
  say(done_mark);
}

}  // namespace

Result<std::vector<Error>> check_before_serving(const std::string& path) {
  struct stat status{};
  // The process before may have died before it made the file.
  if (stat(path.c_str(), &status) != 0 || status.st_size == 0) return std::vector<Error>{};
  std::vector<Error> damaged_runs;
  std::string file_damage;
  bool done = false;
  const auto signal = run_in_child(
      [&](const Say& say) { look(path, say); },
      [&](std::string_view line) {
        if (line.starts_with(file_mark) && file_damage.empty()) file_damage = line.substr(file_mark.size());
        if (line.starts_with(run_mark))
          damaged_runs.push_back({ErrorCode::corrupt, std::string(line.substr(run_mark.size()))});
        done = done || line == done_mark;
      });
  if (!signal) return tl::unexpected(signal.error());
  if (file_damage.empty() && !done)
    file_damage = fmt::format("reading it ends with signal {} ({})", *signal, strsignal(*signal));
  if (!file_damage.empty())
    return fail(ErrorCode::corrupt, fmt::format("{} is damaged: {}; {}", path, file_damage, advice));
  return damaged_runs;
}

}  // namespace ratchet
