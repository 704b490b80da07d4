#pragma once
// Paths of a workspace that something outside would later run or trust: hooks and configuration of git,
// start-up files of shells, settings of editors. A run does not change them, so an agent cannot leave a trap
// for whoever takes its files. They are protected in every directory, since a clone may lie in any.
//
// What is there when the workspace is opened is read-only while an overlay shows it. And wherever it is
// shown, a snapshot that would change, add or remove such a path is refused: that holds without mounts too,
// and for what was not there.

#include <optional>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/workspace/manifest.hpp"

namespace ratchet::sandbox {

/// What a configuration that says nothing protects.
const std::vector<std::string>& default_protected_paths();

/// Errors: invalid_request, for what is not the path of a manifest's entry.
Result<void> check_protected_paths(const std::vector<std::string>& paths);

/// The files and directories of a manifest that are one of these, in whatever directory, in its order; what
/// is within another one is not named.
std::vector<std::string> present_in(const Manifest& manifest, const std::vector<std::string>& paths);

/// The first path at which one of these, or what is in it, is not what it was, or where a directory on the
/// way to it has become something else. Nothing: they are as they were.
std::optional<std::string> first_change(const Manifest& before,
                                        const Manifest& after,
                                        const std::vector<std::string>& paths);

}  // namespace ratchet::sandbox
