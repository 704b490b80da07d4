// What a decision point is asked, and that nothing but a plain yes is a yes.

#include <gmock/gmock.h>

#include "runtime/limits.hpp"
#include "runtime/tools/authzen.hpp"

namespace ratchet {
namespace {

using testing::HasSubstr;
using Protocol = DecisionPointAddress::Protocol;

DecisionPointAddress authzen_point() {
  return {.url = "https://pdp.example/tenant", .timeout_ms = 250, .api_key = "pdp-key"};
}

DecisionPointAddress opa_point() {
  return {.protocol = Protocol::opa, .url = "http://127.0.0.1:8181", .path = "ratchet/allow"};
}

JudgeQuestion question(std::string call_id = "c1", std::string args = R"({"to":"x@y"})") {
  auto tool = std::make_shared<ToolManifest>();
  tool->name = "send_email";
  tool->kind = ToolKind::http;
  tool->side_effects = SideEffects::external;
  JudgeQuestion out;
  out.team = "payments";
  out.agent_id = "support";
  out.agent_version = 3;
  out.user_id = "alice\"";
  out.step = 2;
  out.call_id = std::move(call_id);
  out.scopes = {"email:send", "read"};
  out.args = std::move(args);
  out.tool = tool;
  return out;
}

ConnectorOutcome answered(int status, std::string body) {
  ConnectorOutcome outcome;
  outcome.kind = ConnectorOutcome::Kind::answered;
  outcome.status = status;
  outcome.body = std::move(body);
  return outcome;
}

TEST(AuthZen, AsksWhoWantsToDoWhatToWhat) {
  const auto point = authzen_point();
  const auto call = evaluation_call(point, usual_endpoints(point), question());
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.url, "https://pdp.example/tenant/access/v1/evaluation");
  EXPECT_EQ(call.timeout_ms, 250);
  EXPECT_EQ(call.network_allow, (std::vector<std::string>{"pdp.example:443"}));
  EXPECT_TRUE(call.repeatable);
  EXPECT_THAT(call.headers, testing::Contains(testing::Pair("Authorization", "Bearer pdp-key")));
  EXPECT_THAT(call.headers, testing::Contains(testing::Pair("Content-Type", "application/json")));
  const std::string run = to_string(RunId{});
  EXPECT_EQ(
      call.body,
      R"({"subject":{"type":"user","id":"alice\"","properties":{"scopes":["email:send","read"],)"
      R"("team":"payments"}},"action":{"name":"send_email"},"resource":{"type":"tool","id":"send_email",)"
      R"("properties":{"kind":"http","tier":1,"side_effects":"external"}},"context":{"run_id":")" +
          run + R"(","root_run_id":")" + run +
          R"(","call_id":"c1","step":2,"team":"payments","agent_id":"support","agent_version":3,)"
          R"("arguments":{"to":"x@y"},"arguments_sha256":")" +
          to_string(sha256(R"({"to":"x@y"})")) + R"("}})");
}

TEST(AuthZen, OpaIsAskedTheSameAsInput) {
  const auto plain = evaluation_call(authzen_point(), usual_endpoints(authzen_point()), question()).body;
  const auto call = evaluation_call(opa_point(), usual_endpoints(opa_point()), question());
  EXPECT_EQ(call.url, "http://127.0.0.1:8181/v1/data/ratchet/allow");
  EXPECT_EQ(call.body, "{\"input\":" + plain + "}");
  EXPECT_THAT(call.headers, testing::Not(testing::Contains(testing::Key("Authorization"))));
}

TEST(AuthZen, SeveralCallsAreOneQuestion) {
  const auto point = authzen_point();
  const DecisionEndpoints endpoints{"https://pdp.example/e", "https://pdp.example/es"};
  const auto single = evaluation_call(point, endpoints, question()).body;
  const auto other = evaluation_call(point, endpoints, question("c2", "{}")).body;
  const auto call = evaluations_call(point, endpoints, std::vector{question(), question("c2", "{}")});
  EXPECT_EQ(call.url, "https://pdp.example/es");
  EXPECT_EQ(call.body,
            "{\"evaluations\":[" + single + "," + other +
                "],\"options\":{\"evaluations_semantic\":\"execute_all\"}}");
}

TEST(AuthZen, OnlyAPlainYesIsAYes) {
  const auto point = authzen_point();
  for (const char* body :
       {R"({"decision":true})",
        R"({"decision":true,"context":{}})",
        R"({"decision":true,"context":null,"more":1})",
        R"({"decision":true,"context":{"reason_admin":{"en":"fine"},"obligations":[]}})"}) {
    const auto facts = read_evaluation(point, answered(200, body));
    EXPECT_TRUE(facts.allowed) << body;
    EXPECT_EQ(facts.word, "ok");
  }
  const std::pair<ConnectorOutcome, const char*> denials[] = {
      {answered(200, R"({"decision":false})"), "denies it"},
      {answered(200, R"({"decision":false,"context":{"reason_user":{"403":"not on Sundays"}}})"),
       "denies it: not on Sundays"},
      {answered(200, R"({"decision":false,"context":{"reason_user":"no","obligations":[{"type":"x"}]}})"),
       "denies it: no"},
      {answered(200, R"({"decision":"true"})"), "no boolean decision"},
      {answered(200, R"({"decision":1})"), "no boolean decision"},
      {answered(200, R"({"decision":null})"), "no boolean decision"},
      {answered(200, R"({"Decision":true})"), "no boolean decision"},
      {answered(200, R"({"result":true})"), "no boolean decision"},
      {answered(200, R"({"decision":false,"decision":true})"), "no JSON object"},
      {answered(200, R"([{"decision":true}])"), "no JSON object"},
      {answered(200, "true"), "no JSON object"},
      {answered(200, ""), "no JSON object"},
      {answered(200, R"({"decision":true)"), "no JSON object"},
      {answered(200, R"({"decision":true,"context":"obligations"})"), "its context is no object"},
      {answered(200, R"({"decision":true,"context":{"obligations":[{"type":"require_approval"}]}})"),
       "obligations that are not understood: require_approval"},
      {answered(200, R"({"decision":true,"context":{"obligations":["log",{"kind":"y"}]}})"),
       "one without a type, one without a type"},
      {answered(200, R"({"decision":true,"context":{"obligations":{"type":"mask"}}})"), "of an unknown form"},
      {answered(201, R"({"decision":true})"), "HTTP status 201"},
      {answered(302, R"({"decision":true})"), "HTTP status 302"},
      {answered(500, R"({"decision":true})"), "HTTP status 500"},
      {answered(401, ""), "HTTP status 401"},
      {{.kind = ConnectorOutcome::Kind::unknown, .text = "it took longer than 250 ms"},
       "did not answer: it took"},
      {{.kind = ConnectorOutcome::Kind::not_sent, .text = "refused"}, "did not answer: refused"},
  };
  for (const auto& [outcome, word] : denials) {
    const auto facts = read_evaluation(point, outcome);
    EXPECT_FALSE(facts.allowed) << outcome.body;
    EXPECT_THAT(facts.word, HasSubstr(word)) << outcome.body;
    EXPECT_THAT(facts.word, testing::StartsWith("the decision point"));
  }
}

TEST(AuthZen, ALongReasonIsCut) {
  const auto body = R"({"decision":false,"context":{"reason_user":")" + std::string(10'000, 'x') + "\"}}";
  EXPECT_LT(read_evaluation(authzen_point(), answered(200, body)).word.size(),
            limits::decision_word_bytes_max + 50);
}

TEST(AuthZen, OpaSaysTrueOrAllows) {
  for (const char* body : {R"({"result":true,"decision_id":"7"})",
                           R"({"result":{"allow":true}})",
                           R"({"result":{"allow":true,"obligations":[]}})"})
    EXPECT_TRUE(read_evaluation(opa_point(), answered(200, body)).allowed) << body;
  for (const char* body : {"{}",
                           R"({"decision_id":"7"})",
                           R"({"result":false})",
                           R"({"result":null})",
                           R"({"result":"true"})",
                           R"({"result":[true]})",
                           R"({"result":{}})",
                           R"({"result":{"allow":1}})",
                           R"({"result":{"allow":true,"obligations":[{"type":"mask"}]}})",
                           R"({"decision":true})"})
    EXPECT_FALSE(read_evaluation(opa_point(), answered(200, body)).allowed) << body;
  EXPECT_THAT(read_evaluation(opa_point(), answered(200, "{}")).word, HasSubstr("undefined"));
}

TEST(AuthZen, EachCallOfABatchHasItsOwnWord) {
  const auto facts = read_evaluations(
      answered(200, R"({"evaluations":[{"decision":true},{"decision":false},{"decision":"true"},7]})"), 4);
  ASSERT_EQ(facts.size(), 4u);
  EXPECT_TRUE(facts[0].allowed);
  EXPECT_FALSE(facts[1].allowed || facts[2].allowed || facts[3].allowed);
  for (const auto& outcome :
       {answered(200, R"({"evaluations":[{"decision":true}]})"),
        answered(200, R"({"evaluations":[{"decision":true},{"decision":true},{"decision":true}]})"),
        answered(200, R"({"evaluations":{"decision":true}})"),
        answered(200, R"({"decision":true})"),
        answered(404, ""),
        ConnectorOutcome{}}) {
    const auto two = read_evaluations(outcome, 2);
    ASSERT_EQ(two.size(), 2u);
    EXPECT_FALSE(two[0].allowed || two[1].allowed) << outcome.body;
  }
}

TEST(AuthZen, MetadataAreBelievedOfThePointItselfOnly) {
  const auto point = authzen_point();
  EXPECT_EQ(metadata_call(point).url, "https://pdp.example/.well-known/authzen-configuration/tenant");
  EXPECT_EQ(metadata_call(point).method, "GET");
  const auto read = [&](std::string body) { return read_metadata(point, answered(200, std::move(body))); };
  const auto full = read(R"({"policy_decision_point":"https://pdp.example/tenant/",)"
                         R"("access_evaluation_endpoint":"https://pdp.example/one",)"
                         R"("access_evaluations_endpoint":"https://pdp.example:443/many"})");
  ASSERT_TRUE(full && *full);
  EXPECT_EQ(**full, (DecisionEndpoints{"https://pdp.example/one", "https://pdp.example:443/many"}));
  const auto little = read(R"({"policy_decision_point":"https://pdp.example/tenant"})");
  EXPECT_EQ(**little, usual_endpoints(point));
  EXPECT_EQ(*read_metadata(point, answered(404, "")), std::nullopt);
  for (const char* body : {R"({"policy_decision_point":"https://pdp.example"})",
                           R"({"policy_decision_point":"https://evil.example/tenant"})",
                           R"({"policy_decision_point":"https://pdp.example/tenant",)"
                           R"("access_evaluation_endpoint":"https://evil.example/one"})",
                           R"({"policy_decision_point":"https://pdp.example/tenant",)"
                           R"("access_evaluations_endpoint":"http://pdp.example/many"})",
                           R"({"policy_decision_point":"https://pdp.example/tenant",)"
                           R"("access_evaluations_endpoint":"https://pdp.example:8443/many"})",
                           "{}",
                           "[]",
                           ""})
    EXPECT_FALSE(read(body)) << body;
  EXPECT_FALSE(read_metadata(point, answered(500, "")));
  EXPECT_FALSE(read_metadata(point, ConnectorOutcome{}));
}

}  // namespace
}  // namespace ratchet
