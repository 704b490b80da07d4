#pragma once
// The look at a store before this process touches it, at every start. A child process reads what a crash can
// have torn and what the next minutes will need: the length of the file, the list of free pages, every
// unfinished run with its newest appends, the newest appends of all, the definitions. It reads at most
// limits::check_bytes_max of appends, so that a large store starts as fast as a small one; everything is read
// by `ratchet journal verify`.

#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace ratchet {

/// Returns damage that stays within single runs: they are quarantined, others go on. The caller holds the
/// directory and has not opened the store. Errors: corrupt, where the file cannot be served safely, with what
/// to do about it; store_unavailable.
Result<std::vector<Error>> check_before_serving(const std::string& path);

}  // namespace ratchet
