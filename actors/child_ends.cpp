#include "actors/child_ends.hpp"

#include <fmt/format.h>

#include "runtime/run/child_end.hpp"

namespace ratchet {

namespace {

constexpr std::size_t last_record_bytes = 4u << 20;

/// Nothing: it goes on.
Result<std::optional<input::ChildEnded>> end_of(const RunId& child, JournalReader& journal) {
  const auto row = journal.row(child);
  if (!row) return tl::unexpected(row.error());
  if (row->status != RunStatus::finished) return std::nullopt;
  const auto last = journal.records(child, row->last_seq, last_record_bytes);
  if (!last) return tl::unexpected(last.error());
  return child_end(*row, std::get<RunFinished>(last->back().events.back().payload));
}

}  // namespace

std::vector<input::ChildEnded> ended_among(const std::vector<RunId>& children,
                                           JournalReader& journal,
                                           const Log& log) {
  std::vector<input::ChildEnded> ended;
  for (const RunId& child : children) {
    auto end = end_of(child, journal);
    if (!end)
      log(LogLevel::error,
          fmt::format("the sub-agent {} cannot be read: {}", to_string(child), end.error().text));
    else if (*end)
      ended.push_back(std::move(**end));
  }
  return ended;
}

}  // namespace ratchet
