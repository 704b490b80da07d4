#pragma once
// What one transaction says of one run: its row, its approvals, and its records as they were packed.

#include <string>
#include <vector>

#include "runtime/journal.hpp"
#include "store/environment.hpp"
#include "store/layout.hpp"

namespace ratchet {

/// The run's stored value; its `row` is a view into the transaction. Errors: unknown_run, corrupt,
/// store_unavailable.
Result<layout::StoredRun> find_run(Txn& txn, const RunId& run);

/// Errors: as above.
Result<RunRow> find_row(Txn& txn, const RunId& run);

/// The next runs after `after` (none: from the first on), about a thousand, in order of id; none: there is no
/// more. In a transaction of its own. Errors: corrupt, store_unavailable.
Result<std::vector<RunId>> runs_after(const Environment& environment, const std::optional<RunId>& after);

/// Errors: unknown_approval, corrupt, store_unavailable.
Result<ApprovalRow> find_approval(Txn& txn, const RunId& run, const ApprovalId& id);

/// Packed records from the one that holds `from_seq` on, until about `bytes_max` of them (unpacked) are
/// there; at least one, where there is any. Errors: as above.
Result<std::vector<std::string>> find_records(Txn& txn,
                                              const RunId& run,
                                              std::uint64_t from_seq,
                                              std::size_t bytes_max);

}  // namespace ratchet
