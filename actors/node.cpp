#include "actors/node.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "actors/approval_actor.hpp"
#include "actors/caf.hpp"
#include "actors/parts.hpp"
#include "actors/run_actor.hpp"
#include "actors/supervisor.hpp"
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
        books(*options.catalog),
        launcher(*options.catalog, options.served, options.harness_version),
        models(*options.models, lanes(options.served)),
        credentials(*options.connector, *options.clock, options.exchange),
        sandboxes(options.sandboxes, *options.clock, timer, options.log),
        broker(*options.journal, *options.connector, *options.clock, credentials, sandboxes),
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
               options.observer},
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
         Route{run, std::make_shared<Command>(Command{std::move(team), std::move(input), std::move(reply)})});
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
    if (command.seed) started->seed = *command.seed;
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
  const auto existing = [&parts](const RunId& run) -> Result<RunAccepted> {
    auto row = parts.options.journal->row(run);
    if (!row) return tl::unexpected(row.error());
    return RunAccepted{run, row->agent_version, true};
  };
  // A repetition is answered before any limit is looked at.
  if (!command.idempotency_key.empty()) {
    auto claimed = parts.options.journal->idempotency(command.team, command.idempotency_key);
    if (!claimed) return reply(tl::unexpected(claimed.error()));
    if (*claimed) {
      if ((*claimed)->fingerprint == command.fingerprint) return reply(existing((*claimed)->run_id));
      return reply(
          fail(ErrorCode::idempotency_conflict, "the idempotency key was used with another request"));
    }
  }
  Stamp stamp = parts.shared.stamp();
  auto started = parts.started(command, stamp);
  if (!started) return reply(tl::unexpected(started.error()));
  if (auto room = parts.admission.enter(command.team); !room) return reply(tl::unexpected(room.error()));

  const std::uint32_t version = started->agent_version;
  const RunId run = RunId::make(stamp);
  FirstAppend first = first_append(run, std::move(*started), parts.options.pack, stamp);
  if (!command.user_token.empty()) first.append.user_token = command.user_token;
  Commit commit;
  commit.runs.push_back(std::move(first.append));
  if (!command.idempotency_key.empty())
    commit.claim = IdempotencyClaim{command.team, command.idempotency_key, command.fingerprint, run};
  auto done = [&parts, run, version, team = command.team, first = first.started, existing, reply](
                  Result<Committed> outcome) {
    if (!outcome || outcome->existing) {
      parts.admission.leave(team);
      return reply(outcome ? existing(*outcome->existing)
                           : Result<RunAccepted>(tl::unexpected(outcome.error())));
    }
    ++parts.runs_started;
    if (parts.options.observer) parts.options.observer->on_commit(first->first, first->second.events);
    // In this order: what the client does next must find the run's actor.
    tell(parts.supervisor, Started{run, first});
    reply(RunAccepted{run, version, false});
  };
  parts.writer.write(std::move(commit), std::move(done));
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
