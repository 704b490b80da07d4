#pragma once
// Asks the hooks of a call's version: before it is judged, and then hands the call, as they left it, to who
// judges next; about its result, before that is recorded; and about calls of the model. Different calls are
// asked about side by side; the hooks of one call in the order of its definition, so that each sees what the
// one before made of it. Logging hooks are told and not waited for.

#include <memory>

#include "runtime/observer.hpp"
#include "runtime/tools/connector.hpp"
#include "runtime/tools/facts.hpp"

namespace ratchet {

class HookJudge final : public Judge, public Reviewer {
 public:
  /// `next` is asked what is to be asked beyond hooks; none: that is denied. `observer` may be null. All
  /// borrowed; connector and observer outlive every request under way.
  HookJudge(Connector& connector, Judge* next, HookObserver* observer);
  ~HookJudge() override;

  using Ticket = Judge::Ticket;

  Ticket start(JudgeQuestion question, OnFacts on_facts) override;
  void cancel(Ticket ticket) override;
  Ticket review(JudgeQuestion question, CallEnd end, OnEnd on_end) override;
  void cancel_review(Ticket ticket) override;
  Ticket brief(JudgeQuestion question, OnBriefed on_briefed) override;
  void cancel_brief(Ticket ticket) override;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace ratchet
