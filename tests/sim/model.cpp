#include "tests/sim/model.hpp"

#include <fmt/format.h>

namespace ratchet::sim {

namespace {

constexpr const char* tool_names[] = {"look_up",       "look_up",
                                      "poll",          "send",
                                      "send",          "send_soon",
                                      "send_soon",     "update",
                                      "transfer",      "transfer",
                                      "publish",       "publish",
                                      "forbidden",     "pay",
                                      "pay",           "mail",
                                      "mail",          "edit",
                                      "edit",          "edit",
                                      "artifact_read", "notes_write",
                                      "notes_read",    "todo_write",
                                      "wait",          "artifact_search",
                                      "spawn_agent",   "spawn_agent",
                                      "no_such_tool"};

}  // namespace

ModelOutcome Model::answer(const RunId& run,
                           const ModelRequested& requested,
                           const std::vector<ArtifactId>& artifacts) {
  ModelOutcome outcome;
  outcome.latency_ms = random_.between(1, 3'000);
  outcome.ttft_ms = outcome.latency_ms / 3;
  if (random_.chance(faults_.model_fails)) {
    outcome.value = fail();
  } else {
    outcome.value =
        requested.purpose == CallPurpose::compaction ? note(requested) : reply(run, requested, artifacts);
  }
  return outcome;
}

ModelFailure Model::fail() {
  ModelFailure failure;
  failure.kind = random_.pick({FailureClass::transient,
                               FailureClass::transient,
                               FailureClass::overloaded,
                               FailureClass::overloaded,
                               FailureClass::permanent,
                               FailureClass::money,
                               FailureClass::overflow,
                               FailureClass::rejected});
  failure.text = "the provider failed";
  if (random_.chance(200)) failure.retry_after_ms = random_.between(0, 5'000);
  failure.produced = random_.chance(300);
  if (failure.produced && random_.chance(500))
    failure.usage = {random_.between(0, 200), 0, 0, random_.between(0, 50)};
  return failure;
}

/// A hand-over note, mostly: now and then no note at all, or one that is hardly shorter than what it
/// replaces.
ModelReply Model::note(const ModelRequested& requested) {
  ModelReply reply;
  std::string text = fmt::format("## Goal\nNote {}.", ++said_);
  if (random_.chance(250)) {
    const std::size_t bytes = random_.below(static_cast<std::uint64_t>(requested.estimated_tokens) * 3 + 1);
    while (text.size() < bytes)
      text += " and more, größer 🔥";
  }
  if (random_.chance(60)) text.clear();
  if (!text.empty()) reply.content.push_back({ReplyBlockType::text, std::move(text), {}, {}, {}, {}, {}});
  if (random_.chance(100))
    reply.content.push_back({ReplyBlockType::call, {}, {}, {}, "look_up", R"({"to":"somebody"})", {}});
  if (random_.chance(60))
    reply.stop = random_.pick({ModelStop::max_tokens,
                               ModelStop::refusal,
                               ModelStop::context_overflow,
                               ModelStop::pause_turn,
                               ModelStop::tool_use,
                               ModelStop::other});
  count(reply, requested);
  return reply;
}

ModelReply Model::reply(const RunId& run,
                        const ModelRequested& requested,
                        const std::vector<ArtifactId>& artifacts) {
  ModelReply reply;
  if (random_.chance(200))
    reply.content.push_back({ReplyBlockType::reasoning, R"({"type":"thinking"})", {}, {}, {}, {}, {}});
  if (random_.chance(600))
    reply.content.push_back({ReplyBlockType::text, fmt::format("Saying {}.", ++said_), {}, {}, {}, {}, {}});
  const bool answers = random_.chance(180);
  if (!answers) {
    const std::uint64_t calls = random_.chance(10) ? 66 : 1 + random_.below(3);
    for (std::uint64_t i = 0; i < calls; ++i)
      reply.content.push_back(call(run, artifacts));
    reply.stop = ModelStop::tool_use;
  }
  if (random_.chance(40)) {
    reply.stop = random_.pick({ModelStop::max_tokens,
                               ModelStop::refusal,
                               ModelStop::context_overflow,
                               ModelStop::pause_turn,
                               ModelStop::other,
                               ModelStop::end_turn});
  }
  count(reply, requested);
  return reply;
}

ReplyBlock Model::call(const RunId& run, const std::vector<ArtifactId>& artifacts) {
  const auto last = last_call_.find(run);
  if (last != last_call_.end() && random_.chance(120)) return last->second;
  ReplyBlock block;
  block.type = ReplyBlockType::call;
  block.tool = random_.pick(tool_names);
  if (random_.chance(700)) block.provider_id = fmt::format("toolu_{}", random_.below(1'000'000));
  block.args = arguments(block.tool, artifacts);
  if (random_.chance(40)) {
    block.args = "{\"to\":";
    block.args_error = "the arguments end too early";
  }
  last_call_[run] = block;
  return block;
}

std::string Model::arguments(const std::string& tool, const std::vector<ArtifactId>& artifacts) {
  if (random_.chance(40)) return R"({"surprise":true})";
  if (tool == "notes_write") return fmt::format(R"({{"text":"note {}"}})", ++said_);
  if (tool == "notes_read") return "{}";
  if (tool == "todo_write")
    return fmt::format(R"({{"items":[{{"status":"open","text":"todo {}"}}]}})", ++said_);
  if (tool == "wait")
    return fmt::format(R"({{"seconds":{}}})", random_.chance(100) ? 100'000 : random_.below(20));
  if (tool == "artifact_read" || tool == "artifact_search") {
    const std::string id = artifacts.empty() ? "art_nonsense" : to_string(random_.pick(artifacts));
    if (tool == "artifact_read")
      return fmt::format(R"({{"artifact_id":"{}","offset":{}}})", id, random_.below(9'000));
    return fmt::format(R"({{"artifact_id":"{}","pattern":"more"}})", id);
  }
  if (tool == "spawn_agent") {
    const std::string budgets =
        random_.chance(300) ? fmt::format(R"(,"budgets":{{"max_steps":{}}})", 1 + random_.below(20)) : "";
    const std::string agent = random_.chance(30) ? "stranger" : "worker";
    return fmt::format(R"({{"agent_id":"{}","input":"task {}"{}}})", agent, ++said_, budgets);
  }
  return fmt::format(R"({{"n":{},"to":"somebody"}})", ++said_);
}

void Model::count(ModelReply& reply, const ModelRequested& requested) {
  reply.usage_reported = true;
  reply.usage.input = requested.estimated_tokens * random_.between(700, 1'100) / 1'000;
  reply.usage.output = random_.between(0, requested.max_tokens);
  if (random_.chance(300)) reply.usage.cached_input = random_.between(0, reply.usage.input);
  if (random_.chance(300))
    reply.usage.cache_write = random_.between(0, reply.usage.input - reply.usage.cached_input);
  if (!random_.chance(faults_.odd_usage)) return;
  switch (random_.below(4)) {
    case 0:
      reply.usage = {};
      reply.usage_reported = false;
      break;
    case 1:
      reply.usage.output = requested.max_tokens * 20;
      break;
    case 2:
      reply.usage = {INT64_MAX, -5, INT64_MAX, INT64_MAX - 3};
      break;
    default:
      reply.usage = {-1'000, -1, 0, -7};
      break;
  }
}

}  // namespace ratchet::sim
