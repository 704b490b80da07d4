#pragma once
// What sandboxes of a node are to the machine, as anybody can see it: by the label in the names.

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace ratchet::crashing {

/// The label of the node that has this data directory: ratchet-<node>-.
std::string node_label(const std::filesystem::path& data_dir);

/// Control groups with this label, each as its path and inode, so that one that was made anew is another one.
std::set<std::string> groups_of(const std::string& label);

/// Waits until nothing runs in these groups any more, a minute at most; who still does, by number and name.
std::vector<std::string> survivors_of(const std::string& label);

/// What the node's directory has of single sandboxes and of open workspaces.
std::vector<std::string> directories_of(const std::filesystem::path& data_dir);

}  // namespace ratchet::crashing
