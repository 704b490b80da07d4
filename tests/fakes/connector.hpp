#pragma once
// A connector without a network: it answers by a rule, or never.

#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/tools/connector.hpp"

namespace ratchet {

class FakeConnector final : public Connector {
 public:
  using Rule = std::function<std::optional<ConnectorOutcome>(const ConnectorCall&)>;

  explicit FakeConnector(Rule rule = [](const ConnectorCall&) { return std::nullopt; })
      : rule_(std::move(rule)) {}

  Ticket start(ConnectorCall call, OnDone on_done) override {
    const auto outcome = rule_(call);
    Ticket ticket;
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(std::move(call));
      ticket = calls_.size();
    }
    if (outcome) on_done(*outcome);
    return ticket;
  }

  void cancel(Ticket) override {}

  std::vector<ConnectorCall> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  Rule rule_;
  mutable std::mutex mutex_;
  std::vector<ConnectorCall> calls_;
};

inline ConnectorOutcome answered(int status, std::string body) {
  ConnectorOutcome outcome;
  outcome.kind = ConnectorOutcome::Kind::answered;
  outcome.status = status;
  outcome.body = std::move(body);
  return outcome;
}

}  // namespace ratchet
