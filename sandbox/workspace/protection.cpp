#include "sandbox/workspace/protection.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace ratchet::sandbox {

namespace {

using At = Manifest::const_iterator;

At find_from(const Manifest& manifest, std::string_view path) {
  return std::lower_bound(
      manifest.begin(), manifest.end(), path, [](const ManifestEntry& entry, std::string_view sought) {
        return comes_before(entry.path, sought);
      });
}

const ManifestEntry* find(const Manifest& manifest, std::string_view path) {
  const At at = find_from(manifest, path);
  return at != manifest.end() && at->path == path ? &*at : nullptr;
}

bool is_within(std::string_view path, std::string_view tree) {
  return path.starts_with(tree) && (path.size() == tree.size() || path[tree.size()] == '/');
}

/// Both trees side by side: they are one range of each manifest.
std::optional<std::string> change_within(const Manifest& before,
                                         const Manifest& after,
                                         std::string_view tree) {
  At was = find_from(before, tree), is = find_from(after, tree);
  for (;; ++was, ++is) {
    const bool more_before = was != before.end() && is_within(was->path, tree);
    const bool more_after = is != after.end() && is_within(is->path, tree);
    if (!more_before && !more_after) return std::nullopt;
    if (!more_after || (more_before && comes_before(was->path, is->path))) return was->path;
    if (!more_before || *was != *is) return is->path;
  }
}

}  // namespace

const std::vector<std::string>& default_protected_paths() {
  static const std::vector<std::string> paths{
      ".bash_login", ".bash_logout",   ".bash_profile", ".bashrc",
      ".claude",     ".codex",         ".cursor",       ".devcontainer",
      ".envrc",      ".git/commondir", ".git/config",   ".git/config.worktree",
      ".git/hooks",  ".git/modules",   ".gitconfig",    ".gitmodules",
      ".idea",       ".mcp.json",      ".profile",      ".ssh",
      ".vscode",     ".zlogin",        ".zlogout",      ".zprofile",
      ".zshenv",     ".zshrc"};
  return paths;
}

Result<void> check_protected_paths(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    Manifest alone;
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
      alone.push_back({.path = path.substr(0, slash), .kind = EntryKind::directory});
    alone.push_back({.path = path});
    if (const auto decoded = decode_manifest(encode_manifest(alone)); !decoded)
      return fail(ErrorCode::invalid_request,
                  fmt::format("{} cannot be protected: {}", shown(path), decoded.error().text));
  }
  return {};
}

std::vector<std::string> present_in(const Manifest& manifest, const std::vector<std::string>& paths) {
  std::vector<std::string> present;
  std::copy_if(paths.begin(), paths.end(), std::back_inserter(present), [&](const std::string& path) {
    const ManifestEntry* entry = find(manifest, path);
    return entry && entry->kind != EntryKind::symlink;
  });
  return present;
}

std::optional<std::string> first_change(const Manifest& before,
                                        const Manifest& after,
                                        const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    for (std::string_view parent = parent_of(path); !parent.empty(); parent = parent_of(parent)) {
      const ManifestEntry* entry = find(after, parent);
      const ManifestEntry* was = find(before, parent);
      // A link leads elsewhere, and so does a file: git takes one at .git as the name of the true directory.
      if (entry && entry->kind != EntryKind::directory && !(was && *was == *entry)) return entry->path;
    }
    if (auto changed = change_within(before, after, path)) return changed;
  }
  return std::nullopt;
}

}  // namespace ratchet::sandbox
