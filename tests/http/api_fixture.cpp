#include "tests/http/api_fixture.hpp"

#include <fmt/format.h>

#include "http/openapi.hpp"
#include "runtime/hash.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/pointer.hpp"
#include "store/pack.hpp"

namespace ratchet::testing {

namespace {

std::vector<ModelConfig> models() {
  ModelConfig sonnet;
  sonnet.name = "sonnet";
  sonnet.sampling = {"temperature"};
  ProviderConfig provider;
  provider.base_url = "http://127.0.0.1:1";
  provider.model = "claude-x";
  sonnet.providers.push_back(provider);
  ModelConfig tiny = sonnet;
  tiny.name = "tiny";
  tiny.context_window_tokens = 2'000;
  tiny.max_output_tokens = 500;
  return {sonnet, tiny};
}

}  // namespace

std::string Reply::text(std::string_view path) const {
  const auto* found = &json;
  const auto steps = split_pointer("/" + std::string(path));
  for (const auto& step : *steps) {
    if (found->is_object())
      found = found->as_object().if_contains(step);
    else if (found->is_array() && std::stoul(step) < found->as_array().size())
      found = &found->as_array()[std::stoul(step)];
    else
      found = nullptr;
    if (!found) return "(absent)";
  }
  if (found->is_string()) return std::string(found->as_string());
  std::string out;
  append_json(out, *found);
  return out;
}

ApiTest::ApiTest() : catalog(journal, models()), node(journal, feed, clock, catalog, pack_record) {
  options.listen = "127.0.0.1:0";
  options.dev = true;
}

ApiTest::~ApiTest() {
  if (service) service->stop();
}

void ApiTest::start() {
  service = std::make_unique<Service>(parts(journal), options);
  const auto started = service->start();
  ASSERT_TRUE(started) << started.error().text;
  port_ = *started;
}

void ApiTest::ask_person(const RunId& run, std::uint8_t n, std::string args) {
  ModelCompleted completed = replied("");
  completed.content = {{ReplyBlockType::call, {}, "call_1_1", "p1", "pay", args, {}}};
  node.happen(run, {asked(), completed});
  ToolRequested requested;
  requested.call_id = "call_1_1";
  requested.tool = "pay";
  requested.args.text = args;
  requested.args_hash = sha256(args);
  requested.verdict = {Decision::ask, true, "ok", "rule 2", {}, {}};
  const Timestamp expires = clock.now().plus_ms(60'000);
  node.happen(
      run,
      {requested,
       ApprovalRequired{
           approval_id(n), "call_1_1", "pay", Json{args}, sha256(args), "rule 2", expires, std::nullopt},
       RunPaused{{PauseReason::approval}, expires, {}, {}, {approval_id(n)}}});
}

ApprovalId ApiTest::approval_id(std::uint8_t n) {
  ApprovalId approval;
  approval.ulid.bytes.fill(n);
  return approval;
}

std::uint16_t ApiTest::port() {
  if (!service) start();
  return port_;
}

const ApiDescription& ApiTest::description() {
  static const ApiDescription description(openapi_json());
  return description;
}

Reply ApiTest::ask(std::string_view method,
                   std::string_view target,
                   std::string_view body,
                   HeaderList headers) {
  Reply reply;
  reply.raw = fetch(port(), method, target, body, headers);
  reply.status = reply.raw.status;
  EXPECT_TRUE(reply.raw.whole) << method << " " << target;
  EXPECT_FALSE(reply.raw.header("x-request-id").empty()) << method << " " << target;
  const auto type = reply.raw.header("content-type");
  const auto errors = description().check_answer(method, target, reply.status, type, reply.raw.body);
  for (const auto& error : errors)
    ADD_FAILURE() << method << " " << target << " " << reply.status << ": " << error;
  if (type.find("json") != std::string::npos) {
    const auto value = parse_json(reply.raw.body);
    if (value) reply.json = *value;
  }
  return reply;
}

void ApiTest::register_agent() {
  const auto reply = post("/v1/agents/support/versions", agent_json());
  ASSERT_EQ(reply.status, 201) << reply.raw.body;
}

RunId ApiTest::start_run(std::string_view more) {
  const auto reply =
      post("/v1/runs",
           fmt::format(R"({{"agent_id":"support","input":"hello","user_token":"dev:alice:read"{}}})", more));
  EXPECT_EQ(reply.status, 202) << reply.raw.body;
  return parse_id<RunKind>(reply.text("run_id")).value();
}

std::string agent_json(std::string_view more) {
  return fmt::format(R"({{"agent_id":"support","model":{{"name":"sonnet"}},"system_prompt":"You help.")"
                     R"(,"budgets":{{"max_steps":10,"max_tokens":50000,"max_usd":"0.50"}}{}}})",
                     more);
}

std::string tool_json(std::string_view name, std::string_view description) {
  return fmt::format(
      R"({{"name":"{}","description":"{}","kind":"http","tier":1,"side_effects":"none","timeout_ms":1000,)"
      R"("input_schema":{{"type":"object","properties":{{"q":{{"type":"string"}}}},"required":["q"],)"
      R"("additionalProperties":false}},"network":{{"allow":["docs.example:443"]}},)"
      R"("http":{{"method":"POST","url":"https://docs.example/search"}}}})",
      name,
      description);
}

ModelRequested asked(std::uint32_t attempt) {
  ModelRequested requested;
  requested.attempt = attempt;
  requested.max_tokens = 100;
  return requested;
}

ModelCompleted replied(std::string text) {
  ModelCompleted completed;
  ReplyBlock said, thought;
  said.text = std::move(text);
  thought.type = ReplyBlockType::reasoning;
  thought.text = R"({"thinking":"SECRET-THOUGHT"})";
  completed.content = {said, thought};
  completed.usage = {.input = 100, .cached_input = 40, .output = 7};
  completed.cost_usd = {23'100'000};
  completed.latency_ms = 12;
  completed.ttft_ms = 5;
  return completed;
}

}  // namespace ratchet::testing
