#pragma once
// What a snapshot says: every file, directory and symbolic link of a workspace, each once, in one order. The
// SHA-256 of the encoded manifest names the snapshot, so whatever is in it takes part in the name and nothing
// else does: equal files have equal names.
//
// Recorded of a file: its bytes, whether its owner may execute it, and when it was last written, which is
// what make and its like go by. Not recorded: owners, other mode bits (so no setuid), hard links between
// files, extended attributes, other times.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/hash.hpp"
#include "runtime/result.hpp"

namespace ratchet::sandbox {

enum class EntryKind : std::uint8_t { directory, file, symlink };

struct ManifestEntry {
  std::string path;  ///< from the root of the workspace, without a slash at either end; any byte but NUL
  EntryKind kind = EntryKind::file;
  bool executable = false;  ///< a file
  std::uint64_t size = 0;   ///< a file: its bytes
  Hash hash = {};           ///< a file: of its bytes
  /// A file: of its last write, since 1970. 0: the manifest is of the first form, which has no times.
  std::int64_t mtime_ns = 0;
  std::string target = {};  ///< a symlink: what it says; never followed

  bool operator==(const ManifestEntry&) const = default;
};

/// A directory comes before what is in it, and all of that before its next sibling; siblings are in order of
/// their bytes. So this is the order of a walk.
bool comes_before(std::string_view path, std::string_view other);

/// Entries in that order; the parent of each is there too.
using Manifest = std::vector<ManifestEntry>;

/// Its only encoding: docs/store-format.md, "Workspaces".
std::string encode_manifest(const Manifest& manifest);
/// Takes what `encode_manifest` writes, or wrote when there were no times, and nothing else, within the
/// bounds of `runtime/limits.hpp`: whatever it returns can be restored without leaving the directory. Errors:
/// corrupt.
Result<Manifest> decode_manifest(std::string_view bytes);

/// The last part of a path, and what is before it.
std::string_view name_of(std::string_view path);
std::string_view parent_of(std::string_view path);
/// How many directories it lies in: 0 for a name at the top.
std::size_t depth_of(std::string_view path);

/// A path as people can read it: what is not printable ASCII, as \xNN, and no more than 200 bytes of it.
std::string shown(std::string_view path);

}  // namespace ratchet::sandbox
