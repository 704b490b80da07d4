#include "store/lmdb_journal.hpp"

#include <cerrno>
#include <cstdio>
#include <sys/statvfs.h>

#include <fmt/format.h>
#include <lmdb.h>
#include <sodium.h>

#include "runtime/event/fields.hpp"
#include "store/check.hpp"
#include "store/rules.hpp"

namespace ratchet {

namespace {

constexpr std::chrono::minutes readers_check_interval{1};
constexpr std::chrono::seconds retry_interval{5};
constexpr std::size_t indexed_runs_at_once = 256;

std::uint64_t free_bytes_of(const std::string& directory) {
  struct statvfs status{};
  if (statvfs(directory.c_str(), &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

StoreOptions with_defaults(StoreOptions options) {
  if (!options.free_bytes)
    options.free_bytes = [directory = options.data_dir] { return free_bytes_of(directory); };
  if (!options.on_damage)
    options.on_damage = [](const Error& damage) { fmt::print(stderr, "store: {}\n", damage.text); };
  return options;
}

}  // namespace

// --- opening
// --------------------------------------------------------------------------------------------------

Result<std::unique_ptr<LmdbJournal>> LmdbJournal::open(const StoreOptions& given) {
  const StoreOptions options = with_defaults(given);
  const std::string path = options.data_dir + std::string(file_name);
  auto lock = DirectoryLock::take(options.data_dir);
  if (!lock) return tl::unexpected(lock.error());
  const bool unclean = lock->unclean();
  const auto damaged_runs = check_before_serving(path);
  if (!damaged_runs) return tl::unexpected(damaged_runs.error());
  for (const Error& damage : *damaged_runs)
    options.on_damage(damage);
  if (auto marked = lock->mark_open(); !marked) return tl::unexpected(marked.error());

  auto environment = Environment::open(
      path, Environment::Access::write, options.durability == Durability::fsync, options.map_bytes);
  if (!environment) return tl::unexpected(environment.error());
  std::unique_ptr<LmdbJournal> journal(new LmdbJournal(options, std::move(*lock), std::move(*environment)));
  journal->clear_stale_readers();
  if (auto read = journal->read_counter(); !read) return tl::unexpected(read.error());
  if (unclean)
    if (auto swept = journal->sweep_files(); !swept) return tl::unexpected(swept.error());
  journal->take_node_key();
  return journal;
}

Result<std::unique_ptr<LmdbJournal>> LmdbJournal::open_for_reading(const std::string& data_dir) {
  auto environment = Environment::open(data_dir + std::string(file_name), Environment::Access::read, true, 0);
  if (!environment) return tl::unexpected(environment.error());
  StoreOptions options;
  options.data_dir = data_dir;
  return std::unique_ptr<LmdbJournal>(
      new LmdbJournal(with_defaults(std::move(options)), std::nullopt, std::move(*environment)));
}

LmdbJournal::LmdbJournal(StoreOptions options,
                         std::optional<DirectoryLock> lock,
                         std::unique_ptr<Environment> environment)
    : options_(std::move(options)),
      lock_(std::move(lock)),
      environment_(std::move(environment)),
      files_(options_.data_dir, options_.durability == Durability::fsync),
      node_key_(fail(ErrorCode::store_unavailable, "the store was opened for reading only, without its key")),
      readers_checked_(Steady::now()) {}

LmdbJournal::~LmdbJournal() {
  if (!lock_) return;
  const bool flushed = options_.durability == Durability::fsync || environment_->sync() == 0;
  environment_.reset();
  if (flushed) lock_->mark_closed();
}

Result<void> LmdbJournal::read_counter() {
  Txn txn(*environment_, Txn::Kind::read);
  const auto value = txn.get(Table::meta, next_append_key);
  if (!value) return tl::unexpected(value.error());
  if (*value) next_append_ = fields::Input{**value}.varint();
  Cursor events(txn, Table::events);
  if (events.last() && layout::read_event_key(events.key()) >= next_append_)
    return fail(ErrorCode::corrupt,
                fmt::format("the next append would be {}, and {} exists",
                            next_append_,
                            layout::read_event_key(events.key())));
  if (txn.failure()) return tl::unexpected(lmdb_error(txn.failure(), "reading the last append"));
  return {};
}

Result<void> LmdbJournal::sweep_files() {
  Txn txn(*environment_, Txn::Kind::read);
  // When in doubt the file stays.
  return files_.sweep([&](const RunId& run, std::uint32_t n) {
    return txn.contains(Table::blobs, layout::blob_key(run, n)) || txn.failure() != 0;
  });
}

/// One token tells whether they are sealed under this key: a key is exchanged for all of them at once.
void LmdbJournal::take_node_key() {
  const std::string& given = options_.node_key_file;
  node_key_ = given.empty() ? NodeKey::read_or_make(options_.data_dir + std::string(NodeKey::file_name))
                            : NodeKey::read(given);
  if (!node_key_) return passed_over(node_key_.error());
  Txn txn(*environment_, Txn::Kind::read);
  Cursor at(txn, Table::secrets);
  if (!at.first()) return;
  const auto run = layout::read_run_key(at.key());
  const auto sealed = at.value();
  if (!run || !sealed) return passed_over(run ? sealed.error() : run.error());
  if (auto token = node_key_->unseal(*run, *sealed); !token)
    passed_over(token.error());
  else
    sodium_memzero(token->data(), token->size());
}

// --- committing
// --------------------------------------------------------------------------------------------------

Result<std::vector<Result<Committed>>> LmdbJournal::commit(std::span<const Commit> batch) {
  if (!lock_) return fail(ErrorCode::store_unavailable, "the store was opened for reading only");
  if (const auto now = Steady::now(); now - readers_checked_ > readers_check_interval) {
    readers_checked_ = now;
    clear_stale_readers();
  }
  // LMDB holds what a transaction changes in memory, and not more than half a gigabyte of it.
  Outcomes outcomes;
  while (outcomes.size() < batch.size()) {
    std::size_t count = 0, bytes = 0;
    const auto rest = batch.subspan(outcomes.size());
    while (count < rest.size() && (count == 0 || bytes <= limits::transaction_bytes_max))
      bytes += payload_bytes(rest[count++]);
    auto some = commit_in_one(rest.first(count));
    // What is durable is told to those whom it concerns, whatever becomes of the others.
    if (!some && outcomes.empty()) return some;
    if (!some) some = Outcomes(rest.size(), tl::unexpected(some.error()));
    std::move(some->begin(), some->end(), std::back_inserter(outcomes));
  }
  return outcomes;
}

Result<LmdbJournal::Outcomes> LmdbJournal::commit_in_one(std::span<const Commit> batch) {
  std::size_t bytes = 0;
  bool may_use_reserve = false;
  for (const Commit& commit : batch) {
    bytes += payload_bytes(commit);
    may_use_reserve = may_use_reserve || commit.reserve;
  }
  const bool low = !has_room(bytes);
  const Error no_room{
      ErrorCode::store_unavailable,
      fmt::format("less than {} bytes are free in {}", options_.reserve_bytes, options_.data_dir)};
  if (low && !may_use_reserve) return tl::unexpected(no_room);

  // Pages that cannot be used make a transaction useless. The commit that met them is left out, and the
  // others are tried again.
  std::vector<std::optional<Error>> left_out(batch.size());
  for (;;) {
    Txn txn(*environment_, Txn::Kind::write);
    Batch writer(txn, files_, node_key_, next_append_);
    Outcomes outcomes;
    outcomes.reserve(batch.size());
    bool again = false;
    for (std::size_t i = 0; i < batch.size() && !again; ++i) {
      if (low && !batch[i].reserve) left_out[i] = no_room;
      if (left_out[i])
        outcomes.emplace_back(tl::unexpected(*left_out[i]));
      else
        outcomes.push_back(writer.apply(batch[i]));
      if (!writer.failure()) continue;
      if (!is_damage(writer.failure())) return tl::unexpected(give_up(writer.failure(), bytes));
      left_out[i] = lmdb_error(writer.failure(), "a commit met damaged pages");
      again = true;
    }
    if (again) {
      files_.discard();
      continue;
    }
    if (writer.next_append() != next_append_) {
      std::string counter;
      fields::put_varint(counter, writer.next_append());
      txn.put(Table::meta, next_append_key, {counter});
    }
    int code = files_.flush_names();
    if (!code) code = txn.commit();
    if (code) return tl::unexpected(give_up(code, bytes));
    files_.keep();
    next_append_ = writer.next_append();
    return outcomes;
  }
}

/// A full disk and a failed fsync look the same, and are not: after the first nothing is written and all can
/// go on, after the second nobody knows what the disk holds.
Error LmdbJournal::give_up(int code, std::size_t bytes) {
  files_.discard();
  no_room_at_ = Steady::now().time_since_epoch().count();
  constexpr std::uint64_t room_for_overhead = 4u << 20;
  const bool is_full = code == MDB_MAP_FULL || code == ENOSPC || code == EDQUOT ||
                       (code == EIO && free_bytes_of(options_.data_dir) < 4 * bytes + room_for_overhead);
  RATCHET_ENSURE(is_full, fmt::format("committing to {} failed: {}", options_.data_dir, mdb_strerror(code)));
  return {
      ErrorCode::store_unavailable,
      fmt::format("there is no room for {} bytes in {}: {}", bytes, options_.data_dir, mdb_strerror(code))};
}

bool LmdbJournal::has_room(std::size_t bytes) const {
  return options_.free_bytes() >= options_.reserve_bytes + bytes;
}

JournalHealth LmdbJournal::health() {
  JournalHealth health;
  health.bytes_free = options_.free_bytes();
  health.bytes_used = environment_->bytes_used();
  health.durability = name(options_.durability);
  // Some limits show only in a commit (the map, a quota). Whether they have gone, the next one tells.
  const bool failed_lately =
      Steady::now() - Steady::time_point(Steady::duration(no_room_at_)) < retry_interval;
  health.writable = lock_ && !failed_lately && health.bytes_free >= options_.reserve_bytes;
  return health;
}

}  // namespace ratchet
