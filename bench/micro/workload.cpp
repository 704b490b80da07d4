#include "bench/micro/workload.hpp"

#include <utility>

#include <fmt/format.h>

#include "bench/common/prose.hpp"

namespace ratchet::bench {

namespace {

constexpr std::uint64_t run = 1;
constexpr std::size_t prefix_bytes = 12'000;
constexpr std::size_t task_bytes = 800;

Event event(std::uint32_t step, Payload payload) {
  Event event;
  event.seq = 1 + step * 5;
  event.step = step;
  event.lease_version = 1;
  event.payload = std::move(payload);
  return event;
}

std::string call_id(std::uint32_t step) {
  return fmt::format("call_{}_1", step);
}

Json arguments(std::uint32_t step) {
  return {fmt::format(
      R"({{"query":"open orders and shipments, newest first","run":"#run-000001","step":{}}})", step)};
}

}  // namespace

ModelConfig model_config() {
  ModelConfig model;
  model.name = "bench";
  model.context_window_tokens = 1'000'000;
  ProviderConfig provider;
  provider.protocol = Protocol::anthropic;
  provider.base_url = "http://127.0.0.1:9";
  provider.model = "mock";
  model.providers.push_back(provider);
  return model;
}

AgentVersion agent_version() {
  AgentVersion agent;
  agent.version = 1;
  agent.definition.agent_id = "bench";
  agent.definition.model = "bench";
  agent.definition.system_prompt = filler(7, prefix_bytes);
  ToolManifest tool;
  tool.name = "lookup";
  tool.description = "Finds the customer's orders and shipments.";
  agent.definition.tools = {tool.name};
  agent.tools.push_back(std::move(tool));
  return agent;
}

Event run_started() {
  RunStarted started;
  started.agent_id = "bench";
  started.agent_version = 1;
  started.model = model_config();
  started.input = text_content(filler(11, task_bytes));
  started.user_id = "bench";
  started.team = "default";
  started.harness_version = "bench";
  return event(0, std::move(started));
}

Event model_requested(std::uint32_t step) {
  ModelRequested requested;
  requested.max_tokens = 512;
  requested.estimated_tokens = 3'200 + 850 * step;
  return event(step, std::move(requested));
}

std::vector<Event> model_replied(std::uint32_t step) {
  ModelCompleted completed;
  completed.stop_reason = ModelStop::tool_use;
  completed.usage = {.input = 3'200 + 850 * step, .cached_input = 3'000, .output = 150};
  ReplyBlock text;
  text.text = said(run, step);
  ReplyBlock call;
  call.type = ReplyBlockType::call;
  call.call_id = call_id(step);
  call.provider_id = fmt::format("toolu_{}", step);
  call.tool = "lookup";
  call.args = arguments(step).text;
  completed.content = {std::move(text), std::move(call)};

  ToolRequested requested;
  requested.call_id = call_id(step);
  requested.tool = "lookup";
  requested.args = arguments(step);
  requested.verdict.decision = Decision::allow;
  requested.verdict.granted = true;
  requested.verdict.schema = "ok";
  requested.verdict.policy_rule = "1";

  ToolPlanned planned;
  planned.call_id = call_id(step);
  planned.idempotency_key = fmt::format("run_01HZX0000000000000000000000/{}/{}", step, call_id(step));
  return {
      event(step, std::move(completed)), event(step, std::move(requested)), event(step, std::move(planned))};
}

Event tool_replied(std::uint32_t step) {
  ToolResult result;
  result.call_id = call_id(step);
  result.content = text_content(std::string(found(run, step)));
  result.bytes = result.cut_at = result_bytes;
  result.order = 1;
  return event(step, std::move(result));
}

}  // namespace ratchet::bench
