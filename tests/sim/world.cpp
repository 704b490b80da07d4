#include "tests/sim/world.hpp"

#include <fmt/format.h>

namespace ratchet::sim {

namespace {

using Kind = ConnectorOutcome::Kind;

ConnectorOutcome answer(int status, std::string body) {
  ConnectorOutcome outcome;
  outcome.kind = Kind::answered;
  outcome.status = status;
  outcome.body = std::move(body);
  return outcome;
}

ConnectorOutcome no_answer(Kind kind, std::string text) {
  ConnectorOutcome outcome;
  outcome.kind = kind;
  outcome.text = std::move(text);
  return outcome;
}

}  // namespace

void World::call(const ToolManifest& tool, const std::string& key, Reply reply) {
  travel(tool, [this, &tool, key] { return execute(tool, key); }, std::move(reply));
}

void World::check(const ToolManifest& tool, const std::string& key, Reply reply) {
  const auto ask = [this, key] {
    const auto found = done_.find(key);
    if (random_.chance(faults_.service_fails / 4)) return answer(500, "try later");
    return found == done_.end() ? answer(404, "") : answer(200, found->second.result);
  };
  travel(tool, ask, std::move(reply));
}

/// The manifest outlives the simulation, so the tasks may refer to it.
void World::travel(const ToolManifest& tool, std::function<ConnectorOutcome()> arrive, Reply reply) {
  if (random_.chance(faults_.request_lost / 4)) {
    const auto refused = [reply] { reply(no_answer(Kind::not_sent, "connection refused")); };
    return schedule_.after_us(random_.between(100, 5'000), refused);
  }
  const std::int64_t timeout_us = tool.timeout_ms * 1'000;
  const auto timed_out = [reply] { reply(no_answer(Kind::unknown, "no answer in time")); };
  if (random_.chance(faults_.request_lost / 4)) return schedule_.after_us(timeout_us, timed_out);

  const std::int64_t there_us = latency_us(tool);
  if (random_.chance(faults_.request_lost / 4)) {  // it arrives, but the connection does not live as long
    schedule_.after_us(there_us, [arrive] { arrive(); });
    return schedule_.after_us(random_.between(0, there_us),
                              [reply] { reply(no_answer(Kind::unknown, "connection reset")); });
  }
  const bool answer_lost = random_.chance(faults_.request_lost / 4);
  const bool gateway = random_.chance(faults_.service_fails / 4);
  const std::int64_t back_us = random_.between(100, timeout_us / 2);
  schedule_.after_us(
      there_us, [this, arrive, reply, timed_out, answer_lost, gateway, back_us, timeout_us, there_us] {
        const ConnectorOutcome outcome = arrive();
        if (answer_lost) return schedule_.after_us(timeout_us - there_us, timed_out);
        if (gateway) return schedule_.after_us(back_us, [reply] { reply(answer(504, "gateway timeout")); });
        schedule_.after_us(back_us, [reply, outcome] { reply(outcome); });
      });
}

ConnectorOutcome World::execute(const ToolManifest& tool, const std::string& key) {
  if (random_.chance(faults_.service_fails)) return answer(random_.chance(500) ? 500 : 422, "not done");
  if (tool.side_effects == SideEffects::none) return answer(200, make_result(tool));
  Done& done = done_[key];
  const bool remembered = done.effects > 0 && tool.idempotency == Idempotency::key &&
                          ms_between(done.first_at, schedule_.now()) < tool.idempotency_ttl_seconds * 1'000;
  if (remembered) return answer(200, done.result);
  ++done.effects;
  done.first_at = schedule_.now();
  done.result = make_result(tool);
  return answer(200, done.result);
}

std::string World::make_result(const ToolManifest& tool) {
  std::string text = fmt::format("{} did it, number {}.", tool.name, ++results_);
  // Now and then more than a model is shown, in characters of several bytes, cut anywhere.
  if (random_.chance(250)) {
    const std::size_t bytes = 7'000 + random_.below(30'000);
    while (text.size() < bytes)
      text += random_.chance(500) ? "größer 🔥 " : "and more, ";
  }
  return text;
}

std::int64_t World::latency_us(const ToolManifest& tool) {
  const std::int64_t half_us = tool.timeout_ms * 500;
  return random_.between(100,
                         random_.chance(faults_.slow) ? half_us : std::min<std::int64_t>(half_us, 300'000));
}

int World::effects(const std::string& key) const {
  const auto found = done_.find(key);
  return found == done_.end() ? 0 : found->second.effects;
}

std::vector<std::string> World::repeated() const {
  std::vector<std::string> keys;
  for (const auto& [key, done] : done_)
    if (done.effects > 1) keys.push_back(key);
  return keys;
}

}  // namespace ratchet::sim
