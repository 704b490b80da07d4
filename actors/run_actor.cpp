#include "actors/run_actor.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "actors/child_ends.hpp"
#include "actors/replays.hpp"
#include "runtime/journal_reads.hpp"
#include "runtime/limits.hpp"
#include "runtime/run/child_end.hpp"

namespace ratchet {

namespace {

class RunShell;
using Self = caf::stateful_actor<RunShell>;

/// The state of a run actor.
class RunShell {
 public:
  static inline const char* name = "run";

  explicit RunShell(Self* self) : self_(self) {}

  ~RunShell() { let_go(); }

  RunShell(const RunShell&) = delete;
  RunShell& operator=(const RunShell&) = delete;

  void begin(NodeParts* parts, const RunId& run, const caf::actor& supervisor) {
    parts_ = parts;
    run_ = run;
    supervisor_ = supervisor;
  }

  void activate(const Activate& activate) {
    wake_ticket_ = 0;
    after_failure_ = activate.after_failure;
    if (activate.command) waiting_.push_back(activate.command);
    const auto row = parts_->journal.row(run_);
    if (!row) return give_up(row.error());
    row_ = *row;
    count_in();
    // A finished run is read, not owned: it has answers to repeat and nothing to write.
    if (row_.status == RunStatus::finished) return fold();
    const bool poisoned =
        row_.resumes >= limits::resumes_without_progress_max && row_.status != RunStatus::paused;
    if (poisoned) return quarantine();
    ++row_.lease;
    ++row_.resumes;
    RunAppend claim;
    claim.first_seq = row_.last_seq + 1;
    claim.row = row_;
    write({{std::move(claim)}, {}, {}, false}, AppendEnded::Of::claim);
  }

  void adopt(const Adopt& adopt) {
    row_ = adopt.started->first;
    counted_ = true;
    take_up({adopt.started->second});
  }

  void deliver(const std::shared_ptr<Command>& command) {
    if (gave_up_) {
      if (command->reply) command->reply(tl::unexpected(*gave_up_));
      return;
    }
    if (resting_) return tell(supervisor_, HandBack{run_, command});
    if (!driver_) {
      waiting_.push_back(command);
      return;
    }
    if (auto given = admit(*command)) give(std::move(*given));
  }

  void append_ended(const AppendEnded& ended) {
    const Result<Committed>& outcome = *ended.outcome;
    if (ended.of == AppendEnded::Of::events) {
      if (!driver_) return;
      return execute(outcome ? driver_->take(signal::Committed{}, parts_->stamp())
                             : driver_->take(signal::Refused{outcome.error()}, parts_->stamp()));
    }
    if (!outcome) return try_again(outcome.error());
    if (ended.of == AppendEnded::Of::claim) return fold();
    // The run is paused, which is what commands that came meanwhile have to find.
    tell(supervisor_, TakenUp{run_});
    come_to_rest(row_.due_at);
    for (const auto& command : std::exchange(waiting_, {}))
      tell(supervisor_, HandBack{run_, command});
  }

  void effect_ended(const EffectEnded& ended) {
    if (const auto* model = std::get_if<input::ModelEnded>(ended.input.get())) {
      model_tickets_.erase({model->step, model->attempt});
      parts_->hub.end_preview(run_);
    } else if (auto* call = std::get_if<input::CallEnded>(ended.input.get())) {
      call_tickets_.erase({call->call_id, call->attempt});
      review_tickets_.erase({call->call_id, call->attempt});
      if (review(*call)) return;
    } else if (const auto* judged = std::get_if<input::Judged>(ended.input.get())) {
      judge_tickets_.erase(judged->call_id);
    } else if (std::holds_alternative<input::Briefed>(*ended.input)) {
      brief_ticket_.reset();
    }
    if (driver_ && !resting_) give({std::move(*ended.input), 0});
  }

  void effect_gone(const Effect& effect) {
    if (driver_ && !resting_) execute(driver_->take(signal::Stopped{effect}, parts_->stamp()));
  }

  void wake(std::uint64_t generation) {
    if (generation != wake_generation_ || !driver_ || resting_) return;
    wake_ticket_ = 0;
    give({input::Due{}, 0});
  }

  void rest() {
    held_ = true;
    if (driver_) driver_->hold();
    settle();
  }

  void release() { self_->quit(); }

 private:
  /// Hands a result to the hooks that are to see it first: it comes again as they left it. True: it went.
  bool review(input::CallEnded& call) {
    const CallEffect effect{call.call_id, call.attempt};
    auto question = to_review_.extract(effect);
    if (question.empty()) return false;
    if (!driver_ || resting_) return true;  // nobody is to see it
    review_tickets_[effect] =
        parts_->reviewer.review(std::move(question.mapped()), std::move(call.end), telling_end_of(effect));
    return true;
  }

  /// The same of what a sub-agent answered. It comes again by way of the supervisor, because this run may
  /// rest meanwhile.
  bool review(const input::ChildEnded& ended) {
    if (ended.reviewed || ended.text.empty()) return false;
    auto question = driver_->review_of(ended.child_run_id);
    if (!question) return false;
    CallEnd end;
    end.status = ended.stop_reason == StopReason::final_answer ? ToolStatus::ok : ToolStatus::error;
    end.text = ended.text;
    auto on_end = [supervisor = supervisor_, run = run_, team = row_.team, ended](CallEnd left) {
      auto again = std::make_shared<Command>(Command{team, ended, {}});
      auto& told = std::get<input::ChildEnded>(again->input);
      told.text = std::move(left.text);
      told.reviewed = true;
      tell(supervisor, Forward{run, std::move(again)});
    };
    parts_->reviewer.review(std::move(*question), std::move(end), std::move(on_end));
    return true;
  }

  /// Tells this actor how an execution ended, from any thread.
  std::function<void(CallEnd)> telling_end_of(const CallEffect& effect) {
    return [self = caf::actor_cast<caf::actor>(self_), effect](CallEnd end) {
      tell(self,
           EffectEnded{
               std::make_shared<Input>(input::CallEnded{effect.call_id, effect.attempt, std::move(end)})});
    };
  }

  void write(Commit commit, AppendEnded::Of of, std::vector<Started> children = {}) {
    std::function<void()> wake_outbox;
    if (!commit.runs.front().outbox.empty()) wake_outbox = parts_->wake_outbox;
    parts_->writer.write(std::move(commit),
                         [self = caf::actor_cast<caf::actor>(self_),
                          of,
                          wake_outbox = std::move(wake_outbox),
                          parts = parts_,
                          supervisor = supervisor_,
                          children = std::move(children)](Result<Committed> outcome) {
                           if (outcome && wake_outbox) wake_outbox();
                           for (const Started& child : children)
                             begin_child(*parts, supervisor, child, outcome.has_value());
                           tell(self,
                                AppendEnded{std::make_shared<Result<Committed>>(std::move(outcome)), of});
                         });
  }

  /// Not by way of this actor, which may have failed meanwhile: the child is durable and has to be taken up.
  static void begin_child(NodeParts& parts,
                          const caf::actor& supervisor,
                          const Started& child,
                          bool is_durable) {
    if (!is_durable) return parts.admission.leave(child.first->first.team);
    if (parts.observer) parts.observer->on_commit(child.first->first, child.first->second.events);
    tell(supervisor, child);
  }

  /// The run could not be claimed: an append of its last activation was still on its way, or the store has no
  /// room. A run that needs an actor is not left without one: it is tried again until it can be claimed.
  void try_again(const Error& error) {
    const bool passes = error.code == ErrorCode::conflict || error.code == ErrorCode::stale_lease ||
                        error.code == ErrorCode::store_unavailable;
    if (!passes || held_) return give_up(error);
    if (error.code == ErrorCode::store_unavailable) {
      for (const auto& command : std::exchange(waiting_, {}))
        if (command->reply) command->reply(tl::unexpected(error));
    }
    wake_ticket_ = parts_->timer.at(
        parts_->clock.now().plus_ms(limits::store_retry_ms),
        [self = caf::actor_cast<caf::actor>(self_), again = Activate{after_failure_}] { tell(self, again); });
  }

  void count_in() {
    if (counted_ || row_.status == RunStatus::finished) return;
    counted_ = true;
    parts_->admission.enter_anyway(row_.team);
  }

  /// Reads the whole journal of the run.
  Result<std::vector<Record>> read_all() {
    std::vector<Record> all;
    const auto read = each_record(parts_->journal, run_, 1, row_.last_seq, [&](Record& record) {
      all.push_back(std::move(record));
      return true;
    });
    if (!read) return tl::unexpected(read.error());
    return all;
  }

  void fold() {
    auto records = read_all();
    if (!records) return give_up(records.error());
    take_up(*records);
  }

  void take_up(const std::vector<Record>& records) {
    auto book = parts_->books.get(row_);
    if (!book) return give_up(book.error());
    auto replay = replay_of(records);
    if (!replay) return give_up(replay.error());
    auto driver =
        RunDriver::load(parts_->driver, std::move(*book), row_, records, after_failure_, std::move(*replay));
    if (!driver) return give_up(driver.error());
    driver_ = std::move(*driver);
    if (held_) driver_->hold();
    tell(supervisor_, TakenUp{run_});
    std::vector<signal::Given> waiting = ended_children();
    for (const auto& command : std::exchange(waiting_, {}))
      if (auto given = admit(*command)) waiting.push_back(std::move(*given));
    execute(driver_->begin(std::move(waiting), parts_->stamp()));
  }

  /// The sub-agents that ended while this run held no actor, or while the word of it was lost. One that
  /// cannot be read is waited for: whoever repairs it wakes this run again.
  std::vector<signal::Given> ended_children() {
    std::vector<signal::Given> given;
    for (auto& end : ended_among(driver_->open_children(), parts_->journal, parts_->log))
      if (!review(end)) given.push_back({std::move(end), 0});
    return given;
  }

  /// With what a replay answers calls; nothing, of any other run.
  Result<std::unique_ptr<ReplayAnswers>> replay_of(const std::vector<Record>& records) {
    const auto* started = std::get_if<RunStarted>(&records.front().events.front().payload);
    if (!started || !started->replay) return nullptr;
    replay_rule_ = ReplayRule{started->replay->tools, parts_->replay_environment};
    return answers_of(parts_->journal, *started, parts_->replay_environment);
  }

  /// What the driver is given of a command; nothing, if it comes from another team, or comes again.
  std::optional<signal::Given> admit(Command& command) {
    if (command.team != row_.team) {
      if (command.reply) command.reply(fail(ErrorCode::unknown_run, "there is no run " + to_string(run_)));
      return std::nullopt;
    }
    if (const auto* ended = std::get_if<input::ChildEnded>(&command.input); ended && review(*ended))
      return std::nullopt;
    const Token token = command.reply ? ++last_token_ : 0;
    if (token) replies_[token] = std::move(command.reply);
    return signal::Given{std::move(command.input), token};
  }

  /// The run has failed every time it was taken up. It is paused with what its row says, because folding it
  /// may be what fails; a person looks at it and resumes or cancels it.
  void quarantine() {
    const Event pause = poison_pause(row_, "the run failed each time it was taken up", parts_->clock.now());
    Record record;
    record.head_before = row_.head;
    Stamp stamp = parts_->stamp();
    record.salt = stamp.entropy.draw();
    record.events = {pause};
    const std::string bytes = encode(record);
    RunAppend append;
    append.first_seq = pause.seq;
    append.events = 1;
    append.record = parts_->driver.pack(bytes);
    row_.last_seq = pause.seq;
    row_.head = *chain_head(bytes);
    row_.status = RunStatus::paused;
    row_.active = false;
    row_.resumes = 0;
    row_.pause_reasons = {PauseReason::operator_};
    row_.paused_since = pause.at;
    row_.pause_expires_at = std::get<RunPaused>(pause.payload).expires_at;
    row_.due_at = row_.pause_expires_at;
    append.row = row_;
    append.outbox = told_of(pause);
    parts_->log(LogLevel::error,
                fmt::format("run {} failed {} times in a row and is paused",
                            to_string(run_),
                            limits::resumes_without_progress_max));
    write({{std::move(append)}, {}, {}, false}, AppendEnded::Of::quarantine);
  }

  /// Whatever made the run fail may be met here again; the pause is written all the same.
  std::vector<OutboxEntry> told_of(const Event& pause) {
    std::string why;
    try {
      const auto book = parts_->books.get(row_);
      if (book) return outbox_entries((*book)->agent().definition, row_, {pause});
      why = book.error().text;
    } catch (const std::exception& thrown) {
      why = thrown.what();
    }
    parts_->log(LogLevel::error,
                fmt::format("nobody is notified of the pause of {}: {}", to_string(run_), why));
    return {};
  }

  /// This activation ends: commands that wait are told why, and the supervisor that the run holds no actor.
  void give_up(const Error& error) {
    if (error.code != ErrorCode::unknown_run)
      parts_->log(LogLevel::error, fmt::format("run {}: {}", to_string(run_), error.text));
    for (const auto& command : std::exchange(waiting_, {}))
      if (command->reply) command->reply(tl::unexpected(error));
    for (auto& [token, reply] : std::exchange(replies_, {}))
      reply(tl::unexpected(error));
    gave_up_ = error;
    tell(supervisor_, TakenUp{run_});
    come_to_rest(row_.due_at);
  }

  void give(signal::Given given) { execute(driver_->take(std::move(given), parts_->stamp())); }

  void execute(std::vector<Action> actions) {
    for (Action& action : actions)
      std::visit([this](auto& each) { act(each); }, action);
    settle();
  }

  void act(action::Append& append) {
    row_ = append.append.row;
    Commit commit;
    commit.reserve = append.reserve;
    commit.runs.push_back(std::move(append.append));
    std::vector<Started> children;
    for (FirstAppend& child : append.children) {
      parts_->admission.enter_anyway(row_.team);
      children.push_back({child.append.row.run_id, child.started});
      commit.runs.push_back(std::move(child.append));
    }
    write(std::move(commit), AppendEnded::Of::events, std::move(children));
  }

  void act(action::StartModel& start) {
    const std::uint32_t step = start.call.step, attempt = start.call.attempt;
    ModelClient::OnDelta on_delta = [hub = &parts_->hub, run = run_, step, attempt](std::uint64_t index,
                                                                                    std::string_view text) {
      hub->preview(run, step, attempt, index, text);
    };
    // A hand-over note is nothing that a reader of the run's replies waits for.
    if (start.call.purpose == CallPurpose::compaction) on_delta = nullptr;
    auto on_done = [self = caf::actor_cast<caf::actor>(self_), step, attempt](ModelOutcome outcome) {
      tell(self, EffectEnded{std::make_shared<Input>(input::ModelEnded{step, attempt, std::move(outcome)})});
    };
    model_tickets_[{step, attempt}] =
        parts_->models.start(std::move(start.call), std::move(on_delta), std::move(on_done));
  }

  void act(action::StartCall& start) {
    const CallEffect effect = start.effect;
    uses_sandboxes_ = uses_sandboxes_ || start.tool->sandboxed();
    // Stands until the result has come: also one that comes although the call was stopped is reviewed.
    auto on_output = showing_output_of(start);
    if (start.review) to_review_[effect] = std::move(*start.review);
    call_tickets_[effect] =
        parts_->broker.start({run_, row_.root_run_id, row_.team, row_.user_id, replay_rule_},
                             start,
                             telling_end_of(effect),
                             std::move(on_output));
  }

  /// What its command writes, for whoever watches. Nothing, where part of the result may be hidden or
  /// replaced before anybody sees it.
  ToolBroker::OnOutput showing_output_of(const action::StartCall& start) const {
    if (!start.tool->sandboxed() || start.review || !start.tool->redact.empty()) return {};
    auto preview = std::make_shared<OutputPreview>(start.effect.call_id, start.effect.attempt);
    return [hub = &parts_->hub, run = run_, preview](std::string_view bytes) {
      if (const auto output = preview->feed(bytes)) hub->output(run, *output);
    };
  }

  void act(action::PrepareChild& prepare) {
    auto started = parts_->launcher.prepare(row_.team, prepare.agent_id, 0);
    tell(caf::actor_cast<caf::actor>(self_),
         EffectEnded{std::make_shared<Input>(
             input::ChildReady{prepare.effect.call_id, prepare.effect.attempt, std::move(started)})});
  }

  void act(action::TellRun& telling) {
    tell(
        supervisor_,
        Forward{telling.run_id, std::make_shared<Command>(Command{row_.team, std::move(telling.input), {}})});
  }

  void act(action::StartJudging& start) {
    const std::string call_id = start.effect.call_id;
    auto on_facts = [self = caf::actor_cast<caf::actor>(self_), call_id](CallFacts facts) {
      tell(self, EffectEnded{std::make_shared<Input>(input::Judged{call_id, std::move(facts)})});
    };
    judge_tickets_[call_id] = parts_->judge.start(std::move(start.question), std::move(on_facts));
  }

  void act(action::StartBriefing& start) {
    auto on_briefed = [self = caf::actor_cast<caf::actor>(self_), effect = start.effect](ModelFacts facts) {
      tell(self, EffectEnded{std::make_shared<Input>(input::Briefed{effect, std::move(facts)})});
    };
    brief_ticket_ = parts_->reviewer.brief(std::move(start.question), std::move(on_briefed));
  }

  void act(action::Stop& stop) {
    if (stop_effect(stop.effect)) effect_gone(stop.effect);
  }

  void act(action::Answer& answer) {
    const auto reply = replies_.find(answer.token);
    if (reply == replies_.end()) return;
    const Reply<Accepted> call = std::move(reply->second);
    replies_.erase(reply);
    call(std::move(answer.result));
  }

  void act(action::Publish& publish) {
    parts_->hub.publish(run_, publish.events);
    if (parts_->observer) parts_->observer->on_commit(row_, publish.events);
    const auto* finished = std::get_if<RunFinished>(&publish.events.back().payload);
    if (!finished || !row_.parent_run_id) return;
    action::TellRun parent{*row_.parent_run_id, child_end(row_, *finished)};
    act(parent);
  }

  void act(action::WakeAt& wake) {
    if (wake_ticket_) parts_->timer.cancel(wake_ticket_);
    const std::uint64_t generation = ++wake_generation_;
    wake_ticket_ = parts_->timer.at(
        wake.at, [self = caf::actor_cast<caf::actor>(self_), generation] { tell(self, Wake{generation}); });
  }

  void act(action::Reload&) {
    auto records = read_all();
    if (!records) return give_up(records.error());
    execute(driver_->reload(*records, parts_->stamp()));
  }

  void act(action::Passivate&) {
    // It was taken up without harm, though there was nothing to write: the next failure counts from zero.
    if (row_.resumes > 0 && row_.status != RunStatus::finished) {
      row_.resumes = 0;
      RunAppend reset;
      reset.first_seq = row_.last_seq + 1;
      reset.row = row_;
      parts_->writer.write({{std::move(reset)}, {}, {}, false}, [](const Result<Committed>&) {});
    }
    come_to_rest(row_.due_at);
  }

  void act(action::GiveUp& gone) { give_up(gone.error); }

  /// True: nothing of it is left running. False: `EffectGone` comes.
  bool stop_effect(const Effect& effect) {
    if (const auto* model = std::get_if<ModelEffect>(&effect)) {
      const auto ticket = model_tickets_.extract({model->step, model->attempt});
      if (ticket.empty()) return true;
      parts_->models.cancel(ticket.mapped());
      parts_->hub.end_preview(run_);
      return true;
    }
    if (const auto* judge = std::get_if<JudgeEffect>(&effect)) {
      if (const auto ticket = judge_tickets_.extract(judge->call_id)) parts_->judge.cancel(ticket.mapped());
      return true;
    }
    if (std::holds_alternative<BriefEffect>(effect)) {
      stop_briefing();
      return true;
    }
    const CallEffect& call = std::get<CallEffect>(effect);
    if (const auto ticket = review_tickets_.extract(call)) parts_->reviewer.cancel_review(ticket.mapped());
    const auto ticket = call_tickets_.extract(call);
    if (ticket.empty()) return true;
    return parts_->broker.cancel(ticket.mapped(), [self = caf::actor_cast<caf::actor>(self_), effect] {
      tell(self, EffectGone{effect});
    });
  }

  void stop_briefing() {
    if (const auto ticket = std::exchange(brief_ticket_, std::nullopt))
      parts_->reviewer.cancel_brief(*ticket);
  }

  /// While the node drains, a run ends as soon as nothing of it is under way.
  void settle() {
    if (held_ && !resting_ && driver_ && driver_->at_rest()) come_to_rest(std::nullopt);
  }

  void come_to_rest(std::optional<Timestamp> due_at) {
    if (resting_) return;
    resting_ = true;
    let_go();
    tell(supervisor_, AtRest{run_, due_at});
  }

  /// Stops what is under way and gives back what is held. Safe to call twice.
  void let_go() {
    if (!parts_) return;
    if (wake_ticket_) parts_->timer.cancel(std::exchange(wake_ticket_, 0));
    for (const auto& [effect, ticket] : std::exchange(model_tickets_, {}))
      parts_->models.cancel(ticket);
    for (const auto& [effect, ticket] : std::exchange(call_tickets_, {}))
      parts_->broker.cancel(ticket);
    for (const auto& [effect, ticket] : std::exchange(review_tickets_, {}))
      parts_->reviewer.cancel_review(ticket);
    for (const auto& [call_id, ticket] : std::exchange(judge_tickets_, {}))
      parts_->judge.cancel(ticket);
    stop_briefing();
    if (std::exchange(uses_sandboxes_, false)) parts_->broker.release(run_);
    parts_->hub.end_preview(run_);
    if (std::exchange(counted_, false)) parts_->admission.leave(row_.team);
  }

  Self* self_;
  NodeParts* parts_ = nullptr;
  RunId run_;
  caf::actor supervisor_;
  RunRow row_;
  std::unique_ptr<RunDriver> driver_;
  std::optional<ReplayRule> replay_rule_;          ///< of a replay
  std::vector<std::shared_ptr<Command>> waiting_;  ///< came before the run was taken up
  std::map<Token, Reply<Accepted>> replies_;
  std::map<ModelEffect, ModelGateway::Ticket> model_tickets_;
  std::map<CallEffect, ToolBroker::Ticket> call_tickets_;
  std::map<CallEffect, JudgeQuestion> to_review_;  ///< of calls whose result hooks see first
  std::map<CallEffect, Reviewer::Ticket> review_tickets_;
  std::map<std::string, Judge::Ticket> judge_tickets_;  ///< by call id
  std::optional<Reviewer::Ticket> brief_ticket_;
  Token last_token_ = 0;
  Timer::Ticket wake_ticket_ = 0;
  std::uint64_t wake_generation_ = 0;
  std::optional<Error> gave_up_;  ///< why this activation ended; late commands are answered with it
  bool after_failure_ = false;
  bool counted_ = false;
  bool uses_sandboxes_ = false;
  bool held_ = false;
  bool resting_ = false;
};

caf::behavior run_behavior(Self* self, NodeParts* parts, const RunId& run, const caf::actor& supervisor) {
  harden(self, [parts, run](const std::string& what) {
    parts->log(LogLevel::error, fmt::format("run {}: its actor failed: {}", to_string(run), what));
  });
  self->state.begin(parts, run, supervisor);
  return {
      [self](const Activate& activate) { self->state.activate(activate); },
      [self](const Adopt& adopt) { self->state.adopt(adopt); },
      [self](const Deliver& deliver) { self->state.deliver(deliver.command); },
      [self](const AppendEnded& ended) { self->state.append_ended(ended); },
      [self](const EffectEnded& ended) { self->state.effect_ended(ended); },
      [self](const EffectGone& gone) { self->state.effect_gone(gone.effect); },
      [self](const Wake& wake) { self->state.wake(wake.generation); },
      [self](const Rest&) { self->state.rest(); },
      [self](const Release&) { self->state.release(); },
  };
}

}  // namespace

caf::actor spawn_run(caf::actor_system& system,
                     NodeParts& parts,
                     const RunId& run,
                     const caf::actor& supervisor) {
  return system.spawn(run_behavior, &parts, run, supervisor);
}

}  // namespace ratchet
