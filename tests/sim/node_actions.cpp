// Carrying out what a driver says: the part of the node that a run actor corresponds to.

#include <algorithm>

#include "runtime/limits.hpp"
#include "runtime/run/child_end.hpp"
#include "runtime/tools/builtin.hpp"
#include "store/pack.hpp"
#include "tests/sim/node.hpp"

namespace ratchet::sim {

void Node::give(const ActorPtr& actor, Signal signal) {
  if (actor->over || !actor->driver) return;
  execute(actor, actor->driver->take(std::move(signal), sim_.stamp()));
}

void Node::execute(const ActorPtr& actor, std::vector<Action> actions) {
  for (Action& action : actions) {
    if (actor->over) return;
    if (crashes_ < sim_.faults.crashes_max && sim_.fault(sim_.faults.crash)) return crash();
    std::visit([&](auto& each) { act(actor, each); }, action);
  }
  if (actor->over) return;
  compare(actor);
  if (draining_ && actor->driver && actor->driver->at_rest()) end(actor);
}

/// The live state is the fold of what is durable, and so is the row.
void Node::compare(const ActorPtr& actor) {
  if (!actor->driver || actor->writing) return;
  const RunState& live = actor->driver->state();
  const auto& events = sim_.witness.run(actor->run).events;
  if (events.size() != live.last_seq) return;  // a newer activation has written since
  if (!sim_.random.chance(200)) return;
  RunState folded;
  folded.run_id = actor->run;
  for (const Event& event : events)
    apply(folded, event);
  const bool same = row_of(folded) == row_of(live) && folded.phase == live.phase &&
                    folded.reserved == live.reserved && folded.memory == live.memory &&
                    folded.loop == live.loop && folded.messages_pending == live.messages_pending &&
                    folded.calls.size() == live.calls.size() &&
                    outstanding(folded, sim_.now()) == outstanding(live, sim_.now());
  if (!same) sim_.witness.complain(to_string(actor->run) + ": the live state is not the fold of its events");
}

void Node::act(const ActorPtr& actor, action::Append& append) {
  if (actor->writing) sim_.witness.complain(to_string(actor->run) + ": two appends at once");
  actor->writing = true;
  actor->row = append.append.row;
  Commit commit;
  commit.reserve = append.reserve;
  commit.runs.push_back(std::move(append.append));
  std::vector<std::pair<RunId, decltype(FirstAppend::started)>> children;
  for (FirstAppend& child : append.children) {
    children.emplace_back(child.append.row.run_id, child.started);
    commit.runs.push_back(std::move(child.append));
  }
  write(std::move(commit), [this, actor, children](const Result<Committed>& outcome) {
    actor->writing = false;
    if (outcome)
      for (const auto& [run, first] : children)
        begin(run, *first);
    give(actor, outcome ? Signal(signal::Committed{}) : Signal(signal::Refused{outcome.error()}));
  });
}

void Node::act(const ActorPtr& actor, action::StartModel& start) {
  const ModelEffect effect{start.call.step, start.call.attempt};
  sim_.trace("{} asks the model, step {} attempt {}", to_string(actor->run), effect.step, effect.attempt);
  sim_.witness.sent(start.call);
  const Witness::Run& run = sim_.witness.run(actor->run);
  const auto requested = std::find_if(run.events.rbegin(), run.events.rend(), [](const Event& event) {
    return std::holds_alternative<ModelRequested>(event.payload);
  });
  if (requested == run.events.rend()) return;
  ModelOutcome outcome =
      sim_.model.answer(actor->run, std::get<ModelRequested>(requested->payload), run.artifacts);
  const std::int64_t latency_us = outcome.latency_ms * (sim_.fault(sim_.faults.slow) ? 50'000 : 1'000);
  const std::uint64_t ticket = ++made_;
  actor->under_way[effect] = {ticket};
  const Input input = input::ModelEnded{effect.step, effect.attempt, std::move(outcome)};
  sim_.schedule.after_us(latency_us,
                         [this, actor, effect, ticket, input] { complete(actor, effect, ticket, input); });
}

void Node::act(const ActorPtr& actor, action::StartCall& start) {
  const CallEffect effect = start.effect;
  // The lease is looked at before an effect: an actor whose run was taken over starts nothing any more.
  if (sim_.journal.row(actor->run)->lease != actor->row.lease) {
    ++sim_.seen["nothing started under a stale lease"];
    return;
  }
  sim_.trace(
      "{} runs {} {} attempt {}", to_string(actor->run), start.tool->name, effect.call_id, effect.attempt);
  sim_.witness.started(actor->run, start);
  const std::uint64_t ticket = ++made_;
  actor->under_way[effect] = {ticket};
  const auto done = [this, actor, effect, ticket](CallEnd end) {
    complete(actor, effect, ticket, input::CallEnded{effect.call_id, effect.attempt, std::move(end)});
  };
  if (start.tool->kind == ToolKind::builtin) {
    return sim_.schedule.after_us(sim_.random.between(100, 5'000),
                                  [done, end = run_builtin(actor, start)] { done(end); });
  }
  if (start.tool->uses_workspace()) return edit_files(actor, start, done);
  if (start.tool->auth.as_user && sim_.fault(sim_.faults.token_late)) {
    CallEnd end;
    end.kind = CallEnd::Kind::needs_user;
    ++sim_.seen["token too late"];
    return sim_.schedule.after_us(500, [done, end] { done(end); });
  }
  // The manifest belongs to the agent, which lives as long as the simulation.
  const ToolManifest& tool = *start.tool;
  const Execution execution = start.execution;
  const auto answered = [done, &tool, execution](const ConnectorOutcome& outcome) {
    done(interpret(tool, execution, outcome));
  };
  if (execution == Execution::status_check) return sim_.world.check(tool, start.idempotency_key, answered);
  sim_.world.call(tool, start.idempotency_key, answered);
}

void Node::act(const ActorPtr& actor, action::PrepareChild& prepare) {
  const CallEffect effect = prepare.effect;
  const std::uint64_t ticket = ++made_;
  actor->under_way[effect] = {ticket};
  Result<RunStarted> started = draw_child(sim_.random, sim_.agent);
  if (sim_.fault(sim_.faults.service_fails))
    started = fail(ErrorCode::unknown_agent, "there is no such agent any more");
  const Input input = input::ChildReady{effect.call_id, effect.attempt, std::move(started)};
  sim_.schedule.after_us(sim_.random.between(0, 20'000),
                         [this, actor, effect, ticket, input] { complete(actor, effect, ticket, input); });
}

/// What one run tells another goes through mailboxes: it takes a while, and a crash loses it.
void Node::act(const ActorPtr&, action::TellRun& telling) {
  sim_.schedule.after_us(sim_.random.between(0, 10'000),
                         [this, life = life_, run = telling.run_id, input = telling.input] {
                           if (life == life_) command(run, input, {});
                         });
}

void Node::act(const ActorPtr& actor, action::StartJudging& start) {
  const JudgeEffect effect = start.effect;
  const std::uint64_t ticket = ++made_;
  actor->under_way[effect] = {ticket};
  const Input input = input::Judged{effect.call_id, draw_facts(sim_, start.question)};
  sim_.schedule.after_us(sim_.random.between(0, sim_.fault(sim_.faults.slow) ? 20'000'000 : 400'000),
                         [this, actor, effect, ticket, input] { complete(actor, effect, ticket, input); });
}

void Node::act(const ActorPtr& actor, action::StartBriefing& start) {
  const BriefEffect effect = start.effect;
  const std::uint64_t ticket = ++made_;
  actor->under_way[effect] = {ticket};
  const Input input = input::Briefed{effect, draw_model_facts(sim_)};
  sim_.schedule.after_us(sim_.random.between(0, sim_.fault(sim_.faults.slow) ? 20'000'000 : 400'000),
                         [this, actor, effect, ticket, input] { complete(actor, effect, ticket, input); });
}

/// A command in a sandbox: it leaves other files, sometimes the same, and sometimes it breaks down.
void Node::edit_files(const ActorPtr& actor,
                      const action::StartCall& start,
                      const std::function<void(CallEnd)>& done) {
  for (const auto& [effect, running] : actor->under_way) {
    const auto* other = std::get_if<CallEffect>(&effect);
    if (!other || running.ended || *other == start.effect) continue;
    const OpenCall* call = actor->driver->state().find_call(other->call_id);
    if (call && call->tool == start.tool->name)
      sim_.witness.complain(fmt::format("{}: two calls are in the workspace", to_string(actor->run)));
  }
  CallEnd end;
  end.sandbox = "tier 3: simulated";
  if (sim_.fault(sim_.faults.service_fails)) {
    end.status = ToolStatus::killed;
    end.text = "[ended: it needed more than its memory]";
    ++sim_.seen["sandbox broke down"];
  } else if (!sim_.random.chance(200)) {
    const std::string before = start.workspace ? to_string(*start.workspace) : "";
    end.workspace = sha256(before + start.effect.call_id);
    if (start.workspace) ++sim_.seen["files of an earlier call"];
  }
  sim_.schedule.after_us(sim_.random.between(1'000, 800'000), [done, end] { done(end); });
}

CallEnd Node::run_builtin(const ActorPtr& actor, const action::StartCall& start) {
  CallEnd end;
  const auto refuse = [&](const std::string& text) {
    end.status = ToolStatus::error;
    end.text = text;
    return end;
  };
  const auto wanted = artifact_of(start.args);
  if (!wanted) return refuse(wanted.error().text);
  const auto id = parse_id<ArtifactKind>(*wanted);
  if (!id) return refuse(id.error().text);
  const auto info = sim_.journal.artifact(*id);
  if (!info || info->run != actor->run) return refuse("There is no such artifact.");
  ArtifactSource source;
  source.bytes = info->ref.bytes;
  source.read = [this, &id](std::uint64_t offset, std::size_t limit) {
    return sim_.journal.blob(*id, offset, limit);
  };
  const ArtifactBounds bounds{limits::inline_bytes_max, [] { return false; }};
  const ToolAnswer answer = start.tool->name == "artifact_search"
                                ? artifact_search(source, start.args, bounds)
                                : artifact_read(source, start.args, bounds);
  end.status = answer.status;
  end.text = answer.text;
  return end;
}

void Node::require_nothing_under_way(const Actor& actor, std::string_view when) {
  for (const auto& [effect, running] : actor.under_way)
    if (!running.ended)
      sim_.witness.complain(fmt::format("{}: something is under way when {}", to_string(actor.run), when));
}

/// An effect has ended and its actor hears of it, perhaps twice. Once it was stopped, it hears nothing.
/// A run says that it has ended: whatever it started has ended before.
void Node::require_no_living_child(const RunId& parent) {
  for (const auto& [run, told] : sim_.witness.runs()) {
    if (told.events.empty() || std::get<RunStarted>(told.events.front().payload).parent_run_id != parent)
      continue;
    if (!std::holds_alternative<RunFinished>(told.events.back().payload))
      sim_.witness.complain(fmt::format("{} outlives its parent", to_string(run)));
  }
}

void Node::complete(const ActorPtr& actor, const Effect& effect, std::uint64_t ticket, const Input& input) {
  const auto found = actor->under_way.find(effect);
  if (actor->over || found == actor->under_way.end() || found->second.ticket != ticket) return;
  if (sim_.fault(sim_.faults.repeat)) {
    found->second.ended = true;
    ++sim_.seen["completion told twice"];
    sim_.schedule.after_us(sim_.random.between(0, 1'000'000),
                           [this, actor, effect, ticket, input] { complete(actor, effect, ticket, input); });
  } else {
    actor->under_way.erase(found);
  }
  give(actor, signal::Given{input, 0});
}

void Node::act(const ActorPtr& actor, action::Stop& stop) {
  sim_.trace("{} stops something", to_string(actor->run));
  // At once, as an actor that closes a connection; or only when what was stopped says so. Until then its
  // completion may still come.
  const auto stopped = [this, actor, effect = stop.effect] {
    actor->under_way.erase(effect);
    give(actor, signal::Stopped{effect});
  };
  if (sim_.random.chance(500)) return stopped();
  sim_.schedule.after_us(sim_.random.between(0, 50'000), stopped);
}

void Node::act(const ActorPtr& actor, action::Answer& answer) {
  const auto found = actor->asked.find(answer.token);
  if (found == actor->asked.end())
    return sim_.witness.complain(to_string(actor->run) + ": an answer that nobody waits for");
  const Waiting asked = std::move(found->second);
  actor->asked.erase(found);
  if (answer.result) sim_.witness.promised({actor->run, asked.input, answer.result->seq});
  asked.answer(answer.result);
}

void Node::act(const ActorPtr& actor, action::Publish& publish) {
  for (const Event& event : publish.events)
    sim_.trace("{} {} {}", to_string(actor->run), event.seq, type_name(event));
  sim_.witness.published(actor->run, actor->number, publish.events);
  const auto* finished = std::get_if<RunFinished>(&publish.events.back().payload);
  if (!finished) return;
  if (finished->stop_reason == StopReason::cancelled) require_nothing_under_way(*actor, "it is cancelled");
  require_no_living_child(actor->run);
  if (!actor->row.parent_run_id) return;
  action::TellRun parent{*actor->row.parent_run_id, child_end(actor->row, *finished)};
  act(actor, parent);
}

void Node::act(const ActorPtr& actor, action::WakeAt& wake) {
  const std::uint64_t generation = ++actor->wake;
  sim_.schedule.at(wake.at, [this, actor, generation] {
    if (!actor->over && actor->wake == generation) give(actor, signal::Given{input::Due{}, 0});
  });
}

void Node::act(const ActorPtr& actor, action::Reload&) {
  ++sim_.seen["context of another provider"];
  const auto records = sim_.journal.records(actor->run, 1, SIZE_MAX);
  execute(actor, actor->driver->reload(*records, sim_.stamp()));
}

void Node::act(const ActorPtr& actor, action::Passivate&) {
  sim_.trace("{} rests", to_string(actor->run));
  require_nothing_under_way(*actor, "it rests");
  // It was taken up without harm, though there was nothing to write: the next failure counts from zero.
  if (actor->row.resumes > 0 && actor->row.status != RunStatus::finished) {
    actor->row.resumes = 0;
    Commit reset;
    reset.runs.push_back({actor->row.last_seq + 1, 0, {}, actor->row});
    write(std::move(reset), [](const Result<Committed>&) {});
  }
  end(actor);
  watch_clock();
}

void Node::act(const ActorPtr& actor, action::GiveUp& gone) {
  sim_.trace("{} gives up: {}", to_string(actor->run), gone.error.text);
  ++sim_.seen["gives up: " + std::string(name(gone.error.code))];
  const auto asked = std::move(actor->asked);
  end(actor);
  for (const auto& [token, each] : asked)
    each.answer(tl::unexpected(gone.error));
}

}  // namespace ratchet::sim
