// Whatever lies in the object store: what is taken for a manifest has one encoding, and every path in it
// stays in the workspace.

#include <algorithm>
#include <cstdint>

#include "runtime/limits.hpp"
#include "sandbox/workspace/manifest.hpp"

namespace ratchet::sandbox {
namespace {

void check_path(std::string_view path) {
  RATCHET_ENSURE(!path.empty() && path.front() != '/' && path.back() != '/', "a path is no path");
  const std::string framed = '/' + std::string(path) + '/';
  for (const char* part : {"//", "/./", "/../"})
    RATCHET_ENSURE(framed.find(part) == std::string::npos, "a path leads elsewhere");
  RATCHET_ENSURE(path.find('\0') == std::string_view::npos, "a path has a NUL");
}

void check(std::string_view bytes) {
  const auto manifest = decode_manifest(bytes);
  if (!manifest) return;
  RATCHET_ENSURE(encode_manifest(*manifest) == bytes, "a manifest has two encodings");
  RATCHET_ENSURE(manifest->size() <= limits::workspace_files_max, "a manifest is too long");
  std::uint64_t total = 0;
  for (const ManifestEntry& entry : *manifest) {
    check_path(entry.path);
    total += entry.size;
    const std::string_view parent = parent_of(entry.path);
    RATCHET_ENSURE(parent.empty() || std::any_of(manifest->begin(),
                                                 manifest->end(),
                                                 [&](const ManifestEntry& other) {
                                                   return other.path == parent &&
                                                          other.kind == EntryKind::directory;
                                                 }),
                   "an entry lies in no directory");
  }
  RATCHET_ENSURE(total <= limits::workspace_bytes_max, "a manifest holds too much");
}

}  // namespace
}  // namespace ratchet::sandbox

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ratchet::sandbox::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
