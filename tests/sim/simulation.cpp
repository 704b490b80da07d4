#include "tests/sim/simulation.hpp"

#include "tests/sim/checks.hpp"
#include "tests/sim/clients.hpp"
#include "tests/sim/node.hpp"

namespace ratchet::sim {

namespace {

/// More tasks than this mean that something runs in circles.
constexpr int tasks_max = 200'000;

/// What clients and bad luck do, spread over the first minute.
void plan_chaos(Simulation& sim, Node& node, Clients& clients) {
  const std::int64_t length_us = sim.random.between(5'000'000, 60'000'000);
  for (std::uint64_t i = 0, count = sim.random.below(25); i < count; ++i)
    sim.schedule.after_us(sim.random.between(0, length_us), [&clients] { clients.act(); });
  if (sim.faults.crashes_max > 0) {
    for (std::uint64_t i = 0, count = sim.random.below(3); i < count; ++i)
      sim.schedule.after_us(sim.random.between(0, length_us), [&node] { node.crash(); });
    if (sim.random.chance(200))
      sim.schedule.after_us(sim.random.between(0, length_us), [&node] { node.drain(); });
  }
  sim.schedule.after_us(length_us, [&sim] {
    sim.trace("chaos ends");
    sim.chaos = false;
  });
}

/// Which compactions followed a provider's word that the context was too long.
void count_compactions(const std::vector<Event>& events, std::map<std::string, int>& seen) {
  bool refused = false;
  for (const Event& event : events) {
    if (const auto* failed = std::get_if<ModelFailed>(&event.payload))
      refused = failed->kind == FailureClass::overflow;
    const auto* requested = std::get_if<ModelRequested>(&event.payload);
    if (!requested) continue;
    const bool compaction = requested->purpose == CallPurpose::compaction;
    if (std::exchange(refused, false) && compaction) ++seen["compaction: after a refusal"];
  }
}

/// What happened, in words that a test can ask for.
void count(const Event& event, std::map<std::string, int>& seen) {
  ++seen[std::string(type_name(event))];
  if (const auto* finished = std::get_if<RunFinished>(&event.payload))
    ++seen["end: " + std::string(name(finished->stop_reason))];
  if (const auto* cancel = std::get_if<RunCancelRequested>(&event.payload))
    if (cancel->stop_reason) ++seen["ends after its children"];
  if (const auto* compacted = std::get_if<ContextCompacted>(&event.payload))
    if (compacted->tokens_before - compacted->tokens_after < compacted->tokens_before / 10)
      ++seen["compaction: gained little"];
  if (const auto* paused = std::get_if<RunPaused>(&event.payload))
    for (const PauseReason reason : paused->reasons)
      ++seen["pause: " + std::string(name(reason))];
  if (const auto* requested = std::get_if<ModelRequested>(&event.payload)) {
    if (!requested->hook_text.empty()) ++seen["told by a hook"];
    const bool again = requested->late_text.find("could not be used") != std::string::npos;
    if (requested->purpose == CallPurpose::compaction) ++seen[again ? "compaction: again" : "compaction"];
  }
  if (const auto* failed = std::get_if<ModelFailed>(&event.payload))
    ++seen["failure: " + std::string(name(failed->kind))];
  if (const auto* result = std::get_if<ToolResult>(&event.payload)) {
    ++seen["result: " + std::string(name(result->status))];
    if (!result->content.empty() && result->content.front().artifact) ++seen["artifact"];
  }
  if (const auto* planned = std::get_if<ToolPlanned>(&event.payload)) {
    if (planned->execution == Execution::status_check) ++seen["status check"];
    if (planned->execution == Execution::call && planned->attempt > 1) ++seen["call again"];
  }
  if (const auto* requested = std::get_if<ToolRequested>(&event.payload)) {
    if (requested->verdict.hooks.starts_with("rewritten")) ++seen["rewritten"];
    if (requested->verdict.hooks == "no") ++seen["denied by a hook"];
    if (requested->verdict.authz == "no") ++seen["denied by the decision point"];
    if (requested->verdict.authz.ends_with("scope mail")) ++seen["denied for want of a scope"];
  }
  if (const auto* decided = std::get_if<ApprovalDecided>(&event.payload)) {
    const bool person = decided->reason == DecidedBy::person;
    ++seen["approval: " + std::string(person ? name(decided->decision) : name(decided->reason))];
    if (decided->edited_args) ++seen["approval: edited"];
  }
  if (const auto* resolved = std::get_if<CallResolved>(&event.payload))
    ++seen["resolved: " + std::string(name(resolved->outcome))];
}

Hash digest(Simulation& sim) {
  Sha256 hash;
  for (const auto& [run, told] : sim.witness.runs()) {
    hash.add(run.ulid.view());
    for (const Record& record : told.records)
      hash.add(encode(record));
  }
  return hash.finish();
}

}  // namespace

CallFacts draw_facts(Simulation& sim, const JudgeQuestion& question) {
  CallFacts facts;
  if (question.hooks) {
    facts.hooks = HookFacts{};
    if (sim.fault(sim.faults.denies)) {
      facts.hooks = HookFacts{true, "no", std::nullopt};
    } else if (question.tool->kind == ToolKind::http && sim.fault(sim.faults.rewrites)) {
      const bool fits = !sim.random.chance(100);
      facts.hooks = HookFacts{
          false,
          "rewritten by hook 1",
          fits ? fmt::format(R"({{"n":{},"to":"a hook"}})", sim.random.below(1'000)) : R"({"surprise":1})"};
    }
  }
  if (question.decision_point) {
    const bool denies = sim.fault(sim.faults.denies);
    facts.authorizer = AuthorizerFacts{!denies, denies ? "no" : "ok"};
  }
  return facts;
}

ModelFacts draw_model_facts(Simulation& sim) {
  if (sim.fault(sim.faults.denies / 8)) return {ModelFacts::Outcome::denied, "hook 1: no", {}};
  if (sim.fault(sim.faults.denies / 2))
    return {ModelFacts::Outcome::unanswered, "hook 1: it did not answer", {}};
  ModelFacts facts;
  if (sim.random.chance(500)) facts.context = "The hook's words.";
  return facts;
}

Outcome simulate(std::uint64_t seed, bool tracing) {
  Simulation sim(seed);
  sim.tracing = tracing;
  Node node(sim);
  Clients clients(sim, node);
  node.boot();
  clients.begin(1 + sim.random.below(sim.random.chance(200) ? 8 : 3));
  clients.watch();
  plan_chaos(sim, node, clients);
  int tasks = 0;
  while (tasks < tasks_max && sim.schedule.step())
    ++tasks;
  if (tasks == tasks_max) sim.witness.complain("it runs in circles");
  check_everything(sim);

  Outcome outcome;
  outcome.complaints = sim.witness.complaints();
  outcome.seen = sim.seen;
  outcome.journal = digest(sim);
  for (const auto& [run, told] : sim.witness.runs()) {
    outcome.events += told.events.size();
    count_compactions(told.events, outcome.seen);
    for (const Event& event : told.events)
      count(event, outcome.seen);
  }
  return outcome;
}

}  // namespace ratchet::sim
