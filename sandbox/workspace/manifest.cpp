#include "sandbox/workspace/manifest.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/event/fields.hpp"
#include "runtime/limits.hpp"

namespace ratchet::sandbox {

namespace {

constexpr std::string_view heading = "ratchet workspace 2\n";
constexpr std::string_view heading_without_times = "ratchet workspace 1\n";
constexpr std::size_t name_bytes_max = 255;  // of Linux's file systems
constexpr char directory_mark = 'd', file_mark = 'f', executable_mark = 'x', symlink_mark = 'l';

char mark_of(const ManifestEntry& entry) {
  switch (entry.kind) {
    case EntryKind::directory:
      return directory_mark;
    case EntryKind::symlink:
      return symlink_mark;
    case EntryKind::file:
      break;
  }
  return entry.executable ? executable_mark : file_mark;
}

void put_bytes(std::string& out, std::string_view bytes) {
  fields::put_varint(out, bytes.size());
  out += bytes;
}

const char* problem_of_path(std::string_view path) {
  if (path.empty() || path.size() > limits::workspace_path_bytes_max) return "a path is empty or too long";
  if (path.find('\0') != std::string_view::npos) return "a path has a NUL";
  if (depth_of(path) >= limits::workspace_depth_max) return "a path is too deep";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view name = path.substr(at, end - at);
    if (name.empty() || name == "." || name == ".." || name.size() > name_bytes_max)
      return "a path has a part that is no name";
    at = end + 1;
  }
  return nullptr;
}

/// Reads entry after entry, and holds that each stands where it may.
class Reader {
 public:
  Reader(std::string_view bytes, bool with_times) : input_{bytes}, with_times_(with_times) {}

  Manifest read() {
    const std::uint64_t count = input_.varint();
    if (count > limits::workspace_files_max) input_.refuse("it has too many entries");
    Manifest manifest;
    for (std::uint64_t i = 0; i < count && !input_.error; ++i) {
      manifest.push_back(entry());
      if (!input_.error) check(manifest);
    }
    if (!input_.rest.empty()) input_.refuse("there are bytes after its end");
    return manifest;
  }

  const char* error() const { return input_.error; }

 private:
  ManifestEntry entry() {
    ManifestEntry entry;
    const std::string_view mark = input_.bytes(1);
    entry.path = input_.bytes(input_.varint());
    if (mark == std::string_view(&directory_mark, 1)) {
      entry.kind = EntryKind::directory;
    } else if (mark == std::string_view(&symlink_mark, 1)) {
      entry.kind = EntryKind::symlink;
      entry.target = input_.bytes(input_.varint());
    } else {
      entry.executable = mark == std::string_view(&executable_mark, 1);
      if (!entry.executable && mark != std::string_view(&file_mark, 1)) input_.refuse("an entry has no kind");
      entry.size = input_.varint();
      if (with_times_) entry.mtime_ns = static_cast<std::int64_t>(input_.varint());
      const std::string_view hash = input_.bytes(entry.hash.bytes.size());
      std::copy(hash.begin(), hash.end(), entry.hash.bytes.begin());
    }
    return entry;
  }

  void check(const Manifest& manifest) {
    const ManifestEntry& entry = manifest.back();
    if (const char* problem = problem_of_path(entry.path)) return input_.refuse(problem);
    if (manifest.size() > 1 && !comes_before(manifest[manifest.size() - 2].path, entry.path))
      return input_.refuse("its entries are out of order");
    while (!open_.empty() && manifest[open_.back()].path != parent_of(entry.path))
      open_.pop_back();
    if (open_.empty() && !parent_of(entry.path).empty()) return input_.refuse("a directory is missing");
    if (entry.kind == EntryKind::directory) open_.push_back(manifest.size() - 1);
    if (entry.kind == EntryKind::symlink &&
        (entry.target.empty() || entry.target.size() > limits::workspace_path_bytes_max ||
         entry.target.find('\0') != std::string::npos))
      return input_.refuse("a link has no target");
    if (entry.size > limits::workspace_bytes_max - bytes_) return input_.refuse("its files are too large");
    bytes_ += entry.size;
    if (with_times_ && entry.kind == EntryKind::file && entry.mtime_ns <= 0)
      return input_.refuse("a file has no time");
  }

  fields::Input input_;
  const bool with_times_;
  std::vector<std::size_t> open_;  ///< the directories around the last entry: places in the manifest
  std::uint64_t bytes_ = 0;
};

std::string encode(const Manifest& manifest, bool with_times) {
  std::string out(with_times ? heading : heading_without_times);
  fields::put_varint(out, manifest.size());
  for (const ManifestEntry& entry : manifest) {
    out += mark_of(entry);
    put_bytes(out, entry.path);
    if (entry.kind == EntryKind::symlink) put_bytes(out, entry.target);
    if (entry.kind != EntryKind::file) continue;
    fields::put_varint(out, entry.size);
    if (with_times) fields::put_varint(out, static_cast<std::uint64_t>(entry.mtime_ns));
    out += entry.hash.view();
  }
  return out;
}

}  // namespace

bool comes_before(std::string_view path, std::string_view other) {
  const auto [a, b] = std::mismatch(path.begin(), path.end(), other.begin(), other.end());
  if (b == other.end()) return false;
  if (a == path.end()) return true;
  if (*a == '/' || *b == '/') return *a == '/';
  return static_cast<unsigned char>(*a) < static_cast<unsigned char>(*b);
}

std::string encode_manifest(const Manifest& manifest) {
  return encode(manifest, true);
}

Result<Manifest> decode_manifest(std::string_view bytes) {
  const bool with_times = bytes.starts_with(heading);
  if (!with_times && !bytes.starts_with(heading_without_times))
    return fail(ErrorCode::corrupt, "a manifest begins otherwise");
  Reader reader(bytes.substr(heading.size()), with_times);
  Manifest manifest = reader.read();
  if (reader.error()) return fail(ErrorCode::corrupt, fmt::format("a manifest: {}", reader.error()));
  // A number can be written in more than one way, but only one of them is ours.
  if (encode(manifest, with_times) != bytes) return fail(ErrorCode::corrupt, "a manifest is not in its form");
  return manifest;
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return path.substr(0, slash == std::string_view::npos ? 0 : slash);
}

std::size_t depth_of(std::string_view path) {
  return static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
}

std::string shown(std::string_view path) {
  constexpr std::size_t bytes_max = 200;
  std::string text;
  for (const char byte : path.substr(0, bytes_max))
    if (byte >= ' ' && byte <= '~' && byte != '\\')
      text += byte;
    else
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  if (path.size() > bytes_max) text += "…";
  return text;
}

}  // namespace ratchet::sandbox
