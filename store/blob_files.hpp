#pragma once
// Blobs that are too large for the database: files of their own, `<data_dir>/blobs/<run>-<n>`. A file is
// written under another name, flushed and renamed, and the directory flushed, all before the commit that
// refers to it. What a commit that failed left behind is removed at once, what a crash left at the next
// start.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ids.hpp"
#include "runtime/result.hpp"
#include "store/layout.hpp"

namespace ratchet {

class BlobFiles {
 public:
  BlobFiles(const std::string& data_dir, bool durable) : directory_(data_dir + "/blobs"), durable_(durable) {}

  /// Writes the file of a blob that is not committed yet. Returns an errno, or 0.
  int write(const RunId& run, std::uint32_t n, std::string_view bytes);
  /// Flushes the names of the files written since the last `keep` or `discard`. Returns an errno, or 0.
  int flush_names();

  /// They are committed.
  void keep() { fresh_.clear(); }

  /// They are not, and go.
  void discard();

  /// Called from any thread. Errors: corrupt, where the file is missing or not what was written.
  Result<std::string> read(const RunId& run,
                           std::uint32_t n,
                           const layout::StoredBlob& blob,
                           std::uint64_t offset,
                           std::uint64_t limit) const;

  /// Removes what no commit refers to. Errors: store_unavailable.
  Result<void> sweep(const std::function<bool(const RunId&, std::uint32_t)>& is_known);

  std::string path(const RunId& run, std::uint32_t n) const;

 private:
  std::string directory_;
  bool durable_;
  std::vector<std::string> fresh_;
};

/// The checksums of a blob's parts, as `layout::StoredBlob` keeps them.
std::vector<std::uint32_t> part_checksums(std::string_view bytes);

}  // namespace ratchet
