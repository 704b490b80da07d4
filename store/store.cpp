#include "store/store.hpp"

#include "store/lmdb_journal.hpp"

namespace ratchet {

Result<std::unique_ptr<Journal>> open_store(const StoreOptions& options) {
  auto journal = LmdbJournal::open(options);
  if (!journal) return tl::unexpected(journal.error());
  return std::unique_ptr<Journal>(std::move(*journal));
}

Result<std::unique_ptr<JournalReader>> open_store_for_reading(const std::string& data_dir) {
  auto journal = LmdbJournal::open_for_reading(data_dir);
  if (!journal) return tl::unexpected(journal.error());
  return std::unique_ptr<JournalReader>(std::move(*journal));
}

}  // namespace ratchet
