#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sandbox/launch/cgroup.hpp"
#include "sandbox/launch/files.hpp"

namespace ratchet::sandbox {

namespace {

using Version = CgroupLayout::Version;

constexpr std::array<std::string_view, 4> controllers = {"memory", "pids", "cpu", "freezer"};
constexpr std::string_view node_leaf = "/ratchet-node";
constexpr std::string_view v2_controllers = "+memory +pids +cpu";

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = text.find(at);
    if (end != 0) out.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return out;
}

bool has(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// One line of mountinfo, proc(5): 36 35 98:0 root mount-point options [optional fields] - type source super.
struct Mount {
  std::string_view point, type;
  std::vector<std::string_view> options;  // of the file system
};

std::optional<Mount> parse_mount(std::string_view line) {
  const auto halves = line.find(" - ");
  if (halves == line.npos) return std::nullopt;
  const auto left = split(line.substr(0, halves), ' '), right = split(line.substr(halves + 3), ' ');
  if (left.size() < 6 || right.size() < 3) return std::nullopt;
  return Mount{left[4], right[0], split(right[2], ',')};
}

void say_what_is_missing(CgroupLayout& layout) {
  for (std::size_t n = 0; n < controllers.size(); ++n)
    if (layout.folders[n].empty())
      layout.missing.push_back(fmt::format("{}: no control group can be written", controllers[n]));
}

/// Whether a group can be made there, by making one.
bool can_make(const std::string& folder) {
  const auto probe = fmt::format("{}/ratchet-probe-{}", folder, ::getpid());
  if (::mkdir(probe.c_str(), 0755) != 0) return false;
  ::rmdir(probe.c_str());
  return true;
}

bool enabled(const std::string& folder) {
  const auto text = read_file(folder + "/cgroup.subtree_control");
  if (!text) return false;
  auto words = split(std::string_view(*text).substr(0, text->find('\n')), ' ');
  return has(words, "memory") && has(words, "pids") && has(words, "cpu");
}

/// A group that is not the top one has either processes or children with controllers. So the node goes into
/// a child first, where it is alone in the group.
bool enable(const std::string& folder) {
  const auto control = folder + "/cgroup.subtree_control";
  if (enabled(folder) || write_existing(control, v2_controllers)) return true;
  const auto leaf = folder + std::string(node_leaf);
  if (!make_directory(leaf, 0755) || !write_existing(leaf + "/cgroup.procs", "0")) return false;
  return write_existing(control, v2_controllers).has_value();
}

/// The node's own group of version 2, relative to the mount: the line that begins with "0::". Empty at the
/// top.
std::string_view own_group(std::string_view own) {
  for (auto line : split(own, '\n')) {
    if (!line.starts_with("0::/")) continue;
    line.remove_prefix(3);
    if (line.ends_with(node_leaf)) line.remove_suffix(node_leaf.size());
    return line == "/" ? std::string_view() : line;
  }
  return {};
}

CgroupLayout usable_v2(const CgroupLayout& found, std::string_view own) {
  const std::string& top = found.folder(Controller::memory);
  CgroupLayout out;
  for (const auto within : {std::string_view(), own}) {
    const auto folder = top + std::string(within);
    if (!can_make(folder) || !enable(folder)) continue;
    out.version = Version::v2;
    out.folders.fill(folder);
    out.within = within;
    return out;
  }
  say_what_is_missing(out);
  return out;
}

CgroupLayout usable_v1(CgroupLayout layout) {
  for (auto& folder : layout.folders)
    if (!folder.empty() && !can_make(folder)) folder.clear();
  layout.missing.clear();
  say_what_is_missing(layout);
  if (layout.missing.size() == controllers.size()) layout.version = Version::none;
  return layout;
}

}  // namespace

CgroupLayout parse_cgroup_mounts(std::string_view mountinfo) {
  CgroupLayout v1, v2;
  for (const auto line : split(mountinfo, '\n')) {
    const auto mount = parse_mount(line);
    if (!mount) continue;
    if (mount->type == "cgroup2") {
      v2.version = Version::v2;
      v2.folders.fill(std::string(mount->point));
    }
    if (mount->type != "cgroup") continue;
    for (std::size_t n = 0; n < controllers.size(); ++n)
      if (has(mount->options, controllers[n])) {
        v1.version = Version::v1;
        v1.folders[n] = mount->point;
      }
  }
  CgroupLayout& found = v1.version == Version::v1 ? v1 : v2;
  say_what_is_missing(found);
  return found;
}

CgroupLayout find_cgroups(std::string_view mountinfo, std::string_view own) {
  auto layout = parse_cgroup_mounts(mountinfo);
  switch (layout.version) {
    case Version::v1:
      return usable_v1(std::move(layout));
    case Version::v2:
      return usable_v2(layout, own_group(own));
    case Version::none:
      break;
  }
  return layout;
}

CgroupLayout find_cgroups() {
  const auto mounts = read_file("/proc/self/mountinfo"), own = read_file("/proc/self/cgroup");
  return find_cgroups(mounts.value_or(""), own.value_or(""));
}

std::vector<std::string> cgroups_named(const CgroupLayout& layout, std::string_view prefix) {
  std::vector<std::string> out;
  for (const auto& folder : layout.folders) {
    if (folder.empty()) continue;
    std::error_code ignored;  // a folder that cannot be listed has nothing that we could remove
    for (std::filesystem::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) {
      auto name = at->path().filename().string();
      if (name.starts_with(prefix) && at->is_directory(ignored)) out.push_back(std::move(name));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace ratchet::sandbox
