#pragma once
// What `main` and the tools see of this folder: one LMDB environment in one directory is the whole database.
// Layout of the directory and of every table: docs/store-format.md.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/journal.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

struct StoreOptions {
  std::string data_dir;  ///< made, for its owner only, where it is missing
  Durability durability = Durability::fsync;
  /// 32 bytes that user tokens are sealed under, such as a credential that the service manager hands over.
  /// Empty: `<data_dir>/node.key`, made at the first start.
  std::string node_key_file;
  std::uint64_t map_bytes = 1ull << 40;  ///< address space, not disk: the most that can ever be stored
  std::uint64_t reserve_bytes = limits::free_space_reserve_bytes;  ///< kept free for cancels
  /// Free bytes of the disk; empty: asked of the file system. For tests.
  std::function<std::uint64_t()> free_bytes;
  /// Told of damage that a call had to pass over, such as a list with one damaged row in it. Called from any
  /// thread. Empty: printed to stderr.
  std::function<void(const Error&)> on_damage;
};

/// Opens the store for the one process that writes, and makes it where there is none. A child process looks
/// it over first, so that damaged pages cannot take this process down (store/check.hpp): call this before
/// other threads are started. Errors: store_unavailable, where another process has it or the directory cannot
/// be used; corrupt, where it is damaged beyond single runs; not_supported, where another version wrote it.
/// A node key that cannot be used is told to `on_damage`, and so are tokens that it does not open: runs that
/// need none go on, and every use of a token is refused as corrupt.
Result<std::unique_ptr<Journal>> open_store(const StoreOptions& options);

/// Opens for reading only, beside a running server too. Errors: as above.
Result<std::unique_ptr<JournalReader>> open_store_for_reading(const std::string& data_dir);

}  // namespace ratchet
