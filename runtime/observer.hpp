#pragma once
// Hears of everything that was committed, and of what hooks answered. For metrics: nothing depends on it.

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/agent.hpp"
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

/// What became of asking a hook. failed: no answer in time, or none that could be read.
RATCHET_ENUM(HookOutcome, allow, deny, rewrite, failed)

/// What became of posting an entry of the outbox. failed: it will be tried again.
RATCHET_ENUM(DeliveryOutcome, delivered, failed, given_up)

class HookObserver {
 public:
  virtual ~HookObserver() = default;
  /// On any thread; must not block.
  virtual void on_hook(HookPoint at, HookKind kind, HookOutcome outcome, std::int64_t latency_ms) = 0;
  /// `type` is that of an event. As above.
  virtual void on_delivery(std::string_view type, DeliveryOutcome outcome, std::int64_t latency_ms) = 0;
};

}  // namespace ratchet
