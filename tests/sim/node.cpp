#include "tests/sim/node.hpp"

#include <algorithm>

#include "runtime/limits.hpp"
#include "runtime/run/child_end.hpp"
#include "store/pack.hpp"

namespace ratchet::sim {

namespace {

/// The row of a run that fails whenever it is taken up, and its pause.
RunAppend poisoned(const RunRow& row, Stamp stamp) {
  const Event pause = poison_pause(row, "it fails whenever it is taken up", stamp.at);
  Record record{row.head, stamp.entropy.draw(), {pause}};
  const std::string bytes = encode(record);
  RunAppend append;
  append.first_seq = pause.seq;
  append.events = 1;
  append.record = pack_record(bytes);
  append.row = row;
  append.row.last_seq = pause.seq;
  append.row.head = *chain_head(bytes);
  append.row.status = RunStatus::paused;
  append.row.active = false;
  append.row.resumes = 0;
  append.row.pause_reasons = {PauseReason::operator_};
  append.row.paused_since = pause.at;
  append.row.pause_expires_at = std::get<RunPaused>(pause.payload).expires_at;
  append.row.due_at = append.row.pause_expires_at;
  return append;
}

}  // namespace

// --- the life of the node
// -----------------------------------------------------------------------------------------------------------

void Node::boot() {
  up_ = true;
  draining_ = false;
  ++life_;
  sim_.trace("the node is up, life {}", life_);
  const auto active = sim_.journal.active();
  for (const RunId& run : *active)
    activate(spawn(run), false);
  watch_clock();
}

void Node::crash() {
  if (!up_) return;
  sim_.trace("the node dies");
  ++sim_.seen["crash"];
  if (flushing_ && sim_.random.chance(500)) {
    for (Write& write : writes_)
      commit_one(write.commit);
  }
  for (auto& [run, actor] : actors_)
    actor->over = true;
  for (const ActorPtr& zombie : zombies_)
    zombie->over = true;
  actors_.clear();
  zombies_.clear();
  writes_.clear();
  flushing_ = false;
  up_ = false;
  ++life_;
  ++crashes_;
  sim_.schedule.after_us(sim_.random.between(1'000, 4'000'000), [this] {
    if (!up_) boot();
  });
}

void Node::drain() {
  if (!up_ || draining_) return;
  sim_.trace("the node drains");
  ++sim_.seen["drain"];
  draining_ = true;
  const auto actors = actors_;
  for (const auto& [run, actor] : actors) {
    if (actor->driver) actor->driver->hold();
    execute(actor, {});
  }
  sim_.schedule.after_us(sim_.random.between(0, 3'000'000), [this, life = life_] {
    if (life == life_) crash();
  });
}

// --- taking runs up, and letting them go
// -----------------------------------------------------------------------------------------------------------

Node::ActorPtr Node::spawn(const RunId& run) {
  auto actor = std::make_shared<Actor>();
  actor->number = ++made_;
  actor->run = run;
  actors_[run] = actor;
  return actor;
}

void Node::activate(const ActorPtr& actor, bool after_failure) {
  const auto row = sim_.journal.row(actor->run);
  if (!row) return sim_.witness.complain("a run to take up has no row: " + row.error().text);
  actor->row = *row;
  if (row->status == RunStatus::finished)
    return take_up(actor, *sim_.journal.records(actor->run, 1, SIZE_MAX), false);
  if (row->resumes >= limits::resumes_without_progress_max && row->status != RunStatus::paused)
    return quarantine(actor);
  ++actor->row.lease;
  ++actor->row.resumes;
  Commit claim;
  claim.runs.push_back({row->last_seq + 1, 0, {}, actor->row});
  write(std::move(claim), [this, actor, after_failure](const Result<Committed>& outcome) {
    if (actor->over) return;
    if (outcome) return take_up(actor, *sim_.journal.records(actor->run, 1, SIZE_MAX), after_failure);
    // Another's last append was still on its way, or the store is full: look again.
    sim_.schedule.after_us(10'000, [this, actor, after_failure] {
      if (!actor->over) activate(actor, after_failure);
    });
  });
}

void Node::quarantine(const ActorPtr& actor) {
  sim_.trace("{} is quarantined", to_string(actor->run));
  Commit commit;
  commit.runs.push_back(poisoned(actor->row, sim_.stamp()));
  write(std::move(commit), [this, actor](const Result<Committed>& outcome) {
    if (actor->over) return;
    if (outcome) return end(actor);
    sim_.schedule.after_us(10'000, [this, actor] {
      if (!actor->over) activate(actor, true);
    });
  });
}

void Node::take_up(const ActorPtr& actor, const std::vector<Record>& records, bool after_failure) {
  if (sim_.fault(sim_.faults.load_fails)) {
    sim_.trace("the actor of {} fails", to_string(actor->run));
    const auto waiting = std::move(actor->waiting);
    end(actor);
    for (const Waiting& each : waiting)
      if (each.answer) each.answer(fail(ErrorCode::internal_error, "the actor failed"));
    if (!actors_.contains(actor->run)) activate(spawn(actor->run), true);
    return;
  }
  auto driver = RunDriver::load(
      {heads_, &pack_record, sim_.agent.decision_point}, sim_.agent.book, actor->row, records, after_failure);
  if (!driver) return sim_.witness.complain("a run does not load: " + driver.error().text);
  actor->driver = std::move(*driver);
  if (draining_) actor->driver->hold();
  std::vector<signal::Given> waiting = ended_children(*actor->driver);
  for (Waiting& each : std::exchange(actor->waiting, {})) {
    const Token token = each.answer ? ++made_ : 0;
    waiting.push_back({each.input, token});
    if (token) actor->asked[token] = std::move(each);
  }
  execute(actor, actor->driver->begin(std::move(waiting), sim_.stamp()));
}

std::vector<signal::Given> Node::ended_children(const RunDriver& driver) {
  std::vector<signal::Given> ended;
  for (const RunId& child : driver.open_children()) {
    const auto row = sim_.journal.row(child);
    if (!row) {
      sim_.witness.complain(to_string(child) + " was started, and has no row");
      continue;
    }
    if (row->status != RunStatus::finished) continue;
    ++sim_.seen["a child ended unheard"];
    const auto last = sim_.journal.records(child, row->last_seq, SIZE_MAX);
    ended.push_back({child_end(*row, std::get<RunFinished>(last->back().events.back().payload)), 0});
  }
  return ended;
}

/// A second actor takes the run, as if the first had been given up for dead. It is not dead.
void Node::take_over(const RunId& run) {
  const auto found = actors_.find(run);
  if (found == actors_.end() || !found->second->driver) return;
  sim_.trace("{} is taken over", to_string(run));
  ++sim_.seen["take-over"];
  zombies_.push_back(found->second);
  activate(spawn(run), false);
}

void Node::command(const RunId& run, Input input, Answer answer) {
  if (!up_ || draining_) {
    if (answer) answer(fail(ErrorCode::draining, "the node is down"));
    return;
  }
  if (sim_.fault(sim_.faults.takeover)) take_over(run);
  const auto found = actors_.find(run);
  const bool asleep = found == actors_.end();
  const ActorPtr actor = asleep ? spawn(run) : found->second;
  if (asleep) activate(actor, false);
  if (!actor->over) deliver(actor, {std::move(input), std::move(answer)});
}

void Node::deliver(const ActorPtr& actor, Waiting waiting) {
  if (actor->over) return command(actor->run, std::move(waiting.input), std::move(waiting.answer));
  if (!actor->driver) {
    actor->waiting.push_back(std::move(waiting));
    return;
  }
  const Token token = waiting.answer ? ++made_ : 0;
  const Input input = waiting.input;
  if (token) actor->asked[token] = std::move(waiting);
  give(actor, signal::Given{input, token});
}

void Node::start(const RunStarted& started, const std::string& key, Started answer) {
  if (!up_ || draining_) return answer(fail(ErrorCode::draining, "the node is down"));
  Stamp stamp = sim_.stamp();
  const RunId run = RunId::make(stamp);
  FirstAppend first = first_append(run, started, &pack_record, stamp);
  first.append.user_token = "token-0";
  Commit commit;
  commit.runs.push_back(std::move(first.append));
  commit.claim = IdempotencyClaim{"team", key, sha256(key), run};
  write(std::move(commit), [this, run, first = first.started, answer](const Result<Committed>& outcome) {
    if (!outcome) return answer(tl::unexpected(outcome.error()));
    if (outcome->existing) return answer(*outcome->existing);
    answer(run);
    begin(run, *first);
  });
}

void Node::begin(const RunId& run, const std::pair<RunRow, Record>& first) {
  sim_.trace("{} starts", to_string(run));
  if (!up_ || draining_) return;
  const ActorPtr actor = spawn(run);
  actor->row = first.first;
  take_up(actor, {first.second}, false);
}

void Node::end(const ActorPtr& actor) {
  if (actor->over) return;
  actor->over = true;
  const auto found = actors_.find(actor->run);
  if (found != actors_.end() && found->second == actor) actors_.erase(found);
  std::erase(zombies_, actor);
}

void Node::watch_clock() {
  const auto due = sim_.journal.next_due();
  if (!due || !*due) return;
  sim_.schedule.at(**due, [this, life = life_] {
    if (life == life_ && up_) look_at_clock();
  });
}

void Node::look_at_clock() {
  if (draining_) return;
  const auto due = sim_.journal.due(sim_.now(), 100);
  for (const RunId& run : *due)
    if (!actors_.contains(run)) activate(spawn(run), false);
}

// --- the journal writer
// -----------------------------------------------------------------------------------------------------------

void Node::write(Commit commit, std::function<void(Result<Committed>)> done) {
  writes_.push_back({std::move(commit), std::move(done)});
  if (flushing_) return;
  flushing_ = true;
  sim_.schedule.after_us(sim_.random.between(100, 12'000), [this, life = life_] {
    if (life == life_) flush();
  });
}

/// One transaction with everything that waits; what comes meanwhile waits for the next.
void Node::flush() {
  flushing_ = false;
  for (Write& each : std::exchange(writes_, {})) {
    auto outcome = commit_one(each.commit);
    const auto tell = [done = std::move(each.done), outcome, this, life = life_] {
      if (life == life_) done(outcome);
    };
    sim_.schedule.after_us(sim_.random.between(0, 2'000), tell);
  }
  watch_clock();
}

Result<Committed> Node::commit_one(const Commit& commit) {
  if (!commit.reserve && sim_.fault(sim_.faults.store_full)) {
    ++sim_.seen["no room"];
    return fail(ErrorCode::store_unavailable, "the disk is full");
  }
  auto outcomes = sim_.journal.commit({&commit, 1});
  Result<Committed> outcome = outcomes->front();
  if (outcome && !outcome->existing)
    for (const RunAppend& append : commit.runs)
      sim_.witness.wrote(append);
  return outcome;
}

}  // namespace ratchet::sim
