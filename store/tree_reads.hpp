#pragma once
// Trees of runs, by the index of the runs below each.

#include <vector>

#include "runtime/ids.hpp"
#include "runtime/result.hpp"
#include "store/environment.hpp"

namespace ratchet {

/// `top` and all runs below it, each after its parent. Errors: corrupt, store_unavailable.
Result<std::vector<RunId>> tree_of(Txn& txn, const RunId& top);

}  // namespace ratchet
