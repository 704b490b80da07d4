#include "actors/approval_actor.hpp"

#include <deque>
#include <map>

#include <fmt/format.h>

#include "actors/run_actor.hpp"
#include "actors/supervisor.hpp"
#include "runtime/journal_reads.hpp"
#include "runtime/limits.hpp"
#include "runtime/run/question.hpp"

namespace ratchet {

/// What an approval's actor is told when its facts are in, and what it tells the desk after each decision.
struct FactsIn {
  std::shared_ptr<CallFacts> facts;
};

struct Handled {
  ApprovalId approval;
};

struct NothingToDo {};

}  // namespace ratchet

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::FactsIn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::Handled)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::NothingToDo)

namespace ratchet {

namespace {

class ApprovalShell;
using Self = caf::stateful_actor<ApprovalShell>;

/// The state of one approval's actor.
class ApprovalShell {
 public:
  static inline const char* name = "approval";

  explicit ApprovalShell(Self* self) : self_(self) {}

  ~ApprovalShell() {
    if (ticket_) parts_->judge.cancel(*ticket_);
  }

  ApprovalShell(const ApprovalShell&) = delete;
  ApprovalShell& operator=(const ApprovalShell&) = delete;

  void begin(NodeParts* parts, const caf::actor& desk, const caf::actor& supervisor) {
    parts_ = parts;
    desk_ = desk;
    supervisor_ = supervisor;
  }

  void came(const std::shared_ptr<PendingDecision>& decision) {
    waiting_.push_back(decision);
    if (waiting_.size() == 1) take_next();
  }

  void facts_in(CallFacts facts) {
    ticket_.reset();
    hand_in(std::move(facts));
  }

 private:
  const DecideApproval& command() const { return waiting_.front()->command; }

  void take_next() {
    auto question = question_of_decision();
    if (!question) return refuse(question.error());
    if (!*question) return hand_in({});
    ticket_ = parts_->judge.start(std::move(**question),
                                  [self = caf::actor_cast<caf::actor>(self_)](CallFacts facts) {
                                    tell(self, FactsIn{std::make_shared<CallFacts>(std::move(facts))});
                                  });
  }

  /// What has to be asked before the decision can be handed in, if anything has to be.
  Result<std::optional<JudgeQuestion>> question_of_decision() const {
    const auto run = parts_->journal.row(command().run_id);
    if (!run) return tl::unexpected(run.error());
    if (run->team != command().team)
      return fail(ErrorCode::unknown_run, "there is no run " + to_string(command().run_id));
    const auto approval = parts_->journal.approval(run->run_id, command().approval_id);
    if (!approval) return tl::unexpected(approval.error());
    // What was decided is repeated or refused by the run itself, and nobody has to be asked about a
    // rejection.
    if (approval->status != ApprovalStatus::pending || command().decision == ApprovalDecision::reject)
      return std::nullopt;
    const auto book = parts_->books.get(*run);
    if (!book) return tl::unexpected(book.error());
    const bool hooks = command().edited_args && (*book)->has_pre_tool_hooks();
    if (!hooks && !parts_->driver.decision_point) return std::nullopt;
    auto args = args_to_run(*approval);
    if (!args) return tl::unexpected(args.error());
    // Nothing outside sees arguments that break the schema; the run will say what is wrong with them.
    if (is_invalid((*book)->judge({approval->tool, *args, {}, {}}))) return std::nullopt;
    JudgeQuestion question = question_of(*book, *run, approval->call_id, approval->tool, std::move(*args));
    question.hooks = hooks;  // what was asked about, they have seen
    question.decision_point = parts_->driver.decision_point;
    if (!question.decision_point) return question;
    auto scopes = scopes_now(*run);
    if (!scopes) return tl::unexpected(scopes.error());
    question.scopes = std::move(*scopes);
    return question;
  }

  /// Of the token that the run's user gave last.
  Result<std::vector<std::string>> scopes_now(const RunRow& run) const {
    std::vector<std::string> scopes;
    const auto read = each_record(parts_->journal, run.run_id, 1, run.last_seq, [&](const Record& record) {
      for (const Event& event : record.events) {
        if (const auto* started = std::get_if<RunStarted>(&event.payload)) scopes = started->scopes;
        if (const auto* token = std::get_if<UserTokenReceived>(&event.payload)) scopes = token->scopes;
      }
      return true;
    });
    if (!read) return tl::unexpected(read.error());
    return scopes;
  }

  Result<std::string> args_to_run(const ApprovalRow& approval) const {
    if (command().edited_args) return command().edited_args->text;
    const auto records = parts_->journal.records(approval.run_id, approval.required_seq, 1);
    if (!records) return tl::unexpected(records.error());
    for (const Record& record : *records)
      for (const Event& event : record.events)
        if (const auto* required = std::get_if<ApprovalRequired>(&event.payload);
            required && required->approval_id == approval.approval_id)
          return required->args.text;
    return fail(ErrorCode::corrupt, "the event that asked for the approval is not in the journal");
  }

  void hand_in(CallFacts facts) {
    PendingDecision& decision = *waiting_.front();
    DecideApproval& given = decision.command;
    input::Decide input{given.approval_id,
                        given.decision,
                        std::move(given.edited_args),
                        given.args_hash,
                        std::move(given.by),
                        std::move(given.comment),
                        std::move(facts)};
    tell(supervisor_,
         Forward{given.run_id,
                 std::make_shared<Command>(
                     Command{given.team, std::move(input), std::exchange(decision.reply, nullptr)})});
    handled();
  }

  void refuse(const Error& error) {
    std::exchange(waiting_.front()->reply, nullptr)(tl::unexpected(error));
    handled();
  }

  void handled() {
    tell(desk_, Handled{waiting_.front()->command.approval_id});
    waiting_.pop_front();
    if (!waiting_.empty()) take_next();
  }

  Self* self_;
  NodeParts* parts_ = nullptr;
  caf::actor desk_, supervisor_;
  std::deque<std::shared_ptr<PendingDecision>> waiting_;  ///< the first one is being looked at
  std::optional<Judge::Ticket> ticket_;
};

caf::behavior approval_behavior(Self* self,
                                NodeParts* parts,
                                const caf::actor& desk,
                                const caf::actor& supervisor) {
  harden(self, [parts](const std::string& what) {
    parts->log(LogLevel::error, "the actor of an approval failed: " + what);
  });
  self->state.begin(parts, desk, supervisor);
  return {
      [self](const DecisionCame& came) { self->state.came(came.decision); },
      [self](const FactsIn& in) { self->state.facts_in(std::move(*in.facts)); },
      [self](const NothingToDo&) { self->quit(); },
  };
}

class Desk;
using DeskSelf = caf::stateful_actor<Desk>;

class Desk {
 public:
  static inline const char* name = "approvals";

  explicit Desk(DeskSelf* self) : self_(self) {}

  void begin(NodeParts* parts, const caf::actor& supervisor) {
    parts_ = parts;
    supervisor_ = supervisor;
    self_->set_down_handler([this](caf::down_msg& down) { actor_ended(down.source); });
  }

  void came(const std::shared_ptr<PendingDecision>& decision) {
    const ApprovalId approval = decision->command.approval_id;
    auto held = actors_.find(approval);
    if (held == actors_.end()) {
      caf::actor actor = self_->home_system().spawn(
          approval_behavior, parts_, caf::actor_cast<caf::actor>(self_), supervisor_);
      self_->monitor(actor);
      held = actors_.emplace(approval, Held{std::move(actor), {}}).first;
    }
    held->second.waiting.push_back(decision);
    tell(held->second.actor, DecisionCame{decision});
  }

  void handled(const ApprovalId& approval) {
    const auto held = actors_.find(approval);
    if (held == actors_.end()) return;
    held->second.waiting.pop_front();
    if (!held->second.waiting.empty()) return;
    tell(held->second.actor, NothingToDo{});
    actors_.erase(held);
  }

 private:
  struct Held {
    caf::actor actor;
    std::deque<std::shared_ptr<PendingDecision>> waiting;
  };

  /// One that has failed is not held here any more only if it had nothing to do.
  void actor_ended(const caf::actor_addr& address) {
    for (auto held = actors_.begin(); held != actors_.end(); ++held) {
      if (held->second.actor.address() != address) continue;
      for (const auto& decision : held->second.waiting)
        if (decision->reply)
          std::exchange(decision->reply, nullptr)(
              fail(ErrorCode::internal_error, "the decision could not be looked at; nothing was decided"));
      actors_.erase(held);
      return;
    }
  }

  DeskSelf* self_;
  NodeParts* parts_ = nullptr;
  caf::actor supervisor_;
  std::map<ApprovalId, Held> actors_;
};

caf::behavior desk_behavior(DeskSelf* self, NodeParts* parts, const caf::actor& supervisor) {
  harden(self, [parts](const std::string& what) {
    parts->log(LogLevel::error, "the supervisor of approvals failed: " + what);
  });
  self->state.begin(parts, supervisor);
  return {
      [self](const DecisionCame& came) { self->state.came(came.decision); },
      [self](const Handled& handled) { self->state.handled(handled.approval); },
  };
}

}  // namespace

caf::actor spawn_approval_desk(caf::actor_system& system, NodeParts& parts, const caf::actor& supervisor) {
  return system.spawn(desk_behavior, &parts, supervisor);
}

}  // namespace ratchet
