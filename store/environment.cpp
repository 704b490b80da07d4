#include "store/environment.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <lmdb.h>

#include "runtime/event/fields.hpp"
#include "store/crc32c.hpp"

namespace ratchet {

namespace {

constexpr std::size_t seal_bytes = 4;
constexpr unsigned readers_max = 512;
constexpr std::uint64_t format_number = 1;
constexpr std::string_view format_key = "format";

MDB_val val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

std::string_view view(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes)
    out += fmt::format("{:02x}", static_cast<std::uint8_t>(byte));
  return out;
}

Result<std::string_view> unseal(Table table, std::string_view key, std::string_view sealed) {
  if (sealed.size() >= seal_bytes) {
    const std::string_view value = sealed.substr(0, sealed.size() - seal_bytes);
    std::uint32_t seal;
    std::memcpy(&seal, value.end(), seal_bytes);
    if (crc32c(crc32c(0, key), value) == seal) return value;
  }
  return fail(
      ErrorCode::corrupt,
      fmt::format("table {}, key {}: {} bytes fail their checksum", name(table), hex(key), sealed.size()));
}

}  // namespace

bool is_damage(int code) {
  return code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_INVALID || code == MDB_CURSOR_FULL;
}

Error lmdb_error(int code, std::string_view what) {
  return {is_damage(code) ? ErrorCode::corrupt : ErrorCode::store_unavailable,
          fmt::format("{}: {} ({})", what, mdb_strerror(code), code)};
}

// --- environment
// --------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Environment>> Environment::open(const std::string& path,
                                                       Access access,
                                                       bool durable,
                                                       std::uint64_t map_bytes) {
  std::unique_ptr<Environment> environment(new Environment);
  if (const int code = mdb_env_create(&environment->env_))
    return tl::unexpected(lmdb_error(code, "cannot make an environment"));
  MDB_env* env = environment->env_;
  // Without a size given, LMDB takes the one that the file was made with.
  if (map_bytes > 0) mdb_env_set_mapsize(env, map_bytes);
  mdb_env_set_maxdbs(env, table_count);
  mdb_env_set_maxreaders(env, readers_max);
  // NOTLS: a reader slot belongs to a transaction, not to a thread. NORDAHEAD: a server's reads are random;
  // those of a check or a salvage are not, and happen where nothing is cached yet.
  unsigned flags = MDB_NOSUBDIR | MDB_NOTLS;
  if (access != Access::write) flags |= MDB_RDONLY;
  flags |= access == Access::read_no_lock ? MDB_NOLOCK : MDB_NORDAHEAD;
  if (!durable) flags |= MDB_NOSYNC;
  const int code = mdb_env_open(env, path.c_str(), flags, 0600);
  if (code == MDB_VERSION_MISMATCH)
    return fail(ErrorCode::not_supported, fmt::format("{} is of another version of LMDB", path));
  if (code) return tl::unexpected(lmdb_error(code, fmt::format("cannot open {}", path)));
  if (auto opened = environment->open_tables(access == Access::write); !opened)
    return fail(opened.error().code, fmt::format("{}: {}", path, opened.error().text));
  return environment;
}

Environment::~Environment() {
  if (env_) mdb_env_close(env_);
}

/// The format is looked at before anything is made or changed.
Result<void> Environment::open_tables(bool create) {
  MDB_txn* txn = nullptr;
  if (const int code = mdb_txn_begin(env_, nullptr, create ? 0 : MDB_RDONLY, &txn))
    return tl::unexpected(lmdb_error(code, "cannot begin"));
  std::unique_ptr<MDB_txn, decltype(&mdb_txn_abort)> guard{txn, &mdb_txn_abort};

  const std::string meta(name(Table::meta));
  MDB_val key = val(format_key), value;
  int code = mdb_dbi_open(txn, meta.c_str(), 0, &handles_[0]);
  if (code == 0) code = mdb_get(txn, handles_[0], &key, &value);
  MDB_stat main;
  const bool is_empty = code == MDB_NOTFOUND && mdb_env_stat(env_, &main) == 0 && main.ms_entries == 0;
  if (is_empty && !create) return fail(ErrorCode::not_found, "nothing was ever written to it");
  const bool is_new = is_empty && create;
  if (code && !is_new) return tl::unexpected(lmdb_error(code, "cannot read the format"));
  if (!is_new) {
    const auto bytes = unseal(Table::meta, format_key, view(value));
    if (!bytes) return tl::unexpected(bytes.error());
    const std::uint64_t format = fields::Input{*bytes}.varint();
    if (format != format_number)
      return fail(ErrorCode::not_supported,
                  fmt::format("the store has format {}, this build reads {}", format, format_number));
  }
  for (std::size_t i = 0; i < table_count; ++i) {
    const std::string table(name(static_cast<Table>(i)));
    code = mdb_dbi_open(txn, table.c_str(), create ? MDB_CREATE : 0, &handles_[i]);
    if (code == MDB_NOTFOUND && i >= static_cast<std::size_t>(first_added_table)) {
      handles_[i] = absent;
      continue;
    }
    if (code) return tl::unexpected(lmdb_error(code, "cannot open table " + table));
  }
  if (is_new) {
    std::string sealed;
    fields::put_varint(sealed, format_number);
    const std::uint32_t seal = crc32c(crc32c(0, format_key), sealed);
    sealed.append(reinterpret_cast<const char*>(&seal), seal_bytes);
    value = val(sealed);
    code = mdb_put(txn, handles_[0], &key, &value, 0);
    if (code) return tl::unexpected(lmdb_error(code, "cannot write the format"));
  }
  // Handles stay only if the transaction that opened them commits, a reading one too.
  code = mdb_txn_commit(guard.release());
  if (code) return tl::unexpected(lmdb_error(code, "cannot make the tables"));
  return {};
}

std::uint64_t Environment::bytes_used() const {
  MDB_envinfo info;
  MDB_stat stat;
  if (mdb_env_info(env_, &info) || mdb_env_stat(env_, &stat)) return 0;
  return (info.me_last_pgno + 1) * stat.ms_psize;
}

int Environment::clear_stale_readers() {
  int dead = 0;
  mdb_reader_check(env_, &dead);
  return dead;
}

int Environment::sync() {
  return mdb_env_sync(env_, 1);
}

// --- transactions
// --------------------------------------------------------------------------------------------------

Txn::Txn(const Environment& environment, Kind kind) : environment_(environment) {
  failure_ = mdb_txn_begin(environment.get(), nullptr, kind == Kind::read ? MDB_RDONLY : 0, &txn_);
}

Txn::~Txn() {
  if (txn_) mdb_txn_abort(txn_);
}

Result<std::optional<std::string_view>> Txn::get(Table table, std::string_view key) {
  MDB_val found, wanted = val(key);
  if (!failure_ && !environment_.has(table)) return std::nullopt;
  if (!failure_) {
    const int code = mdb_get(txn_, environment_.handle(table), &wanted, &found);
    if (code == MDB_NOTFOUND) return std::nullopt;
    failure_ = code;
  }
  if (failure_) return tl::unexpected(lmdb_error(failure_, fmt::format("reading table {}", name(table))));
  auto value = unseal(table, key, view(found));
  if (!value) return tl::unexpected(value.error());
  return *value;
}

bool Txn::contains(Table table, std::string_view key) {
  if (failure_ || !environment_.has(table)) return false;
  MDB_val found, wanted = val(key);
  const int code = mdb_get(txn_, environment_.handle(table), &wanted, &found);
  if (code != MDB_NOTFOUND) failure_ = code;
  return code == 0;
}

void Txn::put(Table table, std::string_view key, std::initializer_list<std::string_view> parts, bool at_end) {
  if (failure_) return;
  std::size_t bytes = seal_bytes;
  for (const std::string_view part : parts)
    bytes += part.size();
  MDB_val where = val(key), value{bytes, nullptr};
  failure_ = mdb_put(txn_,
                     environment_.handle(table),
                     &where,
                     &value,
                     static_cast<unsigned>(MDB_RESERVE) | (at_end ? MDB_APPEND : 0));
  if (failure_) return;
  auto* to = static_cast<char*>(value.mv_data);
  std::uint32_t seal = crc32c(0, key);
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    std::memcpy(to, part.data(), part.size());
    to += part.size();
    seal = crc32c(seal, part);
  }
  std::memcpy(to, &seal, seal_bytes);
}

void Txn::erase(Table table, std::string_view key) {
  if (failure_) return;
  MDB_val where = val(key);
  const int code = mdb_del(txn_, environment_.handle(table), &where, nullptr);
  // What is not there need not be erased: an index entry that was damaged, for one.
  if (code != MDB_NOTFOUND) failure_ = code;
}

int Txn::commit() {
  if (failure_) return failure_;
  failure_ = mdb_txn_commit(txn_);  // frees it, whatever it returns
  txn_ = nullptr;
  return failure_;
}

// --- cursors
// --------------------------------------------------------------------------------------------------

Cursor::Cursor(Txn& txn, Table table) : txn_(txn), table_(table) {
  if (!txn.failure_ && txn.environment_.has(table))
    txn.failure_ = mdb_cursor_open(txn.txn_, txn.environment_.handle(table), &cursor_);
}

Cursor::~Cursor() {
  if (cursor_) mdb_cursor_close(cursor_);
}

bool Cursor::move(int operation, std::string_view key) {
  if (txn_.failure_ || !cursor_) return false;
  MDB_val found_key = val(key), found;
  const int code = mdb_cursor_get(cursor_, &found_key, &found, static_cast<MDB_cursor_op>(operation));
  if (code) {
    if (code != MDB_NOTFOUND) txn_.failure_ = code;
    return false;
  }
  key_ = view(found_key);
  sealed_ = view(found);
  return true;
}

bool Cursor::first() {
  return move(MDB_FIRST);
}

bool Cursor::last() {
  return move(MDB_LAST);
}

bool Cursor::next() {
  return move(MDB_NEXT);
}

bool Cursor::previous() {
  return move(MDB_PREV);
}

bool Cursor::seek(std::string_view key) {
  return move(MDB_SET_RANGE, key);
}

bool Cursor::seek_before(std::string_view key) {
  return seek(key) ? previous() : last();
}

Result<std::string_view> Cursor::value() const {
  return unseal(table_, key_, sealed_);
}

}  // namespace ratchet
