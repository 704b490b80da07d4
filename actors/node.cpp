#include "actors/node.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "actors/approval_actor.hpp"
#include "actors/caf.hpp"
#include "actors/parts.hpp"
#include "actors/replays.hpp"
#include "actors/run_actor.hpp"
#include "actors/supervisor.hpp"
#include "runtime/limits.hpp"
#include "runtime/replay/patch.hpp"
#include "runtime/replay/start.hpp"
#include "runtime/replay/take_over.hpp"
#include "runtime/tools/hooks.hpp"

namespace ratchet {

namespace {

caf::actor_system_config& configured(caf::actor_system_config& config, std::size_t workers) {
  configure(config, workers > 0 ? workers : std::max(2u, std::thread::hardware_concurrency()));
  return config;
}

std::map<std::string, std::size_t> lanes(const std::map<std::string, ServedModel>& served) {
  std::map<std::string, std::size_t> limits;
  for (const auto& [name, model] : served)
    limits[name] = model.max_concurrent;
  return limits;
}

/// Beside the events of a new run, in the same commit.
struct Beside {
  std::string_view user_token;
  std::optional<IdempotencyClaim> claim;
};

/// `command`: of either kind that starts a run.
template <class Command>
Beside beside(const Command& command, const RunId& run) {
  Beside beside{command.user_token, std::nullopt};
  if (!command.idempotency_key.empty())
    beside.claim = IdempotencyClaim{command.team, command.idempotency_key, command.fingerprint, run};
  return beside;
}

/// A whole run as one append: its row says what its events come to, and that it is not ours to go on with.
RunAppend imported(ImportRun& run, RecordPacker pack, Timestamp now) {
  RunState state;
  state.run_id = run.run_id;
  RunAppend append;
  append.first_seq = 1;
  for (const Record& record : run.records) {
    for (const Event& event : record.events)
      apply(state, event);
    const std::string bytes = encode(record);
    const auto events = static_cast<std::uint32_t>(record.events.size());
    if (append.events == 0) {
      append.events = events;
      append.record = pack(bytes);
    } else {
      append.further.push_back({events, pack(bytes)});
    }
    append.row.head = *chain_head(bytes);
  }
  const Hash head = append.row.head;
  append.row = row_of(state);
  append.row.team = run.team;
  append.row.lease = run.records.back().events.back().lease_version;
  append.row.head = head;
  append.row.imported_at = now;
  append.blobs = std::move(run.blobs);
  return append;
}

/// Stands in where nobody can be asked: what needs to be asked is refused.
class NobodyToAsk final : public Judge, public Reviewer {
 public:
  using Ticket = Judge::Ticket;

  Ticket start(JudgeQuestion question, OnFacts on_facts) override {
    CallFacts facts;
    const std::string why = "there is nobody to ask on this server";
    if (question.hooks) facts.hooks = HookFacts{true, why, std::nullopt};
    if (question.decision_point) facts.authorizer = AuthorizerFacts{false, why};
    on_facts(std::move(facts));
    return 0;
  }

  void cancel(Ticket) override {}

  Ticket review(JudgeQuestion, CallEnd end, OnEnd on_end) override {
    if (has_result(end)) withhold(end, "there is nobody to ask on this server");
    on_end(std::move(end));
    return 0;
  }

  void cancel_review(Ticket) override {}

  Ticket brief(JudgeQuestion, OnBriefed on_briefed) override {
    on_briefed({ModelFacts::Outcome::unanswered, "its hooks: there is nobody to ask on this server", {}});
    return 0;
  }

  void cancel_brief(Ticket) override {}
};

}  // namespace

struct CafNode::Parts {
  explicit Parts(NodeOptions given)
      : options(std::move(given)),
        timer(*options.clock),
        writer(*options.journal),
        books(*options.catalog, *options.journal),
        launcher(*options.catalog, options.served, options.harness_version),
        models(*options.models, lanes(options.served)),
        credentials(*options.connector, *options.clock, options.exchange),
        sandboxes(options.sandboxes, *options.clock, timer, options.log),
        broker(*options.journal,
               *options.connector,
               *options.clock,
               credentials,
               sandboxes,
               options.http_get_endpoints),
        outbox({*options.journal,
                writer,
                *options.connector,
                timer,
                *options.clock,
                options.webhook_secrets,
                options.log,
                options.deliveries}),
        admission(options.concurrent_runs, options.runs_per_team),
        shared{*options.clock,
               *options.journal,
               writer,
               books,
               launcher,
               DriverParts{heads, options.pack, options.decision_point},
               models,
               broker,
               options.judge ? *options.judge : nobody,
               options.reviewer ? *options.reviewer : nobody,
               outbox.waker(),
               hub,
               timer,
               admission,
               options.log,
               options.observer,
               options.replay_environment},
        system(configured(config, options.workers)),
        supervisor(spawn_supervisor(system, shared, view)),
        approvals(spawn_approval_desk(system, shared, supervisor)) {
    sandboxes.begin(system);
  }

  NodeOptions options;
  // In the order in which they must be made; taken down the other way round, the actors first.
  HeadCache heads;
  EventHub hub;
  Timer timer;
  JournalWriter writer;
  BookShelf books;
  Launcher launcher;
  ModelGateway models;
  Credentials credentials;
  Sandboxes sandboxes;
  ToolBroker broker;
  NobodyToAsk nobody;
  Outbox outbox;
  Admission admission;
  NodeParts shared;
  SupervisorView view;
  caf::actor_system_config config;
  caf::actor_system system;
  caf::actor supervisor;
  caf::actor approvals;
  std::atomic<bool> draining{false};
  std::atomic<std::uint64_t> runs_started{0};

  void route(std::string team, const RunId& run, Input input, Reply<Accepted> reply) {
    // While the node drains, it is the supervisor that says so: whoever is told knows that every run was told
    // before.
    tell(supervisor,
         Forward{run,
                 std::make_shared<Command>(Command{std::move(team), std::move(input), std::move(reply)})});
  }

  Result<RunAccepted> existing(const RunId& run) const {
    auto row = options.journal->row(run);
    if (!row) return tl::unexpected(row.error());
    return RunAccepted{run, row->agent_version, true};
  }

  /// A repetition is answered before any limit is looked at. Nothing: the command is new.
  template <class Command>
  std::optional<Result<RunAccepted>> repeated(const Command& command) const {
    if (command.idempotency_key.empty()) return std::nullopt;
    const auto claimed = options.journal->idempotency(command.team, command.idempotency_key);
    if (!claimed) return tl::unexpected(claimed.error());
    if (!*claimed) return std::nullopt;
    if ((*claimed)->fingerprint == command.fingerprint) return existing((*claimed)->run_id);
    return fail(ErrorCode::idempotency_conflict,
                fmt::format("the key was used before, with another request, for run {}",
                            to_string((*claimed)->run_id)),
                "/idempotency_key");
  }

  /// Commits a new run and takes it up.
  void begin(const RunId& run, FirstAppend first, Beside beside, const Reply<RunAccepted>& reply) {
    const RunRow& row = first.started->first;
    if (auto room = admission.enter(row.team); !room) return reply(tl::unexpected(room.error()));
    auto done = [this, run, started = first.started, reply](Result<Committed> outcome) {
      const RunRow& row = started->first;
      if (!outcome || outcome->existing) {
        admission.leave(row.team);
        return reply(outcome ? existing(*outcome->existing)
                             : Result<RunAccepted>(tl::unexpected(outcome.error())));
      }
      ++runs_started;
      if (options.observer) options.observer->on_commit(row, started->second.events);
      // In this order: what the client does next must find the run's actor.
      tell(supervisor, Started{run, started});
      reply(RunAccepted{run, row.agent_version, false});
    };
    Commit commit;
    if (!beside.user_token.empty()) first.append.user_token = beside.user_token;
    commit.runs.push_back(std::move(first.append));
    commit.claim = std::move(beside.claim);
    writer.write(std::move(commit), std::move(done));
  }

  /// The first events of a replay.
  Result<std::vector<Event>> replayed(const ReplayRun& command, Timestamp now) const {
    const auto row = options.journal->row(command.run_id);
    if (!row || row->team != command.team)
      return fail(
          row || row.error().code == ErrorCode::unknown_run ? ErrorCode::unknown_run : row.error().code,
          "there is no run " + to_string(command.run_id));
    if (row->imported_at)
      return fail(ErrorCode::not_replayable,
                  "the run was imported: it can be looked at here, and not run again");
    const auto original = read_events(*options.journal, command.run_id);
    if (!original) return tl::unexpected(original.error());
    auto base = options.catalog->find(row->team, row->agent_id, row->agent_version);
    if (!base) return tl::unexpected(base.error());
    const auto version = patched(std::move(*base), command.patch);
    if (!version) return tl::unexpected(version.error());
    ReplayOrder order;
    order.origin = {command.run_id, command.from_step, command.tools, command.nondeterminism, command.patch};
    order.input = command.input;
    if (!command.user_token.empty())
      order.user = ReplayUser{command.user_id, command.scopes, command.token_expires_at};
    order.environment = options.replay_environment;
    order.harness_version = options.harness_version;
    const auto model = model_of((*version)->definition, row->model);
    if (!model) return tl::unexpected(model.error());
    order.model = *model;
    return replay_events(order, *original, **version, now);
  }

  /// The configuration of the model that the replay goes over to; null, where it stays with the one of the
  /// record.
  Result<const ModelConfig*> model_of(const AgentDefinition& definition, const std::string& recorded) const {
    const auto model = options.served.find(definition.model);
    if (model == options.served.end())
      return fail(ErrorCode::not_replayable,
                  fmt::format("the server has no model '{}'", definition.model),
                  "/patch/model");
    if (definition.model == recorded) return nullptr;
    if (definition.settings.max_output_tokens > model->second.config.max_output_tokens)
      return fail(ErrorCode::invalid_definition,
                  fmt::format("max_output_tokens is {}; model '{}' gives at most {}",
                              definition.settings.max_output_tokens,
                              definition.model,
                              model->second.config.max_output_tokens),
                  "/patch/model");
    return &model->second.config;
  }

  Result<RunStarted> started(const StartRun& command, Stamp& stamp) const {
    auto started = launcher.prepare(command.team, command.agent_id, command.agent_version);
    if (!started) return started;
    started->input = command.input;
    started->user_id = command.user_id;
    started->scopes = command.scopes;
    started->token_expires_at = command.token_expires_at;
    started->team = command.team;
    if (command.budgets) started->budgets = *command.budgets;
    started->deadline_at = stamp.at.plus_ms(started->budgets.max_seconds * 1'000);
    started->seed = draw_seed(stamp.entropy);
    if (command.seed) {
      started->seed = *command.seed;
      const auto& takes = started->model.sampling;
      if (std::ranges::find(takes, "seed") != takes.end())
        started->settings.seed = std::to_string(*command.seed);
    }
    started->labels = command.labels;
    return started;
  }
};

CafNode::CafNode(NodeOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {}

CafNode::~CafNode() {
  // Actors that still hold runs are ended at once; `~actor_system` waits for the last of them.
  if (!parts_->draining) drain(0);
}

void CafNode::recover() {
  tell(parts_->supervisor, RecoverAll{});
  parts_->shared.wake_outbox();
}

EventFeed& CafNode::feed() {
  return parts_->hub;
}

void CafNode::start_run(StartRun command, Reply<RunAccepted> reply) {
  Parts& parts = *parts_;
  if (parts.draining) return reply(fail(ErrorCode::draining, "the server is shutting down"));
  if (auto earlier = parts.repeated(command)) return reply(std::move(*earlier));
  Stamp stamp = parts.shared.stamp();
  auto started = parts.started(command, stamp);
  if (!started) return reply(tl::unexpected(started.error()));
  const RunId run = RunId::make(stamp);
  Decided decided = ratchet::start_run(run, std::move(*started), stamp);
  parts.begin(run, first_append(std::move(decided), parts.options.pack, stamp), beside(command, run), reply);
}

void CafNode::replay_run(ReplayRun command, Reply<RunAccepted> reply) {
  Parts& parts = *parts_;
  if (parts.draining) return reply(fail(ErrorCode::draining, "the server is shutting down"));
  if (auto earlier = parts.repeated(command)) return reply(std::move(*earlier));
  Stamp stamp = parts.shared.stamp();
  auto events = parts.replayed(command, stamp.at);
  if (!events) return reply(tl::unexpected(events.error()));
  const RunId run = RunId::make(stamp);
  Decided decided = start_replay(run, std::move(*events), stamp);
  FirstAppend first = first_append(std::move(decided), parts.options.pack, stamp);
  if (const auto bytes = encode(first.started->second).size(); bytes > limits::record_bytes_max)
    return reply(fail(ErrorCode::not_replayable,
                      fmt::format("what lies before step {} has {} bytes; a replay takes over {} at most",
                                  command.from_step,
                                  bytes,
                                  limits::record_bytes_max)));
  parts.begin(run, std::move(first), beside(command, run), reply);
}

void CafNode::import_run(ImportRun command, Reply<RunAccepted> reply) {
  Parts& parts = *parts_;
  if (parts.draining) return reply(fail(ErrorCode::draining, "the server is shutting down"));
  Commit commit;
  commit.runs.push_back(imported(command, parts.options.pack, parts.options.clock->now()));
  commit.definitions.push_back(std::move(command.definition));
  const RunAccepted accepted{command.run_id, commit.runs.front().row.agent_version, false};
  parts.writer.write(std::move(commit), [accepted, reply](Result<Committed> outcome) {
    reply(outcome ? Result<RunAccepted>(accepted) : tl::unexpected(outcome.error()));
  });
}

void CafNode::send_message(SendMessage command, Reply<Accepted> reply) {
  parts_->route(
      std::move(command.team),
      command.run_id,
      input::Message{std::move(command.content), std::move(command.from), std::move(command.idempotency_key)},
      std::move(reply));
}

void CafNode::cancel_run(CancelRun command, Reply<Accepted> reply) {
  parts_->route(std::move(command.team),
                command.run_id,
                input::Cancel{std::move(command.by), std::move(command.reason)},
                std::move(reply));
}

void CafNode::resolve_call(ResolveCall command, Reply<Accepted> reply) {
  parts_->route(
      std::move(command.team),
      command.run_id,
      input::Resolve{
          std::move(command.call_id), command.outcome, std::move(command.result), std::move(command.by)},
      std::move(reply));
}

void CafNode::resume_run(ResumeRun command, Reply<Accepted> reply) {
  parts_->route(
      std::move(command.team), command.run_id, input::Resume{std::move(command.by)}, std::move(reply));
}

void CafNode::decide_approval(DecideApproval command, Reply<Accepted> reply) {
  if (parts_->draining) return reply(fail(ErrorCode::draining, "the server is shutting down"));
  tell(
      parts_->approvals,
      DecisionCame{std::make_shared<PendingDecision>(PendingDecision{std::move(command), std::move(reply)})});
}

void CafNode::replace_user_token(ReplaceUserToken command, Reply<Accepted> reply) {
  parts_->route(
      std::move(command.team),
      command.run_id,
      input::UserToken{
          std::move(command.token), std::move(command.scopes), command.expires_at, std::move(command.from)},
      std::move(reply));
}

void CafNode::put_definitions(std::vector<DefinitionPut> puts, Reply<Committed> reply) {
  if (parts_->draining) return reply(fail(ErrorCode::draining, "the server is shutting down"));
  Commit commit;
  commit.definitions = std::move(puts);
  parts_->writer.write(std::move(commit), std::move(reply));
}

void CafNode::drain(std::int64_t timeout_ms) {
  Parts& parts = *parts_;
  parts.draining = true;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  const auto told = std::make_shared<std::function<void()>>([&] {
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
  });
  tell(parts.supervisor, Drain{told});
  std::unique_lock lock(mutex);
  if (timeout_ms > 0) changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return done; });
  if (!done) {
    // What has not come to rest is let go: its intents are durable, and the next start takes them up.
    tell(parts.supervisor, LetGo{});
    changed.wait(lock, [&] { return done; });
  }
  parts.sandboxes.close();
}

bool CafNode::recovered() const {
  return parts_->view.recovered;
}

NodeStats CafNode::stats() const {
  const WriterCounters writer = parts_->writer.counters();
  NodeStats stats;
  stats.active_runs = parts_->admission.active();
  stats.model_calls = parts_->models.in_flight();
  stats.runs_started = parts_->runs_started;
  stats.actor_failures = parts_->view.actor_failures;
  stats.sandboxes = parts_->sandboxes.stats();
  stats.journal_transactions = writer.transactions;
  stats.journal_commits = writer.commits;
  stats.journal_refused = writer.refused;
  stats.journal_commit_us_sum = writer.commit_us_sum;
  stats.journal_commit_us_max = writer.commit_us_max;
  return stats;
}

TierStatus CafNode::sandbox_tier(std::uint32_t tier) const {
  const SandboxHost* host = parts_->options.sandboxes.host;
  return host ? host->tier(tier) : TierStatus{false, {}, "this server has no sandboxes", {}};
}

}  // namespace ratchet
