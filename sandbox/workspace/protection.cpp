#include "sandbox/workspace/protection.hpp"

#include <fmt/format.h>

namespace ratchet::sandbox {

namespace {

bool is_within(std::string_view path, std::string_view tree) {
  return path.starts_with(tree) && (path.size() == tree.size() || path[tree.size()] == '/');
}

/// How a path stands to the protected ones: at one or within, on the way to one, or neither.
enum class Standing { elsewhere, on_the_way, within };

/// Seen from every directory that the path lies in.
Standing standing_of(std::string_view path, const std::vector<std::string>& paths) {
  Standing out = Standing::elsewhere;
  for (std::size_t from = 0;;) {
    const std::string_view rest = path.substr(from);
    for (const std::string& each : paths) {
      if (is_within(rest, each)) return Standing::within;
      if (is_within(each, rest)) out = Standing::on_the_way;
    }
    const std::size_t slash = path.find('/', from);
    if (slash == path.npos) return out;
    from = slash + 1;
  }
}

/// But for the time of the last write, which nobody runs.
bool same(const ManifestEntry& entry, const ManifestEntry& other) {
  return entry.kind == other.kind && entry.executable == other.executable && entry.size == other.size &&
         entry.hash == other.hash && entry.target == other.target;
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
    alone.push_back({.path = path, .mtime_ns = 1});
    if (const auto decoded = decode_manifest(encode_manifest(alone)); !decoded)
      return fail(ErrorCode::invalid_request,
                  fmt::format("{} cannot be protected: {}", shown(path), decoded.error().text));
  }
  return {};
}

std::vector<std::string> present_in(const Manifest& manifest, const std::vector<std::string>& paths) {
  std::vector<std::string> present;
  for (const ManifestEntry& entry : manifest) {
    if (entry.kind == EntryKind::symlink || standing_of(entry.path, paths) != Standing::within) continue;
    if (present.empty() || !is_within(entry.path, present.back())) present.push_back(entry.path);
  }
  return present;
}

/// Both walks side by side. Only what is not as it was is looked at.
std::optional<std::string> first_change(const Manifest& before,
                                        const Manifest& after,
                                        const std::vector<std::string>& paths) {
  auto was = before.begin(), is = after.begin();
  while (was != before.end() || is != after.end()) {
    const bool removed = is == after.end() || (was != before.end() && comes_before(was->path, is->path));
    const bool added = !removed && (was == before.end() || comes_before(is->path, was->path));
    const ManifestEntry& entry = removed ? *was : *is;
    const bool unchanged = !removed && !added && same(*was, *is);
    if (!added) ++was;
    if (!removed) ++is;
    if (unchanged) continue;
    const Standing standing = standing_of(entry.path, paths);
    // A link on the way leads elsewhere, and so does a file: git takes one at .git as the name of the true
    // directory.
    if (standing == Standing::within ||
        (standing == Standing::on_the_way && !removed && entry.kind != EntryKind::directory))
      return entry.path;
  }
  return std::nullopt;
}

}  // namespace ratchet::sandbox
