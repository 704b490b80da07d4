#pragma once
// A connector whose answers the test gives, when and in the order it likes.

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/tools/connector.hpp"
#include "tests/fakes/connector.hpp"

namespace ratchet {

/// For one thread.
class HeldConnector final : public Connector {
 public:
  Ticket start(ConnectorCall call, OnDone on_done) override {
    calls.push_back(std::move(call));
    waiting_[calls.size()] = std::move(on_done);
    return calls.size();
  }

  void cancel(Ticket ticket) override {
    if (waiting_.erase(ticket) > 0) cancelled.push_back(ticket);
  }

  bool waits(Ticket ticket) const { return waiting_.contains(ticket); }

  /// Ends the n-th call, counted from 1.
  void end(Ticket ticket, ConnectorOutcome outcome) {
    const auto at = waiting_.find(ticket);
    if (at == waiting_.end()) {
      ADD_FAILURE() << "call " << ticket << " does not wait for an answer";
      return;
    }
    const auto on_done = std::move(at->second);
    waiting_.erase(at);
    on_done(std::move(outcome));
  }

  void answer(Ticket ticket, int status, std::string body) { end(ticket, answered(status, std::move(body))); }

  std::vector<ConnectorCall> calls;
  std::vector<Ticket> cancelled;

 private:
  std::map<Ticket, OnDone> waiting_;
};

}  // namespace ratchet
