#include "actors/call_judge.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "runtime/limits.hpp"

namespace ratchet {

/// Shared with the callbacks under way, which may come after the judge has gone.
class CallJudge::State : public std::enable_shared_from_this<State> {
 public:
  State(Connector& connector, Clock& clock, std::optional<DecisionPointAddress> point, Log log)
      : connector_(connector), clock_(clock), point_(std::move(point)), log_(std::move(log)) {
    if (point_) endpoints_ = usual_endpoints(*point_);
  }

  Ticket start(JudgeQuestion question, OnFacts on_facts) {
    if (question.hooks || !question.decision_point) {
      CallFacts facts;
      if (question.hooks) facts.hooks = HookFacts{true, "this server cannot ask hooks", std::nullopt};
      on_facts(std::move(facts));
      return 0;
    }
    const RunId run = question.run_id;
    const bool more = question.more;
    std::vector<Asked> batch;
    Ticket ticket = 0;
    {
      const std::lock_guard lock(mutex_);
      ticket = ++last_ticket_;
      live_[ticket] = {std::move(on_facts), 0};
      auto& held = held_[run];
      held.push_back({ticket, std::move(question)});
      if (more) return ticket;
      batch = std::move(held);
      held_.erase(run);
    }
    take(std::move(batch));
    return ticket;
  }

  void cancel(Ticket ticket) {
    Connector::Ticket idle = 0;
    OnFacts dropped;  // destroyed outside of the lock
    {
      const std::lock_guard lock(mutex_);
      const auto at = live_.find(ticket);
      if (at == live_.end()) return;
      dropped = std::move(at->second.on_facts);
      const std::uint64_t request = at->second.request;
      live_.erase(at);
      for (auto& [run, held] : held_)
        std::erase_if(held, [&](const Asked& each) { return each.ticket == ticket; });
      const bool shared = std::any_of(
          live_.begin(), live_.end(), [&](const auto& other) { return other.second.request == request; });
      if (request != 0 && !shared) {
        const auto under_way = requests_.find(request);
        if (under_way != requests_.end()) idle = under_way->second;
        requests_.erase(request);
      }
    }
    if (idle != 0) connector_.cancel(idle);
  }

  /// Nobody is told anything any more.
  void shut() {
    std::map<Ticket, Live> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(live_);
    held_.clear();
    waiting_.clear();
  }

 private:
  struct Asked {
    Ticket ticket;
    JudgeQuestion question;
  };

  struct Live {
    OnFacts on_facts;
    std::uint64_t request = 0;  ///< the one that asks about it; 0: none yet
  };

  /// Asks about calls of one reply, once it is known where.
  void take(std::vector<Asked> batch) {
    if (!point_) return deny(batch, "this server has no decision point");
    bool ask_where = false;
    {
      const std::lock_guard lock(mutex_);
      const bool authzen = point_->protocol == DecisionPointAddress::Protocol::authzen;
      const Timestamp now = clock_.now();
      if (authzen && !metadata_known_ && !asking_where_ &&
          ms_between(asked_where_at_, now) >= limits::decision_metadata_retry_ms) {
        asking_where_ = ask_where = true;
        asked_where_at_ = now;
      }
      if (asking_where_) waiting_.push_back(std::move(batch));
    }
    if (ask_where) {
      connector_.start(metadata_call(*point_), [self = shared_from_this()](const ConnectorOutcome& outcome) {
        self->told_where(outcome);
      });
    }
    if (!batch.empty()) ask(std::move(batch));
  }

  void told_where(const ConnectorOutcome& outcome) {
    const auto told = read_metadata(*point_, outcome);
    std::vector<std::vector<Asked>> waiting;
    {
      const std::lock_guard lock(mutex_);
      asking_where_ = false;
      metadata_known_ = told.has_value();
      if (told && *told) endpoints_ = **told;
      waiting.swap(waiting_);
    }
    if (!told)
      log_(
          LogLevel::warning,
          fmt::format(
              "the decision point at {} is asked at its usual endpoint: {}", point_->url, told.error().text));
    for (auto& batch : waiting)
      ask(std::move(batch));
  }

  void ask(std::vector<Asked> batch) {
    const DecisionEndpoints endpoints = endpoints_now();
    if (batch.size() > 1 && !endpoints.evaluations.empty()) return ask_together(std::move(batch), endpoints);
    for (Asked& each : batch) {
      auto call = evaluation_call(*point_, endpoints, each.question);
      send({each.ticket}, std::move(call), [point = *point_](const ConnectorOutcome& outcome) {
        return std::vector{read_evaluation(point, outcome)};
      });
    }
  }

  void ask_together(std::vector<Asked> batch, const DecisionEndpoints& endpoints) {
    std::vector<JudgeQuestion> questions;
    std::vector<Ticket> tickets;
    for (Asked& each : batch) {
      questions.push_back(std::move(each.question));
      tickets.push_back(each.ticket);
    }
    send(std::move(tickets),
         evaluations_call(*point_, endpoints, questions),
         [count = questions.size()](const ConnectorOutcome& outcome) {
           return read_evaluations(outcome, count);
         });
  }

  DecisionEndpoints endpoints_now() {
    const std::lock_guard lock(mutex_);
    return endpoints_;
  }

  template <class Read>
  void send(std::vector<Ticket> tickets, ConnectorCall call, Read read) {
    std::uint64_t request = 0;
    {
      const std::lock_guard lock(mutex_);
      bool wanted = false;
      request = ++last_request_;
      for (const Ticket ticket : tickets)
        if (const auto at = live_.find(ticket); at != live_.end()) {
          at->second.request = request;
          wanted = true;
        }
      if (!wanted) return;
      requests_[request] = 0;
    }
    const Connector::Ticket ticket = connector_.start(
        std::move(call),
        [self = shared_from_this(), request, tickets, read](const ConnectorOutcome& outcome) {
          self->answered(request, tickets, read(outcome));
        });
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = requests_.find(request); at != requests_.end()) {
        at->second = ticket;
        return;
      }
    }
    connector_.cancel(ticket);  // it has ended, or nobody wants it any more
  }

  void answered(std::uint64_t request,
                const std::vector<Ticket>& tickets,
                std::vector<AuthorizerFacts> facts) {
    {
      const std::lock_guard lock(mutex_);
      requests_.erase(request);
    }
    for (std::size_t i = 0; i < tickets.size(); ++i)
      tell(tickets[i], std::move(facts[i]));
  }

  void deny(const std::vector<Asked>& batch, const std::string& why) {
    for (const Asked& each : batch)
      tell(each.ticket, {false, why});
  }

  void tell(Ticket ticket, AuthorizerFacts authorizer) {
    OnFacts on_facts;
    {
      const std::lock_guard lock(mutex_);
      const auto at = live_.find(ticket);
      if (at == live_.end()) return;
      on_facts = std::move(at->second.on_facts);
      live_.erase(at);
    }
    CallFacts facts;
    facts.authorizer = std::move(authorizer);
    on_facts(std::move(facts));
  }

  Connector& connector_;
  Clock& clock_;
  const std::optional<DecisionPointAddress> point_;
  const Log log_;

  std::mutex mutex_;
  std::map<Ticket, Live> live_;
  std::map<RunId, std::vector<Asked>> held_;             ///< more of their reply are to come
  std::vector<std::vector<Asked>> waiting_;              ///< until it is known where to ask
  std::map<std::uint64_t, Connector::Ticket> requests_;  ///< under way
  DecisionEndpoints endpoints_;
  Timestamp asked_where_at_;
  bool metadata_known_ = false, asking_where_ = false;
  Ticket last_ticket_ = 0;
  std::uint64_t last_request_ = 0;
};

CallJudge::CallJudge(Connector& connector, Clock& clock, std::optional<DecisionPointAddress> point, Log log)
    : state_(std::make_shared<State>(connector, clock, std::move(point), std::move(log))) {}

CallJudge::~CallJudge() {
  state_->shut();
}

Judge::Ticket CallJudge::start(JudgeQuestion question, OnFacts on_facts) {
  return state_->start(std::move(question), std::move(on_facts));
}

void CallJudge::cancel(Ticket ticket) {
  state_->cancel(ticket);
}

}  // namespace ratchet
