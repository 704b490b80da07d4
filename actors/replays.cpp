#include "actors/replays.hpp"

#include "runtime/journal_reads.hpp"

namespace ratchet {

namespace {

constexpr int generations_max = 64;  // of replays of replays whose artifacts one reads

bool is_lost(const Error& error) {
  return error.code == ErrorCode::unknown_run || error.code == ErrorCode::corrupt ||
         error.code == ErrorCode::events_expired;
}

}  // namespace

Result<std::vector<Event>> read_events(JournalReader& journal, const RunId& run) {
  const auto row = journal.row(run);
  if (!row) return tl::unexpected(row.error());
  std::vector<Event> events;
  const auto read = each_record(journal, run, 1, row->last_seq, [&](Record& record) {
    std::move(record.events.begin(), record.events.end(), std::back_inserter(events));
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  return events;
}

Result<std::unique_ptr<ReplayAnswers>> answers_of(JournalReader& journal,
                                                  const RunStarted& started,
                                                  bool environment) {
  std::shared_ptr<const RecordedCalls> record;
  std::string why_none = "There is no record of a sub-agent's calls";
  if (started.depth == 0) {
    const auto events = read_events(journal, started.replay->run_id);
    if (!events && !is_lost(events.error())) return tl::unexpected(events.error());
    if (events) record = std::make_shared<const RecordedCalls>(*events, started.replay->from_step);
    why_none = "The record of the run that is replayed cannot be read any more";
  }
  return std::make_unique<ReplayAnswers>(started, std::move(record), std::move(why_none), environment);
}

bool may_read(JournalReader& journal, const RunId& run, const RunId& root, const RunId& owner) {
  if (owner == root) return true;
  auto at = journal.row(run);
  for (int i = 0; at && at->replay_of && i < generations_max; ++i) {
    at = journal.row(*at->replay_of);
    if (at && at->root_run_id == owner) return true;
  }
  return false;
}

}  // namespace ratchet
