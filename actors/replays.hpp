#pragma once
// The record of a run that is replayed, read from the journal.

#include <memory>
#include <vector>

#include "runtime/journal.hpp"
#include "runtime/replay/answers.hpp"

namespace ratchet {

/// All events of a run, as far as its row says. Errors: unknown_run, corrupt, store_unavailable.
Result<std::vector<Event>> read_events(JournalReader& journal, const RunId& run);

/// With what a replay answers calls. Where its record is gone or damaged, it has mocks only, and says so.
/// Errors: store_unavailable.
Result<std::unique_ptr<ReplayAnswers>> answers_of(JournalReader& journal,
                                                  const RunStarted& started,
                                                  bool environment);

/// Whether `run`, of the tree under `root`, may read what the tree under `owner` keeps: its own, and that of
/// the runs whose record it has taken over.
bool may_read(JournalReader& journal, const RunId& run, const RunId& root, const RunId& owner);

}  // namespace ratchet
