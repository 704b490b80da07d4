#pragma once
// LMDB behind three small classes: the environment with its tables, a transaction, a cursor. Every value is
// sealed on its way in and checked on its way out: the last four bytes are the CRC-32C of key and value.
//
// A transaction remembers its first failure and does nothing after it, so that a series of writes is checked
// once, before the commit.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/enums.hpp"
#include "runtime/result.hpp"

struct MDB_env;
struct MDB_txn;
struct MDB_cursor;

namespace ratchet {

/// docs/store-format.md describes each. New ones are added at the end.
RATCHET_ENUM(Table,
             meta,
             events,
             runs,
             chunks,
             active,
             by_team,
             by_parent,
             due,
             claims,
             artifacts,
             blobs,
             definitions,
             approvals,
             approvals_by_status,
             secrets,
             outbox,
             snapshots)

inline constexpr std::size_t table_count = 17;
/// Stores of the first builds have no tables from here on: opened for reading, those are empty.
inline constexpr Table first_added_table = Table::approvals;
static_assert(enum_at<Table>(table_count - 1) && !enum_at<Table>(table_count));

/// What LMDB says, as an error: corrupt for what only a damaged file can cause, otherwise store_unavailable.
Error lmdb_error(int code, std::string_view what);
/// Whether only a damaged file can cause this code.
bool is_damage(int code);

class Environment {
 public:
  enum class Access {
    write,        ///< made where it is missing
    read,         ///< beside a writer in another process
    read_no_lock  ///< nobody writes: the caller holds the directory
  };

  /// Errors: store_unavailable; corrupt; not_supported, of another version; not_found, where the process that
  /// made the file died before its first commit.
  static Result<std::unique_ptr<Environment>> open(const std::string& path,
                                                   Access access,
                                                   bool durable,
                                                   std::uint64_t map_bytes);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  MDB_env* get() const { return env_; }

  /// Whether the store has this table: see `first_added_table`.
  bool has(Table table) const { return handle(table) != absent; }

  unsigned handle(Table table) const { return handles_[static_cast<std::size_t>(table)]; }

  /// Pages of the file that are or were in use, times their size.
  std::uint64_t bytes_used() const;
  /// Frees the slots of readers that died. Returns how many there were.
  int clear_stale_readers();
  /// Flushes what `os` durability left to the kernel.
  int sync();

 private:
  static constexpr unsigned absent = ~0u;

  Environment() = default;
  Result<void> open_tables(bool create);

  MDB_env* env_ = nullptr;
  std::array<unsigned, table_count> handles_{};
};

/// Views that a transaction returns live until its next write, or its end. One thread at a time.
class Txn {
 public:
  enum class Kind { read, write };

  Txn(const Environment& environment, Kind kind);
  ~Txn();
  Txn(const Txn&) = delete;
  Txn& operator=(const Txn&) = delete;

  /// The value, without its seal; nothing where there is none. Errors: corrupt, store_unavailable.
  Result<std::optional<std::string_view>> get(Table table, std::string_view key);
  bool contains(Table table, std::string_view key);
  /// The parts, one after the other, and their seal. `at_end`: the key is known to be the greatest.
  void put(Table table,
           std::string_view key,
           std::initializer_list<std::string_view> parts,
           bool at_end = false);
  void erase(Table table, std::string_view key);

  /// The first failure (an errno or an LMDB code), or 0. After it the transaction can only be given up.
  int failure() const { return failure_; }

  /// Returns 0 once everything is durable. Called at most once.
  int commit();

 private:
  friend class Cursor;

  const Environment& environment_;
  MDB_txn* txn_ = nullptr;
  int failure_ = 0;
};

/// Walks a table in order of key. Moves return false at the end, and after a failure of the transaction.
class Cursor {
 public:
  Cursor(Txn& txn, Table table);
  ~Cursor();
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  bool first();
  bool last();
  bool next();
  bool previous();
  /// To the first key that is not before this one.
  bool seek(std::string_view key);
  /// To the last key before this one.
  bool seek_before(std::string_view key);

  std::string_view key() const { return key_; }

  /// Errors: corrupt.
  Result<std::string_view> value() const;

 private:
  bool move(int operation, std::string_view key = {});

  Txn& txn_;
  Table table_;
  MDB_cursor* cursor_ = nullptr;
  std::string_view key_, sealed_;
};

}  // namespace ratchet
