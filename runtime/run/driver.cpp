#include "runtime/run/driver.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/limits.hpp"
#include "runtime/run/question.hpp"
#include "runtime/run/rules_version.hpp"
#include "runtime/tools/spawn.hpp"

namespace ratchet {

namespace {

template <class T>
bool contains(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// A run has got on when the world has answered it, or a person has taken its part.
bool is_progress(const Decided& decision) {
  return std::any_of(decision.events.begin(), decision.events.end(), [](const Event& event) {
    return std::holds_alternative<ModelCompleted>(event.payload) ||
           std::holds_alternative<ToolResult>(event.payload) ||
           std::holds_alternative<ApprovalDecided>(event.payload) ||
           std::holds_alternative<RunResumed>(event.payload) ||
           std::holds_alternative<RunFinished>(event.payload);
  });
}

}  // namespace

RunDriver::RunDriver(DriverParts parts,
                     std::shared_ptr<const ToolBook> tools,
                     const RunRow& row,
                     bool after_failure)
    : parts_(parts),
      tools_(std::move(tools)),
      lease_(row.lease),
      resumes_(row.resumes),
      after_failure_(after_failure) {
  state_.run_id = row.run_id;
}

Result<std::unique_ptr<RunDriver>> RunDriver::load(DriverParts parts,
                                                   std::shared_ptr<const ToolBook> tools,
                                                   const RunRow& row,
                                                   const std::vector<Record>& records,
                                                   bool after_failure,
                                                   std::unique_ptr<ReplayAnswers> replay) {
  std::unique_ptr<RunDriver> driver(new RunDriver(parts, std::move(tools), row, after_failure));
  driver->replay_ = std::move(replay);
  for (const Record& record : records) {
    for (const Event& event : record.events) {
      if (event.seq != driver->state_.last_seq + 1)
        return fail(ErrorCode::corrupt, "the run's events have a gap");
      if ((event.seq == 1) != std::holds_alternative<RunStarted>(event.payload))
        return fail(ErrorCode::corrupt, "the run's first event is not run.started, or it stands elsewhere");
      apply(driver->state_, event);
      if (driver->replay_) driver->replay_->apply(event);
    }
  }
  if (driver->state_.last_seq != row.last_seq || row.last_seq == 0)
    return fail(ErrorCode::corrupt, "the run's row and its events differ");
  if (auto served = driver->can_be_served(); !served) return tl::unexpected(served.error());
  driver->head_ = row.head;
  driver->rebuild_context(records);
  return driver;
}

Result<void> RunDriver::can_be_served() const {
  RATCHET_ENSURE(state_.started->replay.has_value() == (replay_ != nullptr),
                 "a replay is never taken up without what keeps it from acting");
  if (state_.started->rules_version > newest_rules || state_.started->assembler_version > newest_assembler)
    return fail(ErrorCode::not_supported,
                fmt::format("the run was started by a newer build, under rules {} and assembler {}; this one "
                            "knows up to {} and {}",
                            state_.started->rules_version,
                            state_.started->assembler_version,
                            newest_rules,
                            newest_assembler));
  if (state_.model.provider >= state_.started->model.providers.size())
    return fail(ErrorCode::corrupt, "the run's events name a provider that it does not have");
  for (const OpenCall& call : state_.calls) {
    const bool open = call.stage != CallStage::settled && call.stage != CallStage::requested;
    if (open && !tools_->find(call.tool))
      return fail(ErrorCode::corrupt,
                  "the run has a call under way of a tool that its version lacks: " + call.tool);
  }
  return {};
}

void RunDriver::rebuild_context(const std::vector<Record>& records) {
  const RunStarted& started = *state_.started;
  const std::uint32_t provider = state_.model.provider;
  auto head = parts_.heads.get(tools_->agent(), started.model, started.settings, provider);
  context_ = std::make_unique<Context>(std::move(head), started.model.providers.at(provider), provider);
  for (const Record& record : records)
    for (const Event& event : record.events)
      context_->apply(event);
}

std::vector<Action> RunDriver::begin(std::vector<signal::Given> waiting, Stamp stamp) {
  inbox_.push_back({input::Recovered{}, 0});
  for (signal::Given& given : waiting)
    inbox_.push_back(std::move(given));
  pump(stamp);
  return std::exchange(actions_, {});
}

std::vector<Action> RunDriver::take(Signal signal, Stamp stamp) {
  if (over_) return {};
  if (auto* given = std::get_if<signal::Given>(&signal)) {
    if (const auto* ended = std::get_if<input::ModelEnded>(&given->input))
      forget(ModelEffect{ended->step, ended->attempt});
    if (const auto* ended = std::get_if<input::CallEnded>(&given->input))
      forget(CallEffect{ended->call_id, ended->attempt});
    if (const auto* ready = std::get_if<input::ChildReady>(&given->input))
      forget(CallEffect{ready->call_id, ready->attempt});
    if (const auto* judged = std::get_if<input::Judged>(&given->input)) forget(JudgeEffect{judged->call_id});
    if (const auto* briefed = std::get_if<input::Briefed>(&given->input)) forget(briefed->effect);
    if (std::holds_alternative<input::Due>(given->input)) wake_at_.reset();
    inbox_.push_back(std::move(*given));
  } else if (std::holds_alternative<signal::Committed>(signal)) {
    committed();
  } else if (const auto* refusal = std::get_if<signal::Refused>(&signal)) {
    refused(refusal->error, stamp.at);
  } else {
    const Effect& effect = std::get<signal::Stopped>(signal).effect;
    std::erase(stopping_, effect);
  }
  pump(stamp);
  return std::exchange(actions_, {});
}

std::vector<Action> RunDriver::reload(const std::vector<Record>& records, Stamp stamp) {
  reloading_ = false;
  rebuild_context(records);
  // The attempt that waited for the new context is decided by looking at the clock.
  inbox_.push_front({input::Due{}, 0});
  pump(stamp);
  return std::exchange(actions_, {});
}

void RunDriver::forget(const Effect& effect) {
  std::erase(started_, effect);
  std::erase(stopping_, effect);
}

void RunDriver::committed() {
  RATCHET_ENSURE(pending_, "a commit is told of once, and only while one is awaited");
  Pending done = std::move(*pending_);
  pending_.reset();
  state_ = std::move(done.decision.after);
  head_ = done.head;
  for (const Event& event : done.decision.events) {
    context_->apply(event);
    if (replay_) replay_->apply(event);
    if (const auto* requested = std::get_if<ModelRequested>(&event.payload))
      late_text_ = requested->late_message();
  }
  if (done.given.token)
    actions_.push_back(action::Answer{done.given.token, Accepted{done.decision.accepted_seq}});
  actions_.push_back(action::Publish{std::move(done.decision.events)});
}

void RunDriver::refused(const Error& error, Timestamp now) {
  RATCHET_ENSURE(pending_, "a refusal is told of once, and only while a commit is awaited");
  signal::Given given = std::move(pending_->given);
  reserve_is_full_ = pending_->decision.after.cancel.has_value();
  pending_.reset();
  if (error.code != ErrorCode::store_unavailable) {
    over_ = true;
    if (given.token) actions_.push_back(action::Answer{given.token, tl::unexpected(error)});
    for (const Effect& effect : started_)
      actions_.push_back(action::Stop{effect});
    actions_.push_back(action::GiveUp{error});
    return;
  }
  if (given.token) {
    actions_.push_back(action::Answer{given.token, tl::unexpected(error)});
  } else {
    inbox_.push_front(std::move(given));
  }
  hold_until_ = now.plus_ms(limits::store_retry_ms);
  wake_at_ = hold_until_;
  actions_.push_back(action::WakeAt{*hold_until_});
}

void RunDriver::pump(Stamp stamp) {
  while (!over_ && !pending_ && !reloading_) {
    if (wait_for_room(stamp.at)) return;
    if (inbox_.empty()) {
      reconcile(stamp);
      if (inbox_.empty()) return;
    }
    signal::Given given = std::move(inbox_.front());
    inbox_.pop_front();
    propose(std::move(given), stamp);
  }
}

/// While the store has no room, commands are told so at once and everything else waits. Only a cancel goes
/// on, before anything else that waits, because there is a reserve for it.
bool RunDriver::wait_for_room(Timestamp now) {
  if (hold_until_ && now >= *hold_until_) hold_until_.reset();
  if (!hold_until_) return false;
  if (!reserve_is_full_) {
    if (state_.cancel) return false;
    const auto cancel = std::find_if(inbox_.begin(), inbox_.end(), [](const signal::Given& given) {
      return std::holds_alternative<input::Cancel>(given.input);
    });
    if (cancel != inbox_.end()) {
      std::rotate(inbox_.begin(), cancel, cancel + 1);
      return false;
    }
  }
  std::erase_if(inbox_, [&](const signal::Given& given) {
    if (!given.token) return false;
    actions_.push_back(
        action::Answer{given.token, fail(ErrorCode::store_unavailable, "the journal has no room")});
    return true;
  });
  return true;
}

void RunDriver::propose(signal::Given given, Stamp& stamp) {
  // Each decision gets randomness of its own, whatever was decided before under the same stamp, and so does
  // the salt of its record: it must not be known to those who see the ids that were made.
  const Stamp fresh{stamp.at, Entropy(stamp.entropy.draw())};
  auto decision = decide(Rules{*tools_, lease_, holding_, parts_.decision_point, replay_.get()},
                         state_,
                         *context_,
                         given.input,
                         fresh);
  if (!decision) {
    if (given.token) actions_.push_back(action::Answer{given.token, tl::unexpected(decision.error())});
    return;
  }
  if (decision->events.empty()) {
    if (given.token) actions_.push_back(action::Answer{given.token, Accepted{decision->accepted_seq}});
    return;
  }
  append(std::move(*decision), std::move(given), stamp);
}

void RunDriver::append(Decided decision, signal::Given given, Stamp& stamp) {
  Record record;
  record.head_before = head_;
  record.salt = stamp.entropy.draw();
  record.events = std::move(decision.events);
  const std::string bytes = encode(record);
  decision.events = std::move(record.events);

  if (!after_failure_ || is_progress(decision)) resumes_ = 0;
  const bool cancels = decision.after.cancel.has_value();
  action::Append append;
  append.reserve = cancels;
  append.append.first_seq = decision.events.front().seq;
  append.append.events = static_cast<std::uint32_t>(decision.events.size());
  append.append.row = row_of(decision.after);
  append.append.row.lease = lease_;
  append.append.row.resumes = resumes_;
  append.append.row.head = *chain_head(bytes);
  append.append.record = parts_.pack(bytes);
  append.append.blobs = std::move(decision.blobs);
  append.append.approvals = approval_rows(state_, decision.events);
  append.append.outbox = outbox_entries(tools_->agent().definition, append.append.row, decision.events);
  for (const Event& event : decision.events)
    if (const auto* result = std::get_if<ToolResult>(&event.payload); result && result->workspace)
      append.append.snapshots.push_back(*result->workspace);
  for (ChildStart& child : decision.children)
    append.children.push_back(first_append(child.run_id, std::move(child.started), parts_.pack, stamp));
  if (auto* token = std::get_if<input::UserToken>(&given.input)) append.append.user_token = token->token;
  pending_ = Pending{std::move(decision), append.append.row.head, std::move(given)};
  actions_.push_back(std::move(append));
}

void RunDriver::reconcile(Stamp& stamp) {
  std::vector<Effect> wanted = outstanding(state_, stamp.at);
  // Nothing would come of it: no model call is announced.
  if (holding_) std::erase_if(wanted, [](const Effect& e) { return std::holds_alternative<BriefEffect>(e); });
  const std::vector<Effect> running = started_;
  for (const Effect& effect : running) {
    if (contains(wanted, effect)) continue;
    std::erase(started_, effect);
    stopping_.push_back(effect);
    actions_.push_back(action::Stop{effect});
  }
  for (const Effect& effect : wanted)
    if (!contains(started_, effect)) start(effect);
  mark_questions();
  if (state_.cancel && !state_.finished()) {
    cancel_children();
    if (started_.empty() && stopping_.empty() && !state_.any_child()) inbox_.push_back({input::Stopped{}, 0});
    return;
  }
  const bool going = !state_.finished() && !state_.pause;
  if (going && context_->provider() != state_.model.provider) {
    reloading_ = true;
    actions_.push_back(action::Reload{});
    return;
  }
  if (started_.empty() && stopping_.empty() && waits(state_)) {
    over_ = true;
    actions_.push_back(action::Passivate{});
    return;
  }
  const auto due = next_due(state_, stamp.at);
  if (due && (!wake_at_ || *due != *wake_at_)) {
    wake_at_ = due;
    actions_.push_back(action::WakeAt{*due});
  }
}

std::optional<JudgeQuestion> RunDriver::review_of(const RunId& child) const {
  const OpenCall* call = state_.find_child(child);
  if (!call || !tools_->has_post_tool_hooks()) return std::nullopt;
  return question_of(tools_, row_of(state_), call->call_id, call->tool, call->args.text);
}

std::vector<RunId> RunDriver::open_children() const {
  std::vector<RunId> children;
  for (const OpenCall& call : state_.calls)
    if (call.child) children.push_back(call.child->run_id);
  return children;
}

/// Once in each activation: whoever is taken up again does not know whether they were told.
void RunDriver::cancel_children() {
  if (std::exchange(children_cancelled_, true)) return;
  const RunCancelRequested& cancel = *state_.cancel;
  const bool by_itself = cancel.stop_reason.has_value();
  const input::Cancel told{cancel.by, by_itself ? "the run that started this one has ended" : cancel.reason};
  for (const RunId& child : open_children())
    actions_.push_back(action::TellRun{child, told});
}

/// Of the questions that are started together, all but the last say that another one follows.
void RunDriver::mark_questions() {
  bool more = false;
  for (auto at = actions_.rbegin(); at != actions_.rend(); ++at)
    if (auto* judging = std::get_if<action::StartJudging>(&*at))
      judging->question.more = std::exchange(more, true);
}

void RunDriver::start(const Effect& effect) {
  started_.push_back(effect);
  if (const auto* model = std::get_if<ModelEffect>(&effect)) {
    const ModelConfig& config = state_.started->model;
    ModelCall call;
    call.run_id = state_.run_id;
    call.step = model->step;
    call.attempt = model->attempt;
    call.model = config.name;
    call.provider = state_.model.provider;
    call.endpoint = config.providers.at(call.provider);
    call.first_byte_timeout_ms = config.first_byte_timeout_ms;
    call.purpose = state_.model.purpose;
    call.body = context_->render(state_.model.max_tokens, late_text_);
    actions_.push_back(action::StartModel{std::move(call)});
    return;
  }
  if (const auto* judge = std::get_if<JudgeEffect>(&effect)) {
    const OpenCall& call = *state_.find_call(judge->call_id);
    JudgeQuestion question = question_of(tools_, row_of(state_), call.call_id, call.tool, call.args.text);
    question.decision_point = parts_.decision_point;
    question.scopes = state_.scopes;
    actions_.push_back(action::StartJudging{*judge, std::move(question)});
    return;
  }
  if (const auto* brief = std::get_if<BriefEffect>(&effect)) {
    actions_.push_back(action::StartBriefing{*brief, question_of(tools_, row_of(state_), brief->step)});
    return;
  }
  start_call(std::get<CallEffect>(effect));
}

void RunDriver::start_call(const CallEffect& wanted) {
  const OpenCall* call = state_.find_call(wanted.call_id);
  if (call->tool == "spawn_agent") {
    const auto asked = parse_spawn(call->args.text);
    RATCHET_ENSURE(asked, "arguments that were planned with can be read");
    actions_.push_back(action::PrepareChild{wanted, asked->agent_id});
    return;
  }
  const ToolManifest* tool = tools_->find(call->tool);
  RATCHET_ENSURE(tool, "a planned call has a manifest in its version");
  action::StartCall start{wanted,
                          std::shared_ptr<const ToolManifest>(tools_, tool),
                          call->execution,
                          call->args.text,
                          idempotency_key(state_, call->call_id),
                          std::size_t{state_.started->result_cap_tokens} * limits::bytes_per_token_shown,
                          state_.token_expires_at};
  if (tool->uses_workspace()) start.workspace = state_.workspace;
  if (tools_->has_post_tool_hooks())
    start.review = question_of(tools_, row_of(state_), call->call_id, call->tool, call->args.text);
  actions_.push_back(std::move(start));
}

}  // namespace ratchet
