#include "runtime/agent.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/json/canonical.hpp"
#include "runtime/limits.hpp"
#include "runtime/yaml.hpp"

namespace ratchet {
namespace {

TEST(Agent, ReadsADefinition) {
  const auto yaml = yaml_to_json(R"(
agent_id: support
model: {name: sonnet, temperature: 0.70, top_p: 1, top_k: 40, max_output_tokens: 1024, seed: 9007199254740991}
system_prompt: |
  You help customers.
tools: [notes_write, book, artifact_read]
policy:
  - {tool: book, then: allow}
  - {tool: "send_*", then: deny}
budgets: {max_steps: 12, max_tokens: 0, max_seconds: 60, max_usd: "0.25"}
context: {strategy: append_only, result_cap_tokens: 500}
interactive: true
hooks:
  - {at: pre_tool, url: "http://127.0.0.1:9000/hook", kind: logging}
  - {at: pre_tool, url: "https://hooks.example/check"}
  - {at: on_stop, url: "https://hooks.example/end", kind: logging}
approval: {notify_url: "https://notify.example/in?team=a"}
)");
  ASSERT_TRUE(yaml) << yaml.error().text;
  const auto agent = parse_agent(*yaml);
  ASSERT_TRUE(agent) << agent.error().pointer << ": " << agent.error().text;
  EXPECT_EQ(agent->agent_id, "support");
  EXPECT_EQ(agent->model, "sonnet");
  EXPECT_EQ(agent->settings, (ModelSettings{1024, "0.7", "1", "40", "9007199254740991"}));
  EXPECT_EQ(agent->system_prompt, "You help customers.\n");
  EXPECT_EQ(agent->tools, (std::vector<std::string>{"notes_write", "book", "artifact_read"}));
  ASSERT_EQ(agent->policy.size(), 2u);
  EXPECT_EQ(agent->policy[1].tool, "send_*");
  EXPECT_EQ(agent->policy[1].then, Decision::deny);
  EXPECT_EQ(agent->budgets, (Budgets{12, 0, 60, Usd{250'000'000}})) << "0 is 0";
  EXPECT_EQ(agent->result_cap_tokens, 500u);
  EXPECT_TRUE(agent->interactive);
  ASSERT_EQ(agent->hooks.size(), 3u);
  EXPECT_EQ(agent->hooks[2].at, HookPoint::on_stop);
  EXPECT_EQ(agent->approval.notify_url, "https://notify.example/in?team=a");
  EXPECT_EQ(agent->hooks[0].kind, HookKind::logging);
  EXPECT_EQ(agent->hooks[1].kind, HookKind::security) << "the strict one, where nothing is said";
  EXPECT_EQ(agent->hooks[1].url, "https://hooks.example/check");
  EXPECT_EQ(agent->source.text, *canonical_json(*yaml));
  EXPECT_EQ(agent->digest, sha256(agent->source.text));
}

TEST(Agent, HasDefaults) {
  const auto agent = parse_agent(R"({"agent_id":"a","model":{"name":"m"}})");
  ASSERT_TRUE(agent) << agent.error().pointer << ": " << agent.error().text;
  EXPECT_EQ(agent->settings, ModelSettings{});
  EXPECT_EQ(agent->budgets, Budgets{});
  EXPECT_EQ(agent->result_cap_tokens, 2'000u);
  EXPECT_EQ(agent->context, (ContextSettings{ContextStrategy::append_only, 700}));
  EXPECT_FALSE(agent->interactive);
  EXPECT_TRUE(agent->tools.empty() && agent->policy.empty() && agent->system_prompt.empty());
}

TEST(Agent, WhoMayStartAgentsHasTheToolForIt) {
  const auto parsed = [](std::string_view subagents) {
    return parse_agent(fmt::format(
        R"({{"agent_id":"a","model":{{"name":"m"}},"tools":["wait"],"subagents":{}}})", subagents));
  };
  const auto agent = parsed(R"({"allow":["b","a"],"max_depth":3,"max_children":64})");
  ASSERT_TRUE(agent) << agent.error().pointer << ": " << agent.error().text;
  EXPECT_EQ(agent->subagents.allow, (std::vector<std::string>{"b", "a"})) << "itself too";
  EXPECT_EQ(agent->subagents.max_depth, 3u);
  EXPECT_EQ(agent->subagents.max_children, 64u);
  EXPECT_EQ(agent->tools, (std::vector<std::string>{"wait", "spawn_agent"}));
  const auto usual = parsed(R"({"allow":["b"]})");
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->subagents.max_depth, 1u);
  EXPECT_EQ(usual->subagents.max_children, 8u);
  for (const char* none : {"{}", R"({"allow":[]})"}) {
    const auto alone = parsed(none);
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->subagents.max_depth, 0u) << "nothing can be below its runs";
    EXPECT_EQ(alone->tools, std::vector<std::string>{"wait"});
  }
}

TEST(Agent, HasOtherDefaultsForLongConversations) {
  const auto read = [](const std::string& context) {
    const auto agent = parse_agent(R"({"agent_id":"a","model":{"name":"m"},"context":)" + context + "}");
    EXPECT_TRUE(agent) << agent.error().pointer << ": " << agent.error().text;
    return agent.value_or(AgentDefinition{});
  };
  const AgentDefinition plain = read(R"({"strategy":"layered"})");
  EXPECT_EQ(plain.context, (ContextSettings{ContextStrategy::layered, 850}));
  EXPECT_EQ(plain.result_cap_tokens, 2'500u);
  const AgentDefinition given = read(R"({"strategy":"layered","compact_at":0.5,"result_cap_tokens":100})");
  EXPECT_EQ(given.context, (ContextSettings{ContextStrategy::layered, 500}));
  EXPECT_EQ(given.result_cap_tokens, 100u);
  EXPECT_EQ(read(R"({"compact_at":0.95})").context.compact_at_permille, 950u);
  EXPECT_EQ(read(R"({"compact_at":1e-1})").context.compact_at_permille, 100u);
}

TEST(Agent, RefusesWithCodeAndPointer) {
  const auto bad = ErrorCode::invalid_definition;
  const auto later = ErrorCode::not_supported;
  const std::tuple<std::string, ErrorCode, std::string_view> cases[] = {
      {R"("hook":[])", ErrorCode::unknown_field, "/hook"},
      {R"("model":{"name":"m","temprature":1})", ErrorCode::unknown_field, "/model/temprature"},
      {R"("policy":[{"tool":"x","then":"allow","if":1}])", ErrorCode::unknown_field, "/policy/0/if"},
      {R"("hooks":[{"at":"pre_tool"}])", bad, "/hooks/0"},
      {R"("hooks":[{"url":"http://h"}])", bad, "/hooks/0"},
      {R"("hooks":[{"at":"pre_tool","url":"h"}])", bad, "/hooks/0/url"},
      {R"("hooks":[{"at":"pre_tool","url":"http://u:p@h/"}])", bad, "/hooks/0/url"},
      {R"("hooks":[{"at":"pre_tool","url":"ftp://h/"}])", bad, "/hooks/0/url"},
      {R"("hooks":[{"at":"pre_tool","url":"http://h","kind":"Security"}])", bad, "/hooks/0/kind"},
      {R"("hooks":[{"at":"pre_tool","url":"http://h","timeout":1}])",
       ErrorCode::unknown_field,
       "/hooks/0/timeout"},
      {R"("hooks":[{"at":"pre_modle","url":"http://h"}])", bad, "/hooks/0/at"},
      {R"("approval":{"notify_url":""})", bad, "/approval/notify_url"},
      {R"("approval":{"notify_url":"file:///etc/passwd"})", bad, "/approval/notify_url"},
      {R"("approval":{"expires_seconds":0})", bad, "/approval/expires_seconds"},
      {R"("approval":{"expires_seconds":60,"remind_seconds":60})", bad, "/approval/remind_seconds"},
      {R"("tools":["wait","spawn_agent"])", bad, "/tools/1"},
      {R"("tools":["spawn_agent"],"subagents":{"allow":[]})", bad, "/tools/0"},
      {R"("subagents":{"allow":"x"})", bad, "/subagents/allow"},
      {R"("subagents":{"allow":["x","y","x"]})", bad, "/subagents/allow/2"},
      {R"("subagents":{"allow":["X"]})", bad, "/subagents/allow/0"},
      {R"("subagents":{"allow":[7]})", bad, "/subagents/allow/0"},
      {R"("subagents":{"max_depth":9})", bad, "/subagents/max_depth"},
      {R"("subagents":{"max_depth":-1})", bad, "/subagents/max_depth"},
      {R"("subagents":{"max_children":65})", bad, "/subagents/max_children"},
      {R"("subagents":{"max_children":"8"})", bad, "/subagents/max_children"},
      {R"("subagents":{"depth":1})", ErrorCode::unknown_field, "/subagents/depth"},
      {R"("subagents":["x"])", bad, "/subagents"},
      {R"("eval":{"dataset":"x"})", later, "/eval"},
      {R"("context":{"strategy":"circular"})", bad, "/context/strategy"},
      {R"("context":{"compact_at":0.09})", bad, "/context/compact_at"},
      {R"("context":{"compact_at":0.951})", bad, "/context/compact_at"},
      {R"("context":{"compact_at":"0.7"})", bad, "/context/compact_at"},
      {R"("agent_id":"A")", bad, "/agent_id"},
      {R"("agent_id":"")", bad, "/agent_id"},
      {R"("agent_id":1)", bad, "/agent_id"},
      {R"("model":"m")", bad, "/model"},
      {R"("model":{})", bad, "/model"},
      {R"("model":{"name":"M"})", bad, "/model/name"},
      {R"("model":{"name":"m","temperature":"0"})", bad, "/model/temperature"},
      {R"("model":{"name":"m","temperature":2.1})", bad, "/model/temperature"},
      {R"("model":{"name":"m","top_p":-0.1})", bad, "/model/top_p"},
      {R"("model":{"name":"m","top_k":1.5})", bad, "/model/top_k"},
      {R"("model":{"name":"m","seed":"7"})", bad, "/model/seed"},
      {R"("model":{"name":"m","max_output_tokens":0})", bad, "/model/max_output_tokens"},
      {R"("system_prompt":["x"])", bad, "/system_prompt"},
      {R"("system_prompt":")" + std::string(limits::system_prompt_bytes_max + 1, 'x') + "\"",
       bad,
       "/system_prompt"},
      {R"("tools":"x")", bad, "/tools"},
      {R"("tools":[1])", bad, "/tools/0"},
      {R"("tools":["X"])", bad, "/tools/0"},
      {R"("tools":["x","y","x"])", bad, "/tools/2"},
      {R"("policy":{"x":"allow"})", bad, "/policy"},
      {R"("policy":["x"])", bad, "/policy/0"},
      {R"("policy":[{"tool":"x"}])", bad, "/policy/0"},
      {R"("policy":[{"then":"deny"}])", bad, "/policy/0"},
      {R"("policy":[{"tool":"x","then":"alow"}])", bad, "/policy/0/then"},
      {R"("policy":[{"tool":"[ab]","then":"deny"}])", bad, "/policy/0/tool"},
      {R"("policy":[{"tool":"x","when":{"/a/b":{"eq":1}},"then":"allow"}])", bad, "/policy/0/when/~1a~1b/eq"},
      {R"("policy":[{"tool":"x","when":[],"then":"allow"}])", bad, "/policy/0/when"},
      {R"("budgets":{"max_steps":-1})", bad, "/budgets/max_steps"},
      {R"("budgets":{"max_steps":10001})", bad, "/budgets/max_steps"},
      {R"("budgets":{"max_tokens":1e30})", bad, "/budgets/max_tokens"},
      {R"("budgets":{"max_seconds":"60"})", bad, "/budgets/max_seconds"},
      {R"("budgets":{"max_usd":1})", bad, "/budgets/max_usd"},
      {R"("budgets":{"max_usd":"-1"})", bad, "/budgets/max_usd"},
      {R"("budgets":{"max_usd":"1e3"})", bad, "/budgets/max_usd"},
      {R"("budgets":[])", bad, "/budgets"},
      {R"("context":{"result_cap_tokens":0})", bad, "/context/result_cap_tokens"},
      {R"("context":{"result_cap_tokens":4097})", bad, "/context/result_cap_tokens"},
      {R"("interactive":"yes")", bad, "/interactive"},
  };
  for (const auto& [change, code, pointer] : cases) {
    std::string json = "{" + change;
    if (!change.starts_with(R"("agent_id")")) json += R"(,"agent_id":"a")";
    if (!change.starts_with(R"("model")")) json += R"(,"model":{"name":"m"})";
    const auto agent = parse_agent(json + "}");
    ASSERT_FALSE(agent) << change.substr(0, 100);
    EXPECT_EQ(name(agent.error().code), name(code)) << change.substr(0, 100) << ": " << agent.error().text;
    EXPECT_EQ(agent.error().pointer, pointer) << change.substr(0, 100) << ": " << agent.error().text;
  }
  EXPECT_EQ(parse_agent(R"({"agent_id":"a"})").error().text, "the field model is required");
  EXPECT_EQ(parse_agent(R"({"model":{"name":"m"}})").error().text, "the field agent_id is required");
  EXPECT_EQ(parse_agent("[]").error().text, "expected an object, found an array");
  EXPECT_EQ(parse_agent("{").error().code, ErrorCode::invalid_json);
  EXPECT_EQ(parse_agent(R"({"agent_id":"a","model":{"name":"m","seed":9007199254740993}})").error().code,
            ErrorCode::invalid_json)
      << "a number that would change on its way";
}

TEST(Agent, ATypoInAFileIsToldWithItsLine) {
  const auto document =
      parse_yaml("agent_id: a\nmodel: {name: m}\nbudgets:\n  max_steps: 3\n  max_token: 5\n");
  ASSERT_TRUE(document);
  const auto agent = parse_agent(document->json);
  ASSERT_FALSE(agent);
  EXPECT_EQ(document->at_line(agent.error()).text,
            "line 5, column 3: there is no field 'max_token'; known are max_steps, max_tokens, max_seconds, "
            "max_usd");
}

}  // namespace
}  // namespace ratchet
