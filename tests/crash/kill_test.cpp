// SIGKILL at every event boundary, and at random times: each run ends as if nothing had happened, and nothing
// was done twice. Effects are counted by a service in the test's own process.

#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include <boost/json/value.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/json/dom.hpp"
#include "tests/crash/server.hpp"
#include "tests/fakes/effect_server.hpp"

namespace ratchet::crashing {
namespace {

constexpr const char* scenario = R"(steps:
  - say: First some notes and two keyed calls.
    latency_ms: 20
    chunks: 2
    call:
      - {tool: notes_write, args: {text: "begun"}}
      - {tool: keyed, args: {n: 1}}
      - {tool: keyed, args: {n: 2}}
  - latency_ms: 20
    call:
      - {tool: checked, args: {n: 3}}
      - {tool: lookup, args: {n: 4}}
  - latency_ms: 20
    call:
      - {tool: once, args: {n: 5}}
  - say: All is done.
    latency_ms: 20
    chunks: 2
)";

boost::json::value parsed(const Answer& answer) {
  const auto value = parse_json(answer.body);
  EXPECT_TRUE(value.has_value()) << answer.status << " " << answer.body;
  return value ? *value : boost::json::value(boost::json::object());
}

std::string text_at(const boost::json::value& value, const char* key) {
  const auto* found = value.as_object().if_contains(key);
  return found && found->is_string() ? std::string(found->as_string()) : std::string();
}

class Kill : public testing::Test {
 protected:
  Kill() : server_(scenario) {}

  void SetUp() override {
    server_.start();
    tool("keyed", "external", R"("idempotency":"key")", "/act");
    tool(
        "checked",
        "external",
        fmt::format(
            R"("idempotency":"status_check","status_check":{{"method":"GET","url":"http://127.0.0.1:{}/status/{{{{idempotency_key}}}}"}})",
            effects_.port()),
        "/act");
    tool("lookup", "none", R"("idempotency":"none")", "/act");
    tool("once", "external", R"("idempotency":"none")", "/act/forgetful");
    const Answer agent =
        server_.post("/v1/agents/worker/versions", R"({"agent_id":"worker","model":{"name":"scripted"},
      "system_prompt":"Work.","tools":["keyed","checked","lookup","once","notes_write"],
      "policy":[{"tool":"*","then":"allow"}],"budgets":{"max_steps":20}})");
    ASSERT_EQ(agent.status, 201) << agent.body;
  }

  void tool(const std::string& name,
            const std::string& side_effects,
            const std::string& idempotency,
            std::string path) {
    const std::string manifest = fmt::format(
        R"({{"name":"{}","description":"Acts.","input_schema":{{"type":"object","properties":{{"n":{{"type":"integer"}}}},"required":["n"]}},
            "kind":"http","tier":1,"side_effects":"{}",{},"network":{{"allow":["127.0.0.1:{}"]}},
            "http":{{"method":"POST","url":"http://127.0.0.1:{}{}"}}}})",
        name,
        side_effects,
        idempotency,
        effects_.port(),
        effects_.port(),
        path);
    const Answer answer = server_.post("/v1/tools", manifest);
    ASSERT_EQ(answer.status, 201) << answer.body;
  }

  std::string start_run() {
    const Answer answer =
        server_.post("/v1/runs", R"({"agent_id":"worker","input":"go","user_token":"dev:tester"})");
    EXPECT_EQ(answer.status, 202) << answer.body;
    return text_at(parsed(answer), "run_id");
  }

  boost::json::value run(const std::string& id) { return parsed(server_.get("/v1/runs/" + id)); }

  /// Waits for the end of the run; where it asks what became of a call, the service is asked for the truth.
  void finish(const std::string& id, int once_before) {
    for (;;) {
      const auto now = run(id);
      const std::string status = text_at(now, "status");
      if (status == "finished") return;
      const auto seq = static_cast<std::uint64_t>(now.at("last_seq").as_int64());
      if (status != "paused") {
        server_.follow(id, seq + 1);
        continue;
      }
      for (const auto& call : now.at("paused").at("call_ids").as_array()) {
        const bool happened = effects_.effects()["/act/forgetful"] > once_before;
        const Answer answer = server_.post(
            fmt::format("/v1/runs/{}/calls/{}/resolve", id, std::string_view(call.as_string())),
            happened ? R"({"outcome":"happened","result":"done"})" : R"({"outcome":"did_not_happen"})");
        EXPECT_EQ(answer.status, 202) << answer.body;
      }
    }
  }

  /// What must not depend on crashes: how the run ended and what each call returned.
  std::string outcome(const std::string& id) {
    const auto now = run(id);
    std::string text = text_at(now, "stop_reason") + ": " + text_at(now.at("result"), "text") + "\n";
    const auto events = parsed(server_.get("/v1/runs/" + id + "/events?limit=200"));
    std::map<std::string, std::string> results;
    for (const auto& event : events.at("items").as_array())
      if (text_at(event, "type") == "tool.result")
        results[text_at(event, "call_id")] = text_at(event, "status");
    for (const auto& [call, status] : results)
      text += call + " " + status + "\n";
    return text;
  }

  /// Every key has had its effect exactly once; the tool without keys once a run.
  void expect_effects(const std::set<std::string>& runs) {
    std::map<std::string, int> of_run;
    for (const auto& [key, count] : effects_.effects()) {
      if (key == "/act/forgetful") {
        EXPECT_EQ(count, static_cast<int>(runs.size()))
            << "calls without a key, in " << runs.size() << " runs";
        continue;
      }
      if (!key.starts_with("run_")) continue;
      EXPECT_EQ(count, 1) << key;
      ++of_run[key.substr(0, key.find('/'))];
    }
    for (const std::string& id : runs)
      EXPECT_EQ(of_run[id], 3) << "effects under keys of " << id;
  }

  fakes::EffectServer effects_;
  Server server_;
};

TEST_F(Kill, AtEveryEventBoundaryChangesNothing) {
  std::set<std::string> runs;
  const std::string whole = start_run();
  runs.insert(whole);
  finish(whole, 0);
  const std::string expected = outcome(whole);
  const auto last_seq = static_cast<std::uint64_t>(run(whole).at("last_seq").as_int64());
  ASSERT_GT(last_seq, 20u) << expected;
  for (std::uint64_t seq = 1; seq < last_seq; ++seq) {
    SCOPED_TRACE(fmt::format("killed after event {}", seq));
    const int once_before = effects_.effects()["/act/forgetful"];
    const std::string id = start_run();
    runs.insert(id);
    server_.follow(id, seq);
    server_.kill();
    server_.start();
    finish(id, once_before);
    EXPECT_EQ(outcome(id), expected);
    if (HasFailure()) break;
  }
  expect_effects(runs);
  EXPECT_EQ(server_.drain(), 0) << server_.errors();
  EXPECT_EQ(server_.verify_journal(), 0);
}

TEST_F(Kill, AtRandomTimesLosesNoRunAndRepeatsNoEffect) {
  const char* given = std::getenv("RATCHET_CRASH_SEED");
  const unsigned seed = given ? static_cast<unsigned>(std::atoi(given)) : std::random_device{}();
  SCOPED_TRACE(fmt::format("RATCHET_CRASH_SEED={}", seed));
  std::mt19937 random(seed);
  std::set<std::string> runs;
  for (int round = 0; round < 12; ++round) {
    const int once_before = effects_.effects()["/act/forgetful"];
    const std::string id = start_run();
    runs.insert(id);
    for (unsigned kills = 1 + random() % 3; kills > 0; --kills) {
      server_.follow(id, UINT64_MAX, static_cast<long>(1 + random() % 150));
      server_.kill();
      server_.start();
    }
    finish(id, once_before);
    EXPECT_EQ(text_at(run(id), "stop_reason"), "final_answer");
  }
  expect_effects(runs);
  EXPECT_EQ(server_.drain(), 0) << server_.errors();
  EXPECT_EQ(server_.verify_journal(), 0);
}

}  // namespace
}  // namespace ratchet::crashing
