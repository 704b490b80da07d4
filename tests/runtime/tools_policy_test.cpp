#include <gtest/gtest.h>

#include "runtime/tools/policy.hpp"

namespace ratchet {
namespace {

ToolManifest tool(std::string name, SideEffects side_effects) {
  ToolManifest manifest;
  manifest.name = std::move(name);
  manifest.side_effects = side_effects;
  return manifest;
}

AgentDefinition agent(std::vector<PolicyRule> policy) {
  AgentDefinition definition;
  definition.policy = std::move(policy);
  return definition;
}

TEST(Policy, FirstMatchDecides) {
  const auto definition =
      agent({{"send_sms", Decision::deny}, {"send_*", Decision::allow}, {"*", Decision::deny}});
  EXPECT_EQ(judge(definition, tool("send_sms", SideEffects::external)),
            (PolicyVerdict{Decision::deny, "rule 1"}));
  EXPECT_EQ(judge(definition, tool("send_mail", SideEffects::external)),
            (PolicyVerdict{Decision::allow, "rule 2"}));
  EXPECT_EQ(judge(definition, tool("read", SideEffects::none)), (PolicyVerdict{Decision::deny, "rule 3"}));
}

TEST(Policy, DefaultsToAllowForReadingAndToAskForTheRest) {
  EXPECT_EQ(judge(agent({}), tool("read", SideEffects::none)),
            (PolicyVerdict{Decision::allow, "default: read-only"}));
  EXPECT_EQ(judge(agent({}), tool("book", SideEffects::internal)),
            (PolicyVerdict{Decision::ask, "default: side effects"}));
  EXPECT_EQ(judge(agent({}), tool("send", SideEffects::external)),
            (PolicyVerdict{Decision::ask, "default: side effects"}));
}

TEST(Policy, MatchesGlobs) {
  const std::tuple<std::string_view, std::string_view, bool> cases[] = {
      {"read", "read", true},
      {"read", "reads", false},
      {"reads", "read", false},
      {"*", "anything", true},
      {"*", "", true},
      {"", "", true},
      {"", "x", false},
      {"send_*", "send_", true},
      {"send_*", "send_mail", true},
      {"send_*", "resend_", false},
      {"*_mail", "send_mail", true},
      {"*_mail", "send_mails", false},
      {"a*b*c", "axxbyyc", true},
      {"a*b*c", "axxcyyb", false},
      {"*a*b", "aab_ab", true},
      {"**", "x", true},
      {"a*", "b", false},
      {"a*b**", "ab", true},
  };
  for (const auto& [glob, name, expected] : cases)
    EXPECT_EQ(glob_matches(glob, name), expected) << glob << " against " << name;
}

TEST(Policy, MatchesHostileGlobsInTime) {
  std::string glob, name(64, 'a');
  for (int i = 0; i < 32; ++i)
    glob += "*a";
  EXPECT_TRUE(glob_matches(glob, name));
  EXPECT_FALSE(glob_matches(glob + "b", name));
}

TEST(Policy, RefusesAnAgentWhoseCallsWouldAsk) {
  const ToolManifest tools[] = {tool("read", SideEffects::none), tool("send", SideEffects::external)};
  auto definition = agent({});
  definition.tools = {"read", "send"};
  const auto refused = check_agent(definition, tools);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_supported);
  EXPECT_EQ(refused.error().pointer, "/tools/1");
  EXPECT_EQ(
      refused.error().text,
      "calls of 'send' would need an approval (external side effects), which this version does not have: add "
      "a policy rule that allows or denies it");
  for (const Decision decision : {Decision::allow, Decision::deny}) {
    definition.policy = {{"send", decision}};
    EXPECT_TRUE(check_agent(definition, tools));
  }
}

TEST(Policy, RefusesAnAgentWithAToolThatDoesNotExist) {
  auto definition = agent({});
  definition.tools = {"raed"};
  const auto refused = check_agent(definition, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unknown_tool);
  EXPECT_EQ(refused.error().pointer, "/tools/0");
  EXPECT_EQ(refused.error().text, "there is no tool 'raed'");
}

}  // namespace
}  // namespace ratchet
