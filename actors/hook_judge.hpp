#pragma once
// Asks the hooks of a call's version, then hands the call, as they left it, to who judges next. The calls of
// a reply are asked about side by side; the hooks of one call in the order of its definition, so that each
// sees what the one before made of the arguments. Logging hooks are told and not waited for.

#include <memory>

#include "runtime/observer.hpp"
#include "runtime/tools/connector.hpp"
#include "runtime/tools/facts.hpp"

namespace ratchet {

class HookJudge final : public Judge {
 public:
  /// `next` is asked what is to be asked beyond hooks; none: that is denied. `observer` may be null. All
  /// borrowed; connector and observer outlive every request under way.
  HookJudge(Connector& connector, Judge* next, HookObserver* observer);
  ~HookJudge() override;

  Ticket start(JudgeQuestion question, OnFacts on_facts) override;
  void cancel(Ticket ticket) override;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace ratchet
