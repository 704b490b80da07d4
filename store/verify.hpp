#pragma once
// One run, verified from its first event to its row. Used by `verify_store` and by salvage.

#include <cstdint>

#include "runtime/ids.hpp"
#include "store/environment.hpp"

namespace ratchet {

/// Checks its records against its row. Returns how many events it has. Errors: unknown_run; corrupt, with
/// what does not fit; store_unavailable.
Result<std::uint64_t> verify_run(Txn& txn, const RunId& run);

/// Checks that the derived tables say what its row says. Errors: as above.
Result<void> verify_indexes(Txn& txn, const RunId& run);

}  // namespace ratchet
