#include "actors/supervisor.hpp"

#include <deque>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "actors/freed_memory.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

constexpr std::size_t due_slice = 256;

class Supervisor;
using Self = caf::stateful_actor<Supervisor>;

class Supervisor {
 public:
  static inline const char* name = "supervisor";

  explicit Supervisor(Self* self) : self_(self) {}

  ~Supervisor() {
    if (parts_ && clock_ticket_) parts_->timer.cancel(clock_ticket_);
    if (parts_ && give_back_ticket_) parts_->timer.cancel(give_back_ticket_);
  }

  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  void begin(NodeParts* parts, SupervisorView* view) {
    parts_ = parts;
    view_ = view;
    self_->set_down_handler([this](caf::down_msg& down) { actor_ended(down); });
  }

  void recover_all() {
    const auto active = parts_->journal.active();
    if (!active) {
      parts_->log(LogLevel::error, "the runs to take up cannot be read: " + active.error().text);
      return;
    }
    for (const RunId& run : *active) {
      // A run that has failed before is a suspect: it comes last, and alone, so that it can harm only itself.
      const auto row = parts_->journal.row(run);
      (row && row->resumes == 0 ? to_recover_ : suspects_).push_back(run);
    }
    if (!active->empty()) {
      parts_->log(LogLevel::info,
                  fmt::format("taking up {} runs, {} of them suspects", active->size(), suspects_.size()));
    }
    recover_more();
    look_at_clock();
  }

  void started(const Started& started) {
    // While the server starts, the run may have been found in the journal before we were told of it; and
    // while it stops, the next start takes it up. Either way it is counted by whoever takes it up.
    if (draining_ || actors_.contains(started.run)) return parts_->admission.leave(started.first->first.team);
    tell(spawn(started.run), Adopt{started.first});
  }

  void route(const RunId& run, const std::shared_ptr<Command>& command) {
    if (draining_) {
      if (command->reply) command->reply(fail(ErrorCode::draining, "the server is shutting down"));
      return;
    }
    const auto found = actors_.find(run);
    if (found != actors_.end() && found->second.leaving) {
      found->second.handed_back.push_back(command);
    } else if (found != actors_.end()) {
      tell(found->second.actor, Deliver{command});
    } else {
      take_up(run, false, command);
    }
  }

  void taken_up(const RunId& run) {
    if (recovering_.erase(run) > 0) recover_more();
  }

  /// The actor has let go of its run. It is released only now, because commands told it before lie in its
  /// mailbox: it hands those back first.
  void at_rest(const AtRest& rest) {
    const auto found = actors_.find(rest.run);
    if (found == actors_.end()) return;
    found->second.leaving = true;
    tell(found->second.actor, Release{});
    if (rest.due_at) expect(*rest.due_at);
  }

  void handed_back(const HandBack& back) {
    const auto found = actors_.find(back.run);
    if (found != actors_.end() && found->second.leaving) {
      found->second.handed_back.push_back(back.command);
    } else {
      route(back.run, back.command);
    }
  }

  void look_at_clock() {
    clock_ticket_ = 0;
    expected_.reset();
    if (draining_) return;
    const auto due = parts_->journal.due(parts_->clock.now(), due_slice);
    if (!due) return expect(parts_->clock.now().plus_ms(limits::store_retry_ms));
    for (const RunId& run : *due) {
      if (!actors_.contains(run)) take_up(run, false);
    }
    // The rows of what was just taken up still say that they are due: look again once they have been written.
    if (due->size() == due_slice) return expect(parts_->clock.now().plus_ms(limits::store_retry_ms));
    const auto next = parts_->journal.next_due();
    if (next && *next) expect(std::max(**next, parts_->clock.now().plus_ms(limits::store_retry_ms)));
  }

  void drain(const Drain& drain) {
    draining_ = true;
    drained_ = drain.done;
    to_recover_.clear();
    suspects_.clear();
    for (const auto& [run, held] : actors_)
      tell(held.actor, Rest{});
    tell_if_drained();
  }

  void give_back_memory() {
    give_back_ticket_ = 0;
    freed_.give_back();
  }

  void let_go() {
    for (const auto& [run, held] : actors_)
      tell(held.actor, Release{});
  }

 private:
  struct Held {
    caf::actor actor;
    bool leaving = false;
    std::vector<std::shared_ptr<Command>> handed_back;
  };

  caf::actor spawn(const RunId& run) {
    caf::actor actor = spawn_run(self_->home_system(), *parts_, run, caf::actor_cast<caf::actor>(self_));
    self_->monitor(actor);
    addresses_[actor.address()] = run;
    actors_[run] = Held{actor, false, {}};
    count_actors();
    return actor;
  }

  void take_up(const RunId& run, bool after_failure, std::shared_ptr<Command> command = nullptr) {
    tell(spawn(run), Activate{after_failure, std::move(command)});
  }

  void recover_more() {
    while (!to_recover_.empty() && recovering_.size() < limits::recovering_max)
      recover_one(to_recover_);
    if (to_recover_.empty() && recovering_.empty() && !suspects_.empty()) recover_one(suspects_);
    if (recovering_.empty() && to_recover_.empty() && suspects_.empty()) view_->recovered = true;
  }

  void recover_one(std::deque<RunId>& queue) {
    const RunId run = queue.front();
    queue.pop_front();
    if (actors_.contains(run)) return;  // a command was faster
    recovering_.insert(run);
    take_up(run, false);
  }

  void actor_ended(const caf::down_msg& down) {
    const auto address = addresses_.find(down.source);
    if (address == addresses_.end()) return;
    const RunId run = address->second;
    addresses_.erase(address);
    const auto found = actors_.find(run);
    if (found == actors_.end()) return;
    Held held = std::move(found->second);
    actors_.erase(found);
    count_actors();
    taken_up(run);
    const bool failed = down.reason != caf::exit_reason::normal;
    if (failed) {
      ++view_->actor_failures;
    }
    if (failed && !draining_) take_up(run, true);
    for (const auto& command : held.handed_back)
      route(run, command);
    tell_if_drained();
  }

  void count_actors() {
    view_->actors = actors_.size();
    if (draining_ || !freed_.pays(actors_.size())) return;
    // Not at once: what runs that end together have freed is given back together.
    give_back_ticket_ =
        parts_->timer.at(parts_->clock.now().plus_ms(limits::give_back_delay_ms),
                         [self = caf::actor_cast<caf::actor>(self_)] { tell(self, GiveBackMemory{}); });
  }

  void expect(Timestamp at) {
    if (draining_ || (expected_ && *expected_ <= at)) return;
    if (clock_ticket_) parts_->timer.cancel(clock_ticket_);
    expected_ = at;
    clock_ticket_ =
        parts_->timer.at(at, [self = caf::actor_cast<caf::actor>(self_)] { tell(self, LookAtClock{}); });
  }

  void tell_if_drained() {
    if (!draining_ || !actors_.empty() || !drained_) return;
    const auto done = std::exchange(drained_, nullptr);
    (*done)();
    self_->quit();
  }

  Self* self_;
  NodeParts* parts_ = nullptr;
  SupervisorView* view_ = nullptr;
  std::unordered_map<RunId, Held> actors_;
  std::unordered_map<caf::actor_addr, RunId> addresses_;
  std::deque<RunId> to_recover_, suspects_;
  std::unordered_set<RunId> recovering_;
  std::optional<Timestamp> expected_;
  Timer::Ticket clock_ticket_ = 0;
  FreedMemory freed_;
  Timer::Ticket give_back_ticket_ = 0;
  bool draining_ = false;
  std::shared_ptr<std::function<void()>> drained_;
};

caf::behavior supervisor_behavior(Self* self, NodeParts* parts, SupervisorView* view) {
  // Without its supervisor the node would take up nothing any more: it ends, and the next start has
  // everything.
  harden(self, [](const std::string& what) { crash("the supervisor failed: " + what, __FILE__, __LINE__); });
  self->state.begin(parts, view);
  return {
      [self](const RecoverAll&) { self->state.recover_all(); },
      [self](const Started& started) { self->state.started(started); },
      [self](const Forward& forward) { self->state.route(forward.run, forward.command); },
      [self](const LookAtClock&) { self->state.look_at_clock(); },
      [self](const TakenUp& taken) { self->state.taken_up(taken.run); },
      [self](const AtRest& rest) { self->state.at_rest(rest); },
      [self](const HandBack& back) { self->state.handed_back(back); },
      [self](const Drain& drain) { self->state.drain(drain); },
      [self](const GiveBackMemory&) { self->state.give_back_memory(); },
      [self](const LetGo&) { self->state.let_go(); },
  };
}

}  // namespace

caf::actor spawn_supervisor(caf::actor_system& system, NodeParts& parts, SupervisorView& view) {
  return system.spawn(supervisor_behavior, &parts, &view);
}

}  // namespace ratchet
