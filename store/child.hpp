#pragma once
// Work that damage may kill: LMDB asserts on pages that make no sense, and reading a map beyond the end of
// its file is a SIGBUS. A forked child does it, and its death is an answer.

#include <functional>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace ratchet {

/// Reports one line to the parent.
using Say = std::function<void(std::string_view line)>;

struct ChildEnd {
  std::string output;  ///< the lines it said
  int signal = 0;      ///< what killed it; 0: it came to its end
};

/// Forks, runs `work` in the child, and waits for it. The child ends with its parent, and after a minute of
/// CPU time (damage can make a circle of pages). `work` must not rely on other threads.
/// Errors: store_unavailable, where no process can be made.
Result<ChildEnd> run_in_child(const std::function<void(const Say& say)>& work);

}  // namespace ratchet
