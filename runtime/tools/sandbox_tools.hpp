#pragma once
// Tools that run in a sandbox, as pure functions: what a call of one executes there, and what the end of that
// means. The built-in ones (`bash`, `run_python` and the file tools) and those of teams take the same way.

#include <span>
#include <string>
#include <string_view>

#include "runtime/ids.hpp"
#include "runtime/result.hpp"
#include "runtime/sandbox/command.hpp"
#include "runtime/tools/call_end.hpp"
#include "runtime/tools/manifest.hpp"

namespace ratchet {

/// The manifests of the built-in tools of tier 3, sorted by name.
std::span<const std::string_view> sandbox_tool_manifests();

/// What the call executes. `args_json` has passed the tool's schema.
/// Errors: invalid_request, worded for the model.
Result<SandboxCommand> command_of(const ToolManifest& tool, std::string_view args_json);

/// A file that a run finds in its workspace from the beginning.
struct WorkspaceFile {
  std::string path;  ///< relative to /workspace
  std::string bytes;
};

/// Where an input of a run is that is kept as an artifact: input/<artifact_id>.
std::string input_path(const ArtifactId& artifact);

/// Puts a file into the workspace.
SandboxCommand put_command(const WorkspaceFile& file);

/// What the end of a command means to the run. An end that nobody saw leaves the outcome of a tool with side
/// effects unknown; of one without, it is a result that says what to do instead. Output that is not UTF-8 is
/// shown with U+FFFD in the place of what is not.
CallEnd interpret(const ToolManifest& tool, const SandboxCommand& command, const SandboxEnd& end);

}  // namespace ratchet
