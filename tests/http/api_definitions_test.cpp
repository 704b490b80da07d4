// Tools and agents: registered in versions, pinned, promoted.

#include <thread>

#include <fmt/format.h>

#include "tests/http/api_fixture.hpp"

namespace ratchet {

namespace {

using testing::agent_json;
using testing::ApiTest;
using testing::tool_json;

TEST_F(ApiTest, AToolIsRegisteredOnceAndReplacedByAnotherManifest) {
  const auto first = post("/v1/tools", tool_json("search_docs"));
  EXPECT_EQ(first.status, 201) << first.raw.body;
  EXPECT_EQ(first.text("name"), "search_docs");
  const auto again = post("/v1/tools", tool_json("search_docs"));
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.text("digest"), first.text("digest"));
  const auto other = post("/v1/tools", tool_json("search_docs", "Looks deeper."));
  EXPECT_EQ(other.status, 201);
  EXPECT_NE(other.text("digest"), first.text("digest"));
  EXPECT_EQ(get("/v1/tools/search_docs").text("digest"), other.text("digest"));
  EXPECT_EQ(get("/v1/tools/search_docs").text("manifest/description"), "Looks deeper.");
  // Back to the first manifest: it is the newest again.
  EXPECT_EQ(post("/v1/tools", tool_json("search_docs")).status, 201);
  EXPECT_EQ(get("/v1/tools/search_docs").text("digest"), first.text("digest"));
}

TEST_F(ApiTest, BuiltInToolsAreListedAmongTheTeams) {
  ASSERT_EQ(post("/v1/tools", tool_json("zebra")).status, 201);
  const auto list = get("/v1/tools?limit=200");
  std::map<std::string, std::string> builtin;
  for (const auto& item : list.json.at("items").as_array())
    builtin[std::string(item.at("name").as_string())] = item.at("builtin").as_bool() ? "yes" : "no";
  EXPECT_EQ(builtin["artifact_read"], "yes");
  EXPECT_EQ(builtin["zebra"], "no");
  EXPECT_EQ(get("/v1/tools/artifact_read").text("manifest/name"), "artifact_read");
  EXPECT_EQ(get("/v1/tools/nothing").code(), "unknown_tool");
}

TEST_F(ApiTest, AMistakeInAToolIsNamedByItsPointer) {
  auto manifest = tool_json("search_docs");
  manifest.insert(manifest.size() - 1, R"(,"colour":"red")");
  const auto unknown = post("/v1/tools", manifest);
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(unknown.code(), "unknown_field");
  EXPECT_EQ(unknown.text("pointer"), "/colour");
  EXPECT_EQ(post("/v1/tools", "{").code(), "invalid_json");
  EXPECT_EQ(post("/v1/tools", tool_json("artifact_read")).status, 422);
  EXPECT_EQ(post("/v1/tools", tool_json("x"), {{"Content-Type", "text/plain"}}).code(),
            "unsupported_media_type");
  EXPECT_EQ(get("/v1/tools/search_docs").status, 404) << "nothing is half registered";
}

TEST_F(ApiTest, AnAgentMayBeWrittenInYamlAndItsMistakesHaveLines) {
  const std::string yaml =
      "agent_id: support\nmodel: {name: sonnet}\nsystem_prompt: |\n  You help.\nbudgets:\n  max_steps: 10\n";
  const auto made = post("/v1/agents/support/versions", yaml, {{"Content-Type", "application/yaml"}});
  EXPECT_EQ(made.status, 201) << made.raw.body;
  const auto version = get("/v1/agents/support/versions/1");
  EXPECT_EQ(version.text("definition/system_prompt"), "You help.\n");
  const auto typo = post("/v1/agents/support/versions",
                         "agent_id: support\nmodel: {name: sonnet}\nsistem_prompt: x\n",
                         {{"Content-Type", "application/yaml"}});
  EXPECT_EQ(typo.code(), "unknown_field");
  EXPECT_EQ(typo.text("pointer"), "/sistem_prompt");
  EXPECT_NE(typo.text("detail").find("3"), std::string::npos) << "the line: " << typo.raw.body;
  EXPECT_EQ(post("/v1/agents/support/versions", "a: [", {{"Content-Type", "application/yaml"}}).code(),
            "invalid_yaml");
}

TEST_F(ApiTest, VersionsCountFromOneAndTheSameDefinitionIsItsVersion) {
  const auto first = post("/v1/agents/support/versions", agent_json());
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.text("version"), "1");
  EXPECT_EQ(first.text("state"), "serving");
  const auto second = post("/v1/agents/support/versions", agent_json(R"(,"interactive":true)"));
  EXPECT_EQ(second.text("version"), "2");
  const auto again = post("/v1/agents/support/versions", agent_json());
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.text("version"), "1");
  EXPECT_EQ(again.text("state"), "available");
  EXPECT_EQ(again.text("digest"), first.text("digest"));
  const auto agent = get("/v1/agents/support");
  EXPECT_EQ(agent.text("serving_version"), "2");
  EXPECT_EQ(agent.text("versions/0/state"), "available");
  EXPECT_EQ(agent.text("versions/1/state"), "serving");
  EXPECT_EQ(get("/v1/agents/support/versions/3").code(), "unknown_agent");
}

TEST_F(ApiTest, APromotionDecidesWhatNewRunsGet) {
  register_agent();
  ASSERT_EQ(post("/v1/agents/support/versions", agent_json(R"(,"interactive":true)")).status, 201);
  const std::string body = R"({"agent_id":"support","input":"hi","user_token":"dev:alice"})";
  EXPECT_EQ(post("/v1/runs", body).text("agent_version"), "2");
  const auto promoted = post("/v1/agents/support/versions/1/promote");
  EXPECT_EQ(promoted.status, 200) << promoted.raw.body;
  EXPECT_EQ(promoted.text("state"), "serving");
  EXPECT_EQ(post("/v1/runs", body).text("agent_version"), "1");
  EXPECT_EQ(post("/v1/agents/support/versions/1/promote", R"({"percent":10})").code(), "not_supported");
  EXPECT_EQ(post("/v1/agents/support/versions/1/promote", R"({"procent":10})").code(), "unknown_field");
  EXPECT_EQ(post("/v1/agents/support/versions/9/promote").code(), "unknown_agent");
  EXPECT_EQ(post("/v1/runs", R"({"agent_id":"support","agent_version":2,"input":"hi","user_token":"dev:a"})")
                .text("agent_version"),
            "2");
}

TEST_F(ApiTest, AVersionKeepsTheToolsItPinned) {
  const auto tool = post("/v1/tools", tool_json("search_docs"));
  const auto with_tool = agent_json(R"(,"tools":["search_docs","artifact_read"])");
  ASSERT_EQ(post("/v1/agents/support/versions", with_tool).status, 201);
  ASSERT_EQ(post("/v1/tools", tool_json("search_docs", "Looks deeper.")).status, 201);
  const auto pinned = get("/v1/agents/support/versions/1");
  EXPECT_EQ(pinned.text("tools/1/name"), "search_docs");
  EXPECT_EQ(pinned.text("tools/1/digest"), tool.text("digest"));
  // The same words with another tool behind them are another version.
  const auto next = post("/v1/agents/support/versions", with_tool);
  EXPECT_EQ(next.status, 201);
  EXPECT_EQ(next.text("version"), "2");
  // And after a restart, from the journal alone.
  StoredCatalog later(journal, {});
  const auto version = later.find("default", "support", 1);
  ASSERT_TRUE(version) << version.error().text;
  ASSERT_NE((*version)->find_tool("search_docs"), nullptr);
  EXPECT_EQ(to_string((*version)->find_tool("search_docs")->digest), tool.text("digest"));
  EXPECT_NE((*version)->find_tool("artifact_read"), nullptr);
}

TEST_F(ApiTest, AnAgentThatCannotWorkIsRefused) {
  const auto unknown_tool =
      post("/v1/agents/support/versions", agent_json(R"(,"tools":["todo_write","nope"])"));
  EXPECT_EQ(unknown_tool.status, 422);
  EXPECT_EQ(unknown_tool.code(), "invalid_definition");
  EXPECT_EQ(unknown_tool.text("pointer"), "/tools/1");
  const auto unknown_model = post("/v1/agents/support/versions",
                                  R"({"agent_id":"support","model":{"name":"nope"},"system_prompt":"x"})");
  EXPECT_EQ(unknown_model.status, 422);
  EXPECT_EQ(unknown_model.text("pointer"), "/model/name");
  EXPECT_NE(unknown_model.text("detail").find("sonnet"), std::string::npos) << "the models there are";
  const auto too_long =
      post("/v1/agents/support/versions",
           fmt::format(R"({{"agent_id":"support","model":{{"name":"tiny"}},"system_prompt":"{}"}})",
                       std::string(20'000, 'x')));
  EXPECT_EQ(too_long.status, 422) << too_long.raw.body;
  EXPECT_EQ(too_long.text("pointer"), "/system_prompt");
  // Beside a reply of 500 tokens the window leaves 1,500; beside one of 100 there is room.
  const auto of_usable = [&](std::string_view more) {
    return post("/v1/agents/support/versions",
                fmt::format(R"({{"agent_id":"support","model":{{"name":"tiny"{}}},"system_prompt":"{}"}})",
                            more,
                            std::string(6'500, 'x')))
        .status;
  };
  EXPECT_EQ(of_usable(""), 422);
  const auto other_id = post("/v1/agents/sales/versions", agent_json());
  EXPECT_EQ(other_id.status, 422);
  EXPECT_EQ(other_id.text("pointer"), "/agent_id");
  const auto too_deep = post("/v1/agents/support/versions", agent_json(R"(,"subagents":{"max_depth":2})"));
  EXPECT_EQ(too_deep.status, 422) << too_deep.raw.body;
  EXPECT_EQ(too_deep.code(), "invalid_definition");
  EXPECT_EQ(too_deep.text("pointer"), "/subagents/max_depth");
  EXPECT_NE(too_deep.text("detail").find("subagents.max_depth"), std::string::npos) << "the key to turn";
  EXPECT_EQ(get("/v1/agents/support").status, 404) << "nothing is half registered";
  EXPECT_EQ(of_usable(R"(,"max_output_tokens":100)"), 201);
}

TEST_F(ApiTest, WhatTheModelDoesNotTakeIsSaid) {
  const auto reply = post(
      "/v1/agents/support/versions",
      R"({"agent_id":"support","model":{"name":"sonnet","temperature":0,"seed":7},"system_prompt":"x"})");
  EXPECT_EQ(reply.status, 201) << reply.raw.body;
  EXPECT_NE(reply.text("warnings/0").find("seed"), std::string::npos) << reply.raw.body;
  EXPECT_EQ(reply.text("warnings/1"), "(absent)") << "temperature is taken";
}

TEST_F(ApiTest, ALostRaceForAVersionNumberIsRunAgain) {
  node.lost_races = 3;
  const auto reply = post("/v1/agents/support/versions", agent_json());
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.text("version"), "1");
  node.lost_races = 1'000;
  EXPECT_EQ(post("/v1/agents/support/versions", agent_json(R"(,"interactive":true)")).code(), "conflict");
}

TEST_F(ApiTest, ConcurrentRegistrationsGetNumbersWithoutGaps) {
  port();
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([this, i] {
      const auto body =
          fmt::format(R"({{"agent_id":"support","model":{{"name":"sonnet"}},"system_prompt":"{}"}})", i % 4);
      const auto status = testing::fetch(port(), "POST", "/v1/agents/support/versions", body).status;
      EXPECT_TRUE(status == 201 || status == 200) << status;
    });
  for (auto& client : clients)
    client.join();
  const auto versions = get("/v1/agents/support").json.at("versions").as_array();
  ASSERT_EQ(versions.size(), 4u) << "four definitions, each posted twice";
  for (std::size_t i = 0; i < versions.size(); ++i)
    EXPECT_EQ(versions[i].at("version").as_int64(), static_cast<std::int64_t>(i + 1));
}

TEST_F(ApiTest, AgentsArePagedByName) {
  for (const char* id : {"a", "b", "c"})
    ASSERT_EQ(post(fmt::format("/v1/agents/{}/versions", id),
                   fmt::format(R"({{"agent_id":"{}","model":{{"name":"sonnet"}},"system_prompt":"x"}})", id))
                  .status,
              201);
  const auto first = get("/v1/agents?limit=2");
  EXPECT_EQ(first.text("items/0/agent_id"), "a");
  EXPECT_EQ(first.text("items/1/agent_id"), "b");
  const auto rest = get("/v1/agents?limit=2&cursor=" + first.text("next_cursor"));
  EXPECT_EQ(rest.text("items/0/agent_id"), "c");
  EXPECT_EQ(rest.text("next_cursor"), "null");
}

TEST_F(ApiTest, WhatTheNodeRefusesIsTold) {
  node.refusal = Error{ErrorCode::store_unavailable, "the disk is full"};
  const auto reply = post("/v1/agents/support/versions", agent_json());
  EXPECT_EQ(reply.status, 503);
  EXPECT_FALSE(reply.raw.header("retry-after").empty());
}

}  // namespace

}  // namespace ratchet
