#include "tests/crash/world.hpp"

#include <cstdlib>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "http/version.hpp"
#include "runtime/json/dom.hpp"

namespace ratchet::crashing {

namespace {

namespace fs = std::filesystem;

constexpr int recording_stride = 8;

/// RATCHET_GOLDEN=write keeps runs of this build for all later ones. A file that is there stays as it is.
void record(const std::string& file, int number) {
  const char* mode = std::getenv("RATCHET_GOLDEN");
  if (!mode || std::string_view(mode) != "write") return;
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const fs::path path =
      fs::path(RATCHET_SOURCE_DIR) / "tests/golden/runs" /
      fmt::format("{}-{}.{}-{}.ratchet", version, test->test_suite_name(), test->name(), number);
  if (fs::exists(path)) return;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << file;
}

}  // namespace

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

fs::path World::export_runs() {
  const fs::path directory = server_.directory() / "runs";
  fs::create_directories(directory);
  std::string cursor;
  int number = 0;
  do {
    const auto page = parsed(
        server_.get("/v1/runs?status=finished&limit=200" + (cursor.empty() ? "" : "&cursor=" + cursor)));
    for (const auto& item : page.at("items").as_array()) {
      const std::string id = text_at(item, "run_id");
      const Answer file = server_.get("/v1/runs/" + id + "/export?full=true");
      EXPECT_EQ(file.status, 200) << file.body;
      std::ofstream(directory / (id + ".ratchet"), std::ios::binary) << file.body;
      if (number++ % recording_stride == 0) record(file.body, number);
    }
    cursor = text_at(page, "next_cursor");
  } while (!cursor.empty());
  EXPECT_GT(number, 0) << "there is nothing to look at";
  return directory;
}

void World::expect_whole_journal() {
  const fs::path runs = export_runs();
  EXPECT_EQ(server_.drain(), 0) << server_.errors();
  for (const auto& arguments :
       {std::vector<std::string>{"journal", "verify", "--data-dir", server_.data_dir()},
        std::vector<std::string>{"audit", server_.data_dir()},
        std::vector<std::string>{"replay", "--verify", runs}}) {
    const auto ran = server_.command(arguments);
    EXPECT_EQ(ran.status, 0) << arguments.front() << ": " << ran.output;
  }
}

}  // namespace ratchet::crashing
