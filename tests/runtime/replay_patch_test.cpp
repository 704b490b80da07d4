// The version of a replay: the registered one and a patch, and nothing else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/replay/patch.hpp"
#include "runtime/replay/rule.hpp"

namespace ratchet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const AgentVersion> base() {
  auto version = std::make_shared<AgentVersion>();
  version->definition = *parse_agent(R"({
    "agent_id": "a", "model": {"name": "m", "temperature": 0.5, "max_output_tokens": 100}, "system_prompt": "Old.",
    "tools": ["notes_read"], "budgets": {"max_steps": 5, "max_tokens": 1000}})");
  version->version = 3;
  version->tools = {*find_builtin("notes_read")};
  return version;
}

std::shared_ptr<const AgentVersion> patched(std::string patch) {
  auto version = ratchet::patched(base(), Json{std::move(patch)});
  EXPECT_TRUE(version) << version.error().text;
  return version.value_or(base());
}

TEST(Patch, ChangesOnlyWhatItNames) {
  const auto version =
      patched(R"({"system_prompt":"New.","model":{"temperature":0},"budgets":{"max_steps":9}})");
  EXPECT_EQ(version->definition.system_prompt, "New.");
  EXPECT_EQ(version->definition.model, "m");
  EXPECT_EQ(version->definition.settings.temperature, "0");
  EXPECT_EQ(version->definition.settings.max_output_tokens, 100);
  EXPECT_EQ(version->definition.budgets.max_steps, 9);
  EXPECT_EQ(version->definition.budgets.max_tokens, 1'000);
  EXPECT_EQ(version->version, 3u);
  EXPECT_NE(version->definition.digest, base()->definition.digest);
}

TEST(Patch, OfNothingIsTheVersionItself) {
  const auto version = base();
  EXPECT_EQ(*ratchet::patched(version, Json{R"({"mocks":{"x":1},"input":"other"})"}), version);
}

TEST(Patch, NamesAModelByAStringToo) {
  EXPECT_EQ(patched(R"({"model":"other"})")->definition.model, "other");
  EXPECT_EQ(patched(R"({"model":"other"})")->definition.settings.temperature, "0.5");
}

TEST(Patch, ToolsComeFromTheVersionOrFromThePatch) {
  const Json patch{R"({"tools":["notes_read","todo_write"]})"};
  EXPECT_THAT(*tools_to_pin(*base(), patch), ElementsAre("todo_write"));
  const auto refused = ratchet::patched(base(), patch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().pointer, "/patch/tools");
  const auto complete = with_manifests(patch, {find_builtin("todo_write")->source.text});
  ASSERT_TRUE(complete);
  EXPECT_TRUE(tools_to_pin(*base(), *complete)->empty());
  EXPECT_EQ(patched(complete->text)->tools.size(), 2u);
}

TEST(Patch, WhatIsNoDefinitionIsRefusedWithItsPlace) {
  const auto refused = ratchet::patched(base(), Json{R"({"budgets":{"max_steps":-1}})"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_definition);
  EXPECT_THAT(refused.error().pointer, HasSubstr("/patch/budgets"));
}

TEST(Patch, OfAReplayOfAReplayIsBoth) {
  const auto both = combine(Json{R"({"model":{"temperature":0},"mocks":{"a":1},"system_prompt":"One."})"},
                            Json{R"({"model":{"name":"x"},"system_prompt":"Two."})"});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->text, R"({"model":{"name":"x","temperature":0},"system_prompt":"Two."})");
}

TEST(Patch, MocksAreTextsOrJson) {
  const auto mocks = mocks_of(Json{R"({"mocks":{"a":"text","b":{"x":[1]}}})"});
  ASSERT_TRUE(mocks);
  EXPECT_EQ(mocks->at("a"), "text");
  EXPECT_EQ(mocks->at("b"), R"({"x":[1]})");
}

TEST(ReplayRule, IsTheTableOfTheDocumentation) {
  const auto tool = [](SideEffects effects, std::string name = "t") {
    ToolManifest manifest;
    manifest.name = std::move(name);
    manifest.side_effects = effects;
    return manifest;
  };
  for (const bool environment : {false, true}) {
    const ReplayRule recorded{ReplayTools::recorded, environment}, live{ReplayTools::live, environment};
    for (const auto effects : {SideEffects::none, SideEffects::internal, SideEffects::external})
      EXPECT_FALSE(may_execute(recorded, tool(effects)));
    EXPECT_TRUE(may_execute(live, tool(SideEffects::none)));
    EXPECT_EQ(may_execute(live, tool(SideEffects::internal)), environment);
    EXPECT_FALSE(may_execute(live, tool(SideEffects::external)));
    EXPECT_TRUE(may_execute(recorded, tool(SideEffects::none, "artifact_read")));
    EXPECT_FALSE(may_execute(live, tool(SideEffects::external, "artifact_read")));
  }
}

}  // namespace
}  // namespace ratchet
