#pragma once
// What Prometheus scrapes. Counted from committed events and from answered requests; the rest is asked for at
// the scrape. Labels are bounded: models, tiers, outcomes, routes; never a run, a user, a team or a tool's
// name, because `/metrics` is open and a team's names are its own.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/server/server.hpp"
#include "runtime/journal.hpp"
#include "runtime/node.hpp"
#include "runtime/observer.hpp"

namespace ratchet {

/// What is read at the moment of the scrape.
struct Gauges {
  NodeStats node;
  JournalHealth journal;
  ServerCounts server;
  std::uint64_t stream_overflows = 0;
};

class Metrics final : public CommitObserver, public HookObserver {
 public:
  Metrics();
  ~Metrics() override;

  void on_commit(const RunRow& row, std::span<const Event> events) override;
  void on_hook(HookPoint at, HookKind kind, HookOutcome outcome, std::int64_t latency_ms) override;
  void on_delivery(std::string_view type, DeliveryOutcome outcome, std::int64_t latency_ms) override;
  /// `route` is its pattern, "" for none. Of a stream the time until it begins counts.
  void on_request(std::string_view method, std::string_view route, int status, double seconds);
  /// The text format, version 0.0.4.
  std::string render(const Gauges& gauges);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ratchet
