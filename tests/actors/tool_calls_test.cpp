// Calls on their way through the node: rates, and approvals as actors.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/actors/node_fixture.hpp"

namespace ratchet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ToolManifest mail(std::string_view more) {
  auto manifest = parse_manifest(
      R"({"name":"mail","description":"Sends.","kind":"http","side_effects":"external","idempotency":"key",)"
      R"("input_schema":{"type":"object","properties":{"to":{"type":"string"}}},)"
      R"("network":{"allow":["mail.example:443"]},"http":{"url":"https://mail.example/send"})" +
      std::string(more) + "}");
  EXPECT_TRUE(manifest) << manifest.error().text;
  return *manifest;
}

ConnectorOutcome answered(std::string body) {
  return {ConnectorOutcome::Kind::answered, 200, std::move(body), {}, 1};
}

TEST(Rates, ACallBeyondIsNotSentAndTheModelIsToldWhenThereIsRoom) {
  FakeModelClient models([](const ModelCall& call) {
    const std::string args = R"({"to":"n)" + std::to_string(call.step) + "\"}";
    return call.step <= 3 ? calls("mail", args) : says("done");
  });
  std::atomic<int> sent = 0;
  TestNode test(models, agent_with({mail(R"(,"rate_limit":"2/day per run")")}), [&](const ConnectorCall&) {
    ++sent;
    return answered("ok");
  });
  const RunId run = test.start()->run_id;
  test.wait_for_end(run);
  EXPECT_EQ(sent, 2);
  const auto all = test.results(run);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].status, ToolStatus::error);
  EXPECT_THAT(all[2].content.front().text, HasSubstr("There is room again in 43200 s"));
}

TEST(HttpGet, ReachesWhatTheOperatorListsAndTellsTheModelWhatThatIs) {
  FakeModelClient models([](const ModelCall& call) {
    const char* host = call.step == 1 ? "docs.example" : "other.example";
    return call.step <= 2 ? calls("http_get", fmt::format(R"({{"url":"https://{}/page"}})", host))
                          : says("done");
  });
  std::vector<std::string> fetched;
  TestNode test(models, agent_with({*find_builtin("http_get")}), [&](const ConnectorCall& call) {
    fetched.push_back(call.method + " " + call.url);
    return answered("the page");
  });
  test.http_get_endpoints = {"docs.example:443"};
  test.restart();
  const RunId run = test.start()->run_id;
  test.wait_for_end(run);
  EXPECT_THAT(fetched, ElementsAre("GET https://docs.example/page"));
  const auto all = test.results(run);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].content.front().text, "the page");
  EXPECT_EQ(all[1].status, ToolStatus::invalid);
  EXPECT_THAT(all[1].content.front().text, HasSubstr("it may reach docs.example:443"));
}

class ApprovalActor : public ::testing::Test {
 protected:
  ApprovalActor()
      : models([](const ModelCall& call) {
          return call.step == 1 ? calls("mail", R"({"to":"bob"})") : says("done");
        }),
        test(models, agent_with({mail(R"(,"approval":"always")")}), [this](const ConnectorCall& call) {
          bodies.push_back(call.body);
          return answered("ok");
        }) {}

  RunId ask() {
    const RunId run = test.start()->run_id;
    test.wait_for_row(run, [](const RunRow& row) { return row.status == RunStatus::paused; });
    return run;
  }

  Result<Accepted> decide(const RunId& run,
                          ApprovalDecision decision,
                          std::optional<Json> edited = std::nullopt,
                          std::string team = "t") {
    DecideApproval command;
    command.team = std::move(team);
    command.run_id = run;
    command.approval_id = test.journal.row(run)->pending_approvals.at(0);
    command.decision = decision;
    command.edited_args = std::move(edited);
    command.by = "dora";
    return test.ask<Accepted>(
        [&](Reply<Accepted> reply) { test.node->decide_approval(command, std::move(reply)); });
  }

  FakeModelClient models;
  std::vector<std::string> bodies;
  TestNode test;
};

TEST_F(ApprovalActor, LetsTheCallRunWithWhatWasDecidedAlsoAfterARestart) {
  const RunId run = ask();
  EXPECT_TRUE(bodies.empty());
  test.restart();
  ASSERT_TRUE(decide(run, ApprovalDecision::approve, Json{R"({"to":"carol"})"}));
  EXPECT_EQ(test.wait_for_end(run).stop_reason, StopReason::final_answer);
  EXPECT_THAT(bodies, ElementsAre(R"({"to":"carol"})"));
}

TEST_F(ApprovalActor, AnswersForEveryDecisionThatComesAtOnce) {
  const RunId run = ask();
  DecideApproval command;
  command.team = "t";
  command.run_id = run;
  command.approval_id = test.journal.row(run)->pending_approvals.at(0);
  std::vector<std::future<Result<Accepted>>> answers;
  for (int i = 0; i < 20; ++i) {
    auto promise = std::make_shared<std::promise<Result<Accepted>>>();
    answers.push_back(promise->get_future());
    command.decision = i % 2 ? ApprovalDecision::approve : ApprovalDecision::reject;
    test.node->decide_approval(command, [promise](Result<Accepted> reply) { promise->set_value(reply); });
  }
  int taken = 0, refused = 0;
  for (auto& answer : answers) {
    const auto reply = answer.get();
    taken += reply.has_value();
    refused += !reply && reply.error().code == ErrorCode::already_decided;
  }
  EXPECT_EQ(taken, 10) << "the first decision, and those that say the same";
  EXPECT_EQ(refused, 10);
  test.wait_for_end(run);
  EXPECT_TRUE(bodies.empty()) << "the first one rejected";
}

TEST_F(ApprovalActor, IsNotThereForAnotherTeam) {
  const RunId run = ask();
  const auto reply = decide(run, ApprovalDecision::approve, std::nullopt, "other");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::unknown_run);
}

}  // namespace
}  // namespace ratchet
