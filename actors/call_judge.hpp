#pragma once
// Gathers the facts for calls that have to be asked about outside: puts them before the server's policy
// decision point. The calls of one reply are asked about together where the point takes several at once.

#include <memory>
#include <optional>

#include "runtime/log.hpp"
#include "runtime/time.hpp"
#include "runtime/tools/authzen.hpp"
#include "runtime/tools/connector.hpp"
#include "runtime/tools/facts.hpp"

namespace ratchet {

class CallJudge final : public Judge {
 public:
  /// Without a point, a question for one is denied; so is one for hooks, which nothing here asks. What is a
  /// reference is borrowed.
  CallJudge(Connector& connector, Clock& clock, std::optional<DecisionPointAddress> point, Log log);
  ~CallJudge() override;

  Ticket start(JudgeQuestion question, OnFacts on_facts) override;
  void cancel(Ticket ticket) override;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace ratchet
