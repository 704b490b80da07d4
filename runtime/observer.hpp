#pragma once
// Hears of everything that was committed. For metrics: nothing depends on it.

#include <span>

#include "runtime/run/row.hpp"

namespace ratchet {

class CommitObserver {
 public:
  virtual ~CommitObserver() = default;
  /// `events` are durable. Of `row` only what never changes is to be relied on (team, agent, model,
  /// created_at): the rest may be older than the events. Called once for each commit of a run, on any thread
  /// of the node; must not block.
  virtual void on_commit(const RunRow& row, std::span<const Event> events) = 0;
};

}  // namespace ratchet
