#include "tests/crash/world.hpp"

#include <map>

#include <fmt/format.h>

#include "runtime/json/dom.hpp"

namespace ratchet::crashing {

boost::json::value parsed(const Answer& answer) {
  const auto value = parse_json(answer.body);
  EXPECT_TRUE(value.has_value()) << answer.status << " " << answer.body;
  return value ? *value : boost::json::value(boost::json::object());
}

std::string text_at(const boost::json::value& value, const char* key) {
  const auto* object = value.if_object();
  const auto* found = object ? object->if_contains(key) : nullptr;
  return found && found->is_string() ? std::string(found->get_string()) : std::string();
}

void World::add_tool(const Tool& tool) {
  std::string more;
  if (tool.asks) more += R"("approval":"always",)";
  // Before a status check may be believed, a request that is on its way must have timed out.
  if (tool.idempotency == "status_check")
    more += fmt::format(
        R"("timeout_ms":500,"status_check":{{"method":"GET","url":"http://127.0.0.1:{}/status/{{{{idempotency_key}}}}"}},)",
        effects_.port());
  const std::string manifest = fmt::format(
      R"({{"name":"{}","description":"Acts.","input_schema":{{"type":"object","properties":{{"n":{{"type":"integer"}}}},"required":["n"]}},
          "kind":"http","tier":1,"side_effects":"{}","idempotency":"{}",{}"network":{{"allow":["127.0.0.1:{}"]}},
          "http":{{"method":"POST","url":"http://127.0.0.1:{}{}"}}}})",
      tool.name,
      tool.side_effects,
      tool.idempotency,
      more,
      effects_.port(),
      effects_.port(),
      tool.path);
  const Answer answer = server_.post("/v1/tools", manifest);
  ASSERT_EQ(answer.status, 201) << answer.body;
}

void World::add_agent(const std::string& name, const std::string& tools, const std::string& more) {
  const Answer answer = server_.post("/v1/agents/" + name + "/versions",
                                     fmt::format(R"({{"agent_id":"{}","model":{{"name":"scripted"}},
      "system_prompt":"Work.","tools":[{}],"policy":[{{"tool":"*","then":"allow"}}],"budgets":{{"max_steps":20}}{}}})",
                                                 name,
                                                 tools,
                                                 more));
  ASSERT_EQ(answer.status, 201) << answer.body;
}

std::string World::start_run(const std::string& agent) {
  const Answer answer = server_.post(
      "/v1/runs", fmt::format(R"({{"agent_id":"{}","input":"go","user_token":"dev:tester"}})", agent));
  EXPECT_EQ(answer.status, 202) << answer.body;
  return text_at(parsed(answer), "run_id");
}

boost::json::value World::run(const std::string& id) {
  return parsed(server_.get("/v1/runs/" + id));
}

std::vector<boost::json::value> World::events(const std::string& id) {
  const auto page = parsed(server_.get("/v1/runs/" + id + "/events?limit=200"));
  const auto& items = page.at("items").as_array();
  EXPECT_LT(items.size(), 200u) << "the rest of the events is not looked at";
  return {items.begin(), items.end()};
}

void World::resolve(const std::string& id,
                    const boost::json::value& paused,
                    const std::function<bool(const std::string& call_id)>& happened) {
  for (const auto& each : paused.at("call_ids").as_array()) {
    const std::string call(each.as_string());
    const Answer answer = server_.post(
        fmt::format("/v1/runs/{}/calls/{}/resolve", id, call),
        happened(call) ? R"({"outcome":"happened","result":"done"})" : R"({"outcome":"did_not_happen"})");
    EXPECT_EQ(answer.status, 202) << answer.body;
  }
}

std::string World::outcome(const std::string& id) {
  const auto now = run(id);
  std::string text = text_at(now, "stop_reason") + ": " + text_at(now.at("result"), "text") + "\n";
  std::map<std::string, std::string> results;
  for (const auto& event : events(id))
    if (text_at(event, "type") == "tool.result")
      results[text_at(event, "call_id")] = text_at(event, "status");
  for (const auto& [call, status] : results)
    text += call + " " + status + "\n";
  return text;
}

void World::restart() {
  server_.kill();
  server_.start();
}

void World::expect_whole_journal() {
  EXPECT_EQ(server_.drain(), 0) << server_.errors();
  EXPECT_EQ(server_.verify_journal(), 0);
}

}  // namespace ratchet::crashing
