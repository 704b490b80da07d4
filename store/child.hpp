#pragma once
// Work that damage may kill: LMDB asserts on pages that make no sense, and reading a map beyond the end of
// its file is a SIGBUS. A forked child does it, and its death is an answer.

#include <functional>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace ratchet {

/// Takes one line of text, without a line break.
using Say = std::function<void(std::string_view line)>;

/// Forks, runs `work` in the child, and gives each line it says to `hear`, in this process, until the child
/// has ended. Returns the signal that killed the child, or 0. The child ends with its parent, and after ten
/// minutes of CPU time (damage can make a circle of pages). `work` must not rely on other threads.
/// Errors: store_unavailable, where no process can be made.
Result<int> run_in_child(const std::function<void(const Say& say)>& work, const Say& hear);

}  // namespace ratchet
