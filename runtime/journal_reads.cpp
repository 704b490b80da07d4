#include "runtime/journal_reads.hpp"

#include <fmt/format.h>

#include "runtime/limits.hpp"

namespace ratchet {

Result<void> each_record(JournalReader& journal,
                         const RunId& run,
                         std::uint64_t from_seq,
                         std::uint64_t last_seq,
                         const std::function<bool(Record&)>& visit) {
  while (from_seq <= last_seq) {
    auto slice = journal.records(run, from_seq, limits::verify_slice_bytes);
    if (!slice) return tl::unexpected(slice.error());
    const std::uint64_t before = from_seq;
    for (Record& record : *slice) {
      if (record.events.empty() || record.events.front().seq > last_seq) break;
      from_seq = record.events.back().seq + 1;
      if (!visit(record)) return {};
    }
    if (from_seq <= before)
      return fail(ErrorCode::corrupt,
                  fmt::format("run {}: event {} of {} is missing", to_string(run), before, last_seq));
  }
  return {};
}

}  // namespace ratchet
