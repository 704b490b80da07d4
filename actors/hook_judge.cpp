#include "actors/hook_judge.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/tools/hooks.hpp"

namespace ratchet {

/// Shared with the callbacks under way, which may come after the judge has gone.
class HookJudge::State : public std::enable_shared_from_this<State> {
 public:
  State(Connector& connector, Judge* next, HookObserver* observer)
      : connector_(connector), next_(next), observer_(observer) {}

  Ticket start(JudgeQuestion question, OnFacts on_facts) {
    Asking asking;
    if (question.hooks) asking.facts.hooks = HookFacts{};
    asking.done = !question.hooks;
    asking.question = std::move(question);
    asking.on_facts = std::move(on_facts);
    return start(std::move(asking));
  }

  Ticket review(JudgeQuestion question, CallEnd end, OnEnd on_end) {
    Asking asking;
    asking.at = HookPoint::post_tool;
    asking.done = !has_result(end);
    asking.question = std::move(question);
    asking.end = std::move(end);
    asking.on_end = std::move(on_end);
    return start(std::move(asking));
  }

  Ticket brief(JudgeQuestion question, OnBriefed on_briefed) {
    Asking asking;
    asking.at = HookPoint::pre_model;
    asking.question = std::move(question);
    asking.on_briefed = std::move(on_briefed);
    return start(std::move(asking));
  }

  void cancel(Ticket ticket) {
    Asking dropped;  // destroyed outside of the lock
    {
      const std::lock_guard lock(mutex_);
      const auto at = live_.find(ticket);
      if (at == live_.end()) return;
      dropped = std::move(at->second);
      live_.erase(at);
    }
    if (dropped.stop) dropped.stop();
  }

  /// Nobody is told anything any more.
  void shut() {
    std::map<Ticket, Asking> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(live_);
    observer_ = nullptr;
  }

 private:
  /// One call, on its way from hook to hook.
  struct Asking {
    HookPoint at = HookPoint::pre_tool;
    JudgeQuestion question;  ///< its arguments are what the hooks so far made of them
    OnFacts on_facts;
    CallFacts facts;
    CallEnd end;  ///< at `post_tool`: its text is what the hooks so far made of it
    OnEnd on_end;
    ModelFacts model_facts;  ///< at `pre_model`
    OnBriefed on_briefed;
    bool done = false;           ///< no further hook is asked
    std::size_t hook = 0;        ///< how many of the definition's have had their turn
    std::uint64_t stage = 0;     ///< counts what was started for it
    std::function<void()> stop;  ///< takes back what is under way; empty: nothing is, or it just begins
  };

  /// What a call needs next: a hook that is asked.
  struct Turn {
    ConnectorCall call;
    HookPoint at = HookPoint::pre_tool;
    std::size_t number = 0;  ///< of the hook in the definition, from 1
    HookKind kind = HookKind::security;
    std::uint64_t stage = 0;
  };

  Ticket start(Asking asking) {
    Ticket ticket;
    {
      const std::lock_guard lock(mutex_);
      ticket = ++last_ticket_;
      live_.emplace(ticket, std::move(asking));
    }
    go_on(ticket);
    return ticket;
  }

  void go_on(Ticket ticket) {
    while (auto turn = next_turn(ticket)) {
      if (turn->kind == HookKind::security) return ask(ticket, std::move(*turn));
      tell(std::move(*turn));
    }
    finish(ticket);
  }

  /// Nothing: the hooks are done with the call, or nobody wants to know any more.
  std::optional<Turn> next_turn(Ticket ticket) {
    const std::lock_guard lock(mutex_);
    const auto at = live_.find(ticket);
    if (at == live_.end()) return std::nullopt;
    Asking& asking = at->second;
    if (asking.done) return std::nullopt;
    const auto& hooks = asking.question.agent->definition.hooks;
    while (asking.hook < hooks.size()) {
      const HookRule& hook = hooks[asking.hook++];
      if (hook.at != asking.at || (asking.question.replay && hook.kind == HookKind::logging)) continue;
      asking.stop = nullptr;
      const CallEnd* end = asking.at == HookPoint::post_tool ? &asking.end : nullptr;
      return Turn{hook_call(hook, asking.question, end), asking.at, asking.hook, hook.kind, ++asking.stage};
    }
    return std::nullopt;
  }

  void tell(Turn turn) {
    connector_.start(std::move(turn.call),
                     [self = shared_from_this(), at = turn.at](const ConnectorOutcome& outcome) {
                       const std::lock_guard lock(self->mutex_);
                       self->count(at, HookKind::logging, read_hook_answer(at, outcome).outcome, outcome);
                     });
  }

  void ask(Ticket ticket, Turn turn) {
    const auto request = connector_.start(
        std::move(turn.call),
        [self = shared_from_this(), ticket, at = turn.at, number = turn.number](
            const ConnectorOutcome& outcome) { self->answered(ticket, at, number, outcome); });
    keep(ticket, turn.stage, [this, request] { connector_.cancel(request); });
  }

  /// Remembers how to take back what was started. It may have ended already, or nobody may want it any more.
  void keep(Ticket ticket, std::uint64_t stage, std::function<void()> stop) {
    {
      const std::lock_guard lock(mutex_);
      const auto at = live_.find(ticket);
      if (at != live_.end()) {
        if (at->second.stage == stage) at->second.stop = std::move(stop);
        return;
      }
    }
    stop();
  }

  void answered(Ticket ticket, HookPoint point, std::size_t number, const ConnectorOutcome& outcome) {
    HookAnswer answer = read_hook_answer(point, outcome);
    {
      const std::lock_guard lock(mutex_);
      count(point, HookKind::security, answer.outcome, outcome);
      const auto at = live_.find(ticket);
      if (at == live_.end()) return;
      Asking& asking = at->second;
      if (point == HookPoint::post_tool) {
        asking.done = !take_answer(asking.end, number, std::move(answer));
      } else if (point == HookPoint::pre_model) {
        asking.done = !take_answer(asking.model_facts, number, std::move(answer));
      } else {
        take_answer(*asking.facts.hooks, asking.question, number, std::move(answer));
        asking.done = asking.facts.hooks->denied;
      }
    }
    go_on(ticket);
  }

  /// The hooks have spoken: the call goes on to who judges next, or back.
  void finish(Ticket ticket) {
    JudgeQuestion question;
    std::uint64_t stage = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto at = live_.find(ticket);
      if (at == live_.end()) return;
      Asking& asking = at->second;
      const bool denied = asking.facts.hooks && asking.facts.hooks->denied;
      question = asking.question;
      // Its neighbours come from their hooks in their own time, and some never do.
      if (question.hooks) question.more = false;
      question.hooks = false;
      if (denied || asking.at != HookPoint::pre_tool) question.decision_point = false;
      asking.stop = nullptr;
      stage = ++asking.stage;
    }
    if (!question.decision_point) return settle(ticket, std::nullopt);
    if (!next_) return settle(ticket, AuthorizerFacts{false, "this server has no decision point"});
    const Ticket asked =
        next_->start(std::move(question), [self = shared_from_this(), ticket](CallFacts facts) {
          self->settle(ticket, std::move(facts.authorizer));
        });
    keep(ticket, stage, [this, asked] { next_->cancel(asked); });
  }

  void settle(Ticket ticket, std::optional<AuthorizerFacts> authorizer) {
    Asking asking;
    {
      const std::lock_guard lock(mutex_);
      const auto at = live_.find(ticket);
      if (at == live_.end()) return;
      asking = std::move(at->second);
      live_.erase(at);
    }
    if (asking.on_end) return asking.on_end(std::move(asking.end));
    if (asking.on_briefed) return asking.on_briefed(std::move(asking.model_facts));
    asking.facts.authorizer = std::move(authorizer);
    asking.on_facts(std::move(asking.facts));
  }

  /// Under the lock, so that the observer is not gone.
  void count(HookPoint at, HookKind kind, HookOutcome answer, const ConnectorOutcome& outcome) {
    if (observer_) observer_->on_hook(at, kind, answer, outcome.latency_ms);
  }

  Connector& connector_;
  Judge* next_;
  HookObserver* observer_;
  std::mutex mutex_;
  std::map<Ticket, Asking> live_;
  Ticket last_ticket_ = 0;
};

HookJudge::HookJudge(Connector& connector, Judge* next, HookObserver* observer)
    : state_(std::make_shared<State>(connector, next, observer)) {}

HookJudge::~HookJudge() {
  state_->shut();
}

Judge::Ticket HookJudge::start(JudgeQuestion question, OnFacts on_facts) {
  return state_->start(std::move(question), std::move(on_facts));
}

void HookJudge::cancel(Ticket ticket) {
  state_->cancel(ticket);
}

Reviewer::Ticket HookJudge::review(JudgeQuestion question, CallEnd end, OnEnd on_end) {
  return state_->review(std::move(question), std::move(end), std::move(on_end));
}

void HookJudge::cancel_review(Ticket ticket) {
  state_->cancel(ticket);
}

Reviewer::Ticket HookJudge::brief(JudgeQuestion question, OnBriefed on_briefed) {
  return state_->brief(std::move(question), std::move(on_briefed));
}

void HookJudge::cancel_brief(Ticket ticket) {
  state_->cancel(ticket);
}

}  // namespace ratchet
