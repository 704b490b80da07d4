// What the path of a call adds to a step where nobody outside is asked: from the bytes that the model wrote
// to the verdict, and on to the request that is sent.

#include <string>

#include <benchmark/benchmark.h>

#include "runtime/hash.hpp"
#include "runtime/json/canonical.hpp"
#include "runtime/tools/book.hpp"
#include "runtime/tools/http_template.hpp"

namespace ratchet::bench {

namespace {

constexpr std::string_view manifest = R"({
  "name": "send_email", "description": "Send one e-mail to a customer.", "kind": "http",
  "input_schema": {
    "type": "object", "required": ["recipients", "subject", "body"], "additionalProperties": false,
    "properties": {
      "recipients": {"type": "array", "minItems": 1, "maxItems": 10,
                     "items": {"type": "string", "pattern": "^[^@ ]+@[^@ ]+$", "maxLength": 254}},
      "subject": {"type": "string", "minLength": 1, "maxLength": 200},
      "body": {"type": "string", "maxLength": 10000}}},
  "side_effects": "external", "idempotency": "key",
  "auth": {"mode": "on_behalf_of_user", "scopes": ["email:send"]},
  "network": {"allow": ["mail.example:443"]},
  "http": {"method": "POST", "url": "https://mail.example/v1/send"}})";

constexpr std::string_view agent = R"({
  "agent_id": "support", "model": {"name": "bench"}, "system_prompt": "Help.", "tools": ["send_email"],
  "policy": [
    {"tool": "refund*", "then": "ask"},
    {"tool": "send_email", "then": "deny", "when": {"/recipients/*": {"suffix": "@rival.example"}}},
    {"tool": "send_email", "then": "allow", "when": {"/subject": {"prefix": "Your order"}}}]})";

constexpr std::string_view said =
    R"({"recipients": ["ada@example.org", "grace@example.org"], "subject": "Your order 4711",
        "body": "Dear customer, your order has left our warehouse and will be with you in two days. Kind regards."})";

std::shared_ptr<const ToolBook> book() {
  auto version = std::make_shared<AgentVersion>();
  auto definition = parse_agent(agent);
  auto tool = parse_manifest(manifest);
  if (!definition || !tool) return nullptr;
  version->definition = std::move(*definition);
  version->tools.push_back(std::move(*tool));
  auto made = ToolBook::make(std::move(version));
  return made ? *made : nullptr;
}

void run(benchmark::State& state, bool render) {
  const auto tools = book();
  if (!tools) return state.SkipWithError("the version does not parse");
  const std::vector<std::string> scopes = {"email:send"};
  for (auto _ : state) {
    const auto args = canonical_object(said);
    benchmark::DoNotOptimize(sha256(*args));
    const Verdict verdict = tools->judge({"send_email", *args, {}, scopes, {}});
    if (verdict.decision != Decision::allow) return state.SkipWithError("the wrong verdict");
    if (!render) continue;
    auto call = render_call(*tools->find("send_email"), *args, "run_01HZX0000000000000000000000/3/call_3_1");
    benchmark::DoNotOptimize(call);
  }
}

void JudgeCall(benchmark::State& state) {
  run(state, false);
}

void JudgeCallAndMakeRequest(benchmark::State& state) {
  run(state, true);
}

BENCHMARK(JudgeCall);
BENCHMARK(JudgeCallAndMakeRequest);

}  // namespace

}  // namespace ratchet::bench
