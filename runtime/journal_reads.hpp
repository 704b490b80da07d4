#pragma once
// A run's records, one after the other.

#include <cstdint>
#include <functional>

#include "runtime/journal.hpp"

namespace ratchet {

/// Calls `visit` with the run's records from the one that holds `from_seq` up to the event `last_seq`, until
/// it returns false; it may move from them. Read in slices, so a long run is never in memory at once; what
/// was appended after `last_seq` is left out. Errors: those of `JournalReader::records`; corrupt, where an
/// event is missing.
Result<void> each_record(JournalReader& journal,
                         const RunId& run,
                         std::uint64_t from_seq,
                         std::uint64_t last_seq,
                         const std::function<bool(Record&)>& visit);

}  // namespace ratchet
