#include "tests/sim/clients.hpp"

#include <algorithm>

namespace ratchet::sim {

namespace {

constexpr int rounds_max = 400;

void nobody_waits(const Result<Accepted>&) {}

}  // namespace

void Clients::begin(std::uint64_t count) {
  for (std::uint64_t number = 0; number < count; ++number) {
    const std::int64_t delay_us = number == 0 ? 0 : sim_.random.between(0, 20'000'000);
    sim_.schedule.after_us(delay_us, [this, number] { start(number); });
  }
}

/// Until the run is accepted, with the same key: whatever happened to the answer, there is one run.
void Clients::start(std::uint64_t number) {
  const RunStarted started = draw_run(sim_.random, sim_.agent, sim_.now());
  const std::string key = "start-" + std::to_string(number);
  node_.start(started, key, [this, number](const Result<RunId>& run) {
    if (!run) return;
    if (std::find(runs_.begin(), runs_.end(), *run) == runs_.end()) runs_.push_back(*run);
  });
  const auto entry = sim_.journal.idempotency("team", key);
  if (!*entry || sim_.fault(200))
    sim_.schedule.after_us(sim_.random.between(100'000, 2'000'000), [this, number] { start(number); });
}

void Clients::act() {
  if (runs_.empty()) return;
  const RunId run = sim_.random.pick(runs_);
  const std::uint64_t what = sim_.random.below(100);
  if (what < 60) {
    input::Message message;
    message.content = text_content(draw_text(sim_.random, fmt::format("message {}.", ++messages_)));
    message.from = "client";
    if (sim_.random.chance(500)) message.idempotency_key = fmt::format("key-{}", messages_);
    send(run, message, 3);
  } else if (what < 70 && !sent_.empty()) {
    const auto [to, message] = sim_.random.pick(sent_);
    send(to, message, 1);
  } else if (what < 80) {
    node_.command(run, input::Cancel{"client", "enough"}, nobody_waits);
  } else if (what < 90) {
    node_.command(run, input::Resume{"client"}, nobody_waits);
  } else {
    node_.command(
        run, input::Resolve{"call_0_1", CallOutcome::happened, text_content("so"), "client"}, nobody_waits);
  }
}

/// A client that gets no answer, or is told to come again, does so if its message has a key.
void Clients::send(const RunId& run, const input::Message& message, int patience) {
  const auto again = [this, run, message, patience] {
    if (patience > 1 && !message.idempotency_key.empty()) send(run, message, patience - 1);
  };
  if (!message.idempotency_key.empty()) sent_.emplace_back(run, message);
  node_.command(run, message, [this, again](const Result<Accepted>& answer) {
    const bool later = !answer && (answer.error().code == ErrorCode::draining ||
                                   answer.error().code == ErrorCode::store_unavailable);
    if (later || (answer && sim_.random.chance(200)))
      sim_.schedule.after_us(sim_.random.between(1'000, 900'000), again);
  });
}

void Clients::watch() {
  sim_.schedule.after_us(sim_.random.between(3'000'000, 30'000'000), [this] {
    round();
    if (++rounds_ < rounds_max) watch();
  });
}

void Clients::round() {
  RunQuery query;
  query.team = "team";
  query.status = RunStatus::paused;
  const auto rows = sim_.journal.list(query);
  for (const RunRow& row : *rows)
    look_at(row);
  ApprovalQuery open;
  open.team = "team";
  open.status = ApprovalStatus::pending;
  const auto approvals = sim_.journal.approvals(open);
  for (const ApprovalRow& row : *approvals)
    look_at(row);
}

/// Somebody looks at an approval: approves, edits, rejects, says it twice, or overlooks it.
void Clients::look_at(const ApprovalRow& row) {
  if (sim_.random.chance(200)) return;
  input::Decide decide;
  decide.approval_id = row.approval_id;
  decide.by = "approver";
  if (sim_.random.chance(700)) decide.decision = ApprovalDecision::approve;
  if (sim_.random.chance(100)) decide.args_hash = sim_.random.chance(500) ? row.args_hash : sha256("other");
  if (decide.decision == ApprovalDecision::approve && sim_.random.chance(300))
    decide.edited_args =
        Json{sim_.random.chance(100) ? R"({"surprise":1})"
                                     : fmt::format(R"({{"n":{},"to":"edited"}})", sim_.random.below(1'000))};
  JudgeQuestion question;
  question.tool =
      std::shared_ptr<const ToolManifest>(sim_.agent.version, sim_.agent.version->find_tool(row.tool));
  question.hooks = decide.edited_args && sim_.agent.book->has_pre_tool_hooks();
  question.decision_point = sim_.agent.decision_point;
  decide.facts = draw_facts(sim_, question);
  const int times = sim_.random.chance(200) ? 2 : 1;
  for (int i = 0; i < times; ++i)
    node_.command(row.run_id, decide, nobody_waits);
}

void Clients::look_at(const RunRow& row) {
  if (sim_.random.chance(200)) return;  // overlooked: some pauses expire
  for (const PauseReason reason : row.pause_reasons) {
    if (reason == PauseReason::operator_) node_.command(row.run_id, input::Resume{"operator"}, nobody_waits);
    if (reason == PauseReason::reauth) {
      input::UserToken token{"token-1", {"mail"}, std::nullopt, "client"};
      if (sim_.random.chance(100)) token.scopes = {};
      if (sim_.random.chance(300)) token.expires_at = sim_.now().plus_ms(sim_.random.between(0, 30'000));
      node_.command(row.run_id, token, nobody_waits);
    }
    if (reason != PauseReason::unknown_outcome) continue;
    // A request that has left arrives within its timeout or never, so the truth is known by then.
    if (ms_between(row.paused_since, sim_.now()) < 2'000) continue;
    for (const std::string& call_id : row.pause_call_ids) {
      const std::string key = fmt::format("{}/{}/{}", to_string(row.run_id), row.step, call_id);
      const bool happened = sim_.world.effects(key) > 0;
      input::Resolve resolve{call_id, CallOutcome::did_not_happen, {}, "operator"};
      if (happened) resolve = {call_id, CallOutcome::happened, text_content("It happened."), "operator"};
      node_.command(row.run_id, resolve, nobody_waits);
    }
  }
}

}  // namespace ratchet::sim
