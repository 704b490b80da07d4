#pragma once
// A node without actors: it accepts what it is told to, and its runs do what the test says. Everything it
// answers is in a journal and on a feed, as with the real one.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/event/json.hpp"
#include "runtime/node.hpp"
#include "runtime/run/outstanding.hpp"
#include "runtime/run/state.hpp"

namespace ratchet {

/// The time that a test sets.
class FakeClock final : public Clock {
 public:
  Timestamp now() override { return {us_++}; }

  void advance_ms(std::int64_t ms) { us_ += ms * 1'000; }

 private:
  std::atomic<std::int64_t> us_{1'764'000'000'000'000};
};

/// Tells subscribers what the test publishes, and counts them.
class FakeFeed final : public EventFeed {
 public:
  void subscribe(const RunId& run, std::shared_ptr<EventSink> sink) override {
    const std::lock_guard lock(mutex_);
    if (const auto at = previews_.find(run); at != previews_.end())
      sink->on_delta(run, at->second.step, at->second.attempt, 0, at->second.text);
    sinks_[run].push_back(std::move(sink));
    ++subscribed_total_;
    changed_.notify_all();
  }

  void unsubscribe(const RunId& run, const EventSink* sink) override {
    std::shared_ptr<EventSink> dropped;  // destroyed outside of the lock
    const std::lock_guard lock(mutex_);
    auto& sinks = sinks_[run];
    for (auto at = sinks.begin(); at != sinks.end(); ++at) {
      if (at->get() != sink) continue;
      dropped = std::move(*at);
      sinks.erase(at);
      break;
    }
    changed_.notify_all();
  }

  void publish(const RunId& run, const std::vector<Event>& events) {
    auto batch = std::make_shared<std::vector<EventSink::Rendered>>();
    for (const auto& event : events)
      batch->push_back({event.seq, type_name(event), to_json(event)});
    const std::lock_guard lock(mutex_);
    for (const auto& sink : sinks_[run])
      sink->on_events(run, batch);
  }

  /// A piece of the reply under way; `index` 0 begins one.
  void preview(
      const RunId& run, std::uint32_t step, std::uint32_t attempt, std::uint64_t index, std::string text) {
    const std::lock_guard lock(mutex_);
    auto& preview = previews_[run];
    if (index == 0) preview = {step, attempt, ""};
    preview.text += text;
    for (const auto& sink : sinks_[run])
      sink->on_delta(run, step, attempt, index, text);
  }

  /// A piece of what a running command writes.
  void output(const RunId& run, const ToolOutput& output) {
    const std::lock_guard lock(mutex_);
    for (const auto& sink : sinks_[run])
      sink->on_output(run, output);
  }

  void end_preview(const RunId& run) {
    const std::lock_guard lock(mutex_);
    previews_.erase(run);
  }

  void wait_for_subscribers(const RunId& run, std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sinks_[run].size() == count; });
  }

  /// Until this many have subscribed, whether they are still there or not.
  void wait_for_subscriptions(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return subscribed_total_ >= count; });
  }

 private:
  struct Preview {
    std::uint32_t step = 0, attempt = 0;
    std::string text;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RunId, std::vector<std::shared_ptr<EventSink>>> sinks_;
  std::map<RunId, Preview> previews_;
  std::size_t subscribed_total_ = 0;
};

class FakeNode final : public Node {
 public:
  /// All borrowed. `pack` is the journal's.
  FakeNode(Journal& journal, FakeFeed& feed, Clock& clock, AgentCatalog& catalog, RecordPacker pack)
      : journal_(journal), feed_(feed), clock_(clock), catalog_(catalog), pack_(pack) {}

  // --- options: what goes wrong

  /// Every command is refused like this.
  std::optional<Error> refusal;
  /// So many definitions fail with `conflict`, as if somebody else had been faster.
  std::atomic<int> lost_races = 0;
  std::atomic<bool> has_recovered = true;

  // --- what it was told

  std::vector<StartRun> started;
  std::vector<ReplayRun> replays;
  std::vector<ImportRun> imports;
  std::vector<SendMessage> messages;
  std::vector<CancelRun> cancels;
  std::vector<ResolveCall> resolves;
  std::vector<ResumeRun> resumes;
  std::vector<DecideApproval> decisions;
  std::function<void(const DecideApproval&)> on_decision;  ///< what the run does, before the answer
  std::vector<ReplaceUserToken> tokens;

  // --- what runs do

  /// Commits events of a run and publishes them. The newest step is theirs, unless `step` is given.
  void happen(const RunId& run, std::vector<Payload> payloads, std::optional<std::uint32_t> step = {}) {
    std::vector<Event> events = commit(run, std::move(payloads), step, {}, {}).value();
    feed_.publish(run, events);
  }

  /// Commits without a word to anybody, as it is between a commit and its publication.
  std::vector<Event> commit_only(const RunId& run, std::vector<Payload> payloads) {
    return commit(run, std::move(payloads), {}, {}, {}).value();
  }

  /// Commits events with an artifact of these bytes.
  ArtifactId keep(const RunId& run, std::string bytes) {
    Stamp stamp{clock_.now(), system_entropy()};
    ArtifactRef ref{ArtifactId::make(stamp), 1, bytes.size(), sha256(bytes), bytes.substr(0, 4)};
    MessageReceived message;
    message.content = {Block{BlockType::text, {}, {}, ref}};
    message.from = "test";
    commit(run, {message}, {}, {}, {Blob{ref, std::move(bytes)}}).value();
    return ref.id;
  }

  void finish(const RunId& run, std::string text = "done") {
    RunFinished finished;
    finished.result = std::move(text);
    happen(run, {finished});
  }

  /// A run of the same agent that `parent` starts.
  RunId start_below(const RunId& parent) {
    Stamp stamp{clock_.now(), system_entropy()};
    const auto child = RunId::make(stamp);
    RunStarted event;
    {
      const std::lock_guard lock(runs_mutex_);
      event = *runs_.at(parent).state.started;
    }
    event.input = text_content("part of it");
    event.parent_run_id = parent;
    ++event.depth;
    commit(child, {event}, 0, {}, {}).value();
    SubagentStarted started;
    started.call_id = "call_1_1";
    started.child_run_id = child;
    started.agent_id = event.agent_id;
    started.agent_version = event.agent_version;
    started.share = {5, 10'000, Usd{50'000'000}};
    happen(parent, {started});
    return child;
  }

  /// The end of a run below, and its parent hears of it.
  void finish_below(const RunId& parent, const RunId& child, Share used = {1, 107, Usd{23'100'000}}) {
    finish(child, "part is done");
    SubagentFinished finished;
    finished.call_id = "call_1_1";
    finished.child_run_id = child;
    finished.used = used;
    finished.result = text_content("part is done");
    happen(parent, {finished});
  }

  // --- Node

  void start_run(StartRun command, Reply<RunAccepted> reply) override {
    const std::lock_guard lock(mutex_);
    started.push_back(command);
    if (refusal) return reply(tl::unexpected(*refusal));
    const auto agent = catalog_.find(command.team, command.agent_id, command.agent_version);
    if (!agent) return reply(tl::unexpected(agent.error()));
    Stamp stamp{clock_.now(), system_entropy()};
    const auto run = RunId::make(stamp);
    std::optional<IdempotencyClaim> claim;
    if (!command.idempotency_key.empty())
      claim = IdempotencyClaim{command.team, command.idempotency_key, command.fingerprint, run};
    const auto events = commit(run, {started_event(command, **agent, run)}, 0, claim, {});
    if (!events) return reply(tl::unexpected(events.error()));
    if (events->empty()) return reply(RunAccepted{existing_, (*agent)->version, true});
    reply(RunAccepted{run, (*agent)->version, false});
  }

  void replay_run(ReplayRun command, Reply<RunAccepted> reply) override {
    const std::lock_guard lock(mutex_);
    replays.push_back(command);
    if (refusal) return reply(tl::unexpected(*refusal));
    Stamp stamp{clock_.now(), system_entropy()};
    reply(RunAccepted{RunId::make(stamp), 1, false});
  }

  void import_run(ImportRun command, Reply<RunAccepted> reply) override {
    const std::lock_guard lock(mutex_);
    imports.push_back(std::move(command));
    if (refusal) return reply(tl::unexpected(*refusal));
    reply(RunAccepted{imports.back().run_id, 1, false});
  }

  void send_message(SendMessage command, Reply<Accepted> reply) override {
    accept(messages, std::move(command), std::move(reply));
  }

  void cancel_run(CancelRun command, Reply<Accepted> reply) override {
    accept(cancels, std::move(command), std::move(reply));
  }

  void resolve_call(ResolveCall command, Reply<Accepted> reply) override {
    accept(resolves, std::move(command), std::move(reply));
  }

  void resume_run(ResumeRun command, Reply<Accepted> reply) override {
    accept(resumes, std::move(command), std::move(reply));
  }

  void decide_approval(DecideApproval command, Reply<Accepted> reply) override {
    const DecideApproval given = command;
    accept(decisions, std::move(command), [this, given, reply](Result<Accepted> accepted) {
      if (!accepted || !on_decision) return reply(accepted);
      on_decision(given);
      reply(accepted);
    });
  }

  void replace_user_token(ReplaceUserToken command, Reply<Accepted> reply) override {
    accept(tokens, std::move(command), std::move(reply));
  }

  void put_definitions(std::vector<DefinitionPut> puts, Reply<Committed> reply) override {
    if (refusal) return reply(tl::unexpected(*refusal));
    if (lost_races.load() > 0) {
      --lost_races;
      return reply(fail(ErrorCode::conflict, "somebody else was faster"));
    }
    const std::lock_guard lock(mutex_);
    Commit commit;
    commit.definitions = std::move(puts);
    auto committed = journal_.commit({&commit, 1});
    if (!committed) return reply(tl::unexpected(committed.error()));
    reply(committed->front());
  }

  void drain(std::int64_t) override {}

  bool recovered() const override { return has_recovered; }

  TierStatus sandbox_tier(std::uint32_t tier) const override {
    return tier == 2 ? TierStatus{true, "crun 1.8.1", {}, {"memory: no cgroup"}}
                     : TierStatus{false, {}, "there is no runsc", {}};
  }

  NodeStats stats() const override { return {}; }

 private:
  template <class Command>
  void accept(std::vector<Command>& told, Command command, Reply<Accepted> reply) {
    if (refusal) return reply(tl::unexpected(*refusal));
    const auto row = journal_.row(command.run_id);
    if (!row) return reply(tl::unexpected(row.error()));
    if (row->team != command.team) return reply(fail(ErrorCode::unknown_run, "there is no such run"));
    if (row->status == RunStatus::finished)
      return reply(fail(ErrorCode::run_finished, "the run has finished"));
    const std::lock_guard lock(mutex_);
    told.push_back(std::move(command));
    reply(Accepted{row->last_seq + 1});
  }

  static RunStarted started_event(const StartRun& command, const AgentVersion& agent, const RunId& run) {
    RunStarted event;
    event.agent_id = command.agent_id;
    event.agent_version = agent.version;
    event.agent_digest = agent.definition.digest;
    event.model.name = agent.definition.model;
    event.model.providers.push_back({});
    event.input = command.input;
    event.user_id = command.user_id;
    event.scopes = command.scopes;
    event.team = command.team;
    event.root_run_id = run;
    event.budgets = command.budgets.value_or(agent.definition.budgets);
    event.seed = command.seed.value_or(1);
    event.harness_version = "test";
    event.labels = command.labels;
    return event;
  }

  /// Empty: an earlier run holds the key.
  Result<std::vector<Event>> commit(const RunId& run,
                                    std::vector<Payload> payloads,
                                    std::optional<std::uint32_t> step,
                                    std::optional<IdempotencyClaim> claim,
                                    std::vector<Blob> blobs) {
    const std::lock_guard lock(runs_mutex_);
    Running running = runs_[run];
    running.state.run_id = run;
    const RunState before = running.state;
    Record record;
    record.head_before = running.head;
    for (auto& payload : payloads) {
      auto at_step = step.value_or(running.state.step);
      if (!step && std::holds_alternative<ModelRequested>(payload)) {
        if (std::get<ModelRequested>(payload).attempt == 1) ++at_step;
      }
      record.events.push_back({running.state.last_seq + 1, clock_.now(), at_step, 1, std::move(payload)});
      apply(running.state, record.events.back());
    }
    running.head = chain_head(record);
    Commit commit;
    commit.claim = std::move(claim);
    RunAppend append;
    append.first_seq = record.events.front().seq;
    append.events = static_cast<std::uint32_t>(record.events.size());
    append.record = pack_(encode(record));
    append.row = row_of(running.state);
    append.row.head = running.head;
    append.blobs = std::move(blobs);
    // The first event of a run is no approval, and there is no state before it to make rows from.
    if (before.started) append.approvals = approval_rows(before, record.events);
    commit.runs.push_back(std::move(append));
    auto committed = journal_.commit({&commit, 1});
    if (!committed) return tl::unexpected(committed.error());
    if (!committed->front()) return tl::unexpected(committed->front().error());
    if (committed->front()->existing) {
      existing_ = *committed->front()->existing;
      runs_.erase(run);
      return std::vector<Event>();
    }
    runs_[run] = std::move(running);
    return std::move(record.events);
  }

  struct Running {
    RunState state;
    Hash head;
  };

  Journal& journal_;
  FakeFeed& feed_;
  Clock& clock_;
  AgentCatalog& catalog_;
  RecordPacker pack_;
  std::mutex mutex_;       ///< what it was told
  std::mutex runs_mutex_;  ///< what runs did
  std::map<RunId, Running> runs_;
  RunId existing_;
};

}  // namespace ratchet
