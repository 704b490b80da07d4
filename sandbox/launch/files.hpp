#pragma once
// Small files that we or the kernel own: groups, identity maps, bundles. Never the files of a workspace,
// which are hostile.

#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "sandbox/fd.hpp"

namespace ratchet::sandbox {

/// sandbox_unavailable, with `what` and the text of errno.
tl::unexpected<Error> system_error(std::string_view what);

/// The whole file, at most 1 MiB of it. Errors: sandbox_unavailable.
Result<std::string> read_file(const std::string& path);
/// One write to a file that is there: what the kernel's files want. Errors: sandbox_unavailable.
Result<void> write_existing(const std::string& path, std::string_view text);
/// Makes or replaces a file, with exactly this mode. Errors: sandbox_unavailable.
Result<void> write_new(const std::string& path, std::string_view text, unsigned mode);
/// Makes a directory and those above it; those that are there stay as they are. Errors: sandbox_unavailable.
Result<void> make_directory(const std::string& path, unsigned mode);
/// Removes a tree, without following links. Nothing there is a success. Errors: sandbox_unavailable.
Result<void> remove_tree(const std::string& path);

struct Pipe {
  Fd read, write;
};

/// Both ends are closed on exec. Errors: sandbox_unavailable (no more descriptors).
Result<Pipe> make_pipe();

}  // namespace ratchet::sandbox
