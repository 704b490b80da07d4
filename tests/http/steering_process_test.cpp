// Messages to runs of the real server, at every moment that matters: what was acknowledged reaches the model,
// at a boundary of steps, and what cannot be taken is refused in words.

#include <gmock/gmock.h>

#include "tests/http/held_model.hpp"
#include "tests/http/program.hpp"

namespace ratchet {
namespace {

using ::testing::HasSubstr;
using testing::HeldModel;
using ::testing::Not;
using testing::RunningProgram;

constexpr const char* agents = R"(agent_id: talker
model: {name: m}
interactive: true
---
agent_id: worker
model: {name: m}
tools: [notes_write]
policy: [{tool: notes_write, then: ask}]
)";

std::string message(const std::string& text, const std::string& more = "") {
  return fmt::format(R"({{"content":"{}"{}}})", text, more);
}

std::string to(const std::string& run, const std::string& verb) {
  return "/v1/runs/" + run + "/" + verb;
}

TEST(Steering, AFinalAnswerOfAnInteractiveRunWaitsForTheNextMessage) {
  HeldModel model({{"Hello, who are you?"}, {"Nice to meet you, Ann."}, {"Bye."}});
  RunningProgram server(model.provider(), agents);
  const auto run = server.start_run("talker", "hi");
  EXPECT_THAT(server.await_event(run, "run.paused"), HasSubstr(R"("reasons":["message"])"));
  EXPECT_EQ(server.of_run(run, "status"), "paused");
  EXPECT_EQ(server.post(to(run, "messages"), message("I am Ann.")).status, 202);
  EXPECT_THAT(server.await_event(run, "run.paused", 1), HasSubstr("message"));
  const auto second = model.request(1);
  EXPECT_LT(second.find("Hello, who are you?"), second.find("I am Ann.")) << second;
  EXPECT_EQ(server.of_run(run, "step"), "2");

  EXPECT_EQ(server.post(to(run, "cancel"), "{}").status, 202);
  EXPECT_THAT(server.await_event(run, "run.finished"), HasSubstr(R"("stop_reason":"cancelled")"));
  const auto late = server.post(to(run, "messages"), message("are you there?"));
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(cli::Fields(late.body).text("code"), "run_finished") << late.body;
}

TEST(Steering, AMessageDuringTheFinalReplyGivesTheRunAnotherTurn) {
  HeldModel model({{"Done.", "", "", true}, {"Done, and in French: fini."}});
  RunningProgram server(model.provider(), agents);
  const auto run = server.start_run("worker");
  model.request(0);
  EXPECT_EQ(server.post(to(run, "messages"), message("say it in French, too")).status, 202);
  model.release(0);
  EXPECT_THAT(server.await_event(run, "run.finished"), HasSubstr(R"("stop_reason":"final_answer")"));
  const auto second = model.request(1);
  EXPECT_LT(second.find("Done."), second.find("say it in French, too")) << second;
  EXPECT_EQ(server.of_run(run, "result/text"), "Done, and in French: fini.");
  EXPECT_EQ(server.types_of(run),
            "run.started model.requested message.received model.completed model.requested model.completed "
            "run.finished");
}

TEST(Steering, AMessageSurvivesTheDeathOfTheServerInTheCallThatWasToBeTheLast) {
  HeldModel model({{"Done.", "", "", true}, {"Done again."}, {"Done, in French."}});
  RunningProgram server(model.provider(), agents);
  const auto run = server.start_run("worker");
  model.request(0);
  EXPECT_EQ(server.post(to(run, "messages"), message("in French")).status, 202);
  server.kill_and_restart();
  EXPECT_THAT(server.await_event(run, "run.finished"), HasSubstr(R"("stop_reason":"final_answer")"));
  EXPECT_THAT(model.request(1), HasSubstr("in French")) << "the attempt after the one that was lost";
}

TEST(Steering, AMessageDuringAnApprovalIsReadAfterTheResults) {
  HeldModel model({{"", "notes_write", R"({"text":"one"})"}, {"Written."}});
  RunningProgram server(model.provider(), agents);
  const auto run = server.start_run("worker");
  const auto asked = cli::Fields(server.await_event(run, "approval.required")).text("approval_id");
  server.await_event(run, "run.paused");
  EXPECT_EQ(server.post(to(run, "messages"), message("and then stop")).status, 202);
  EXPECT_EQ(server.of_run(run, "status"), "paused") << "a message decides nothing";
  const auto decided = server.post(to(run, "approvals/" + asked), R"({"decision":"approve"})");
  EXPECT_EQ(decided.status, 200) << decided.body;
  server.await_event(run, "run.finished");
  const auto second = model.request(1);
  EXPECT_LT(second.find(R"("role":"tool")"), second.find("and then stop")) << second;
  EXPECT_EQ(model.requests(), 2u);
}

TEST(Steering, TheSameKeyIsTheSameMessageAlsoAfterARestart) {
  HeldModel model({{"Hello."}, {"I heard you once."}});
  RunningProgram server(model.provider(), agents);
  const auto run = server.start_run("talker");
  server.await_event(run, "run.paused");
  const auto key = R"(,"idempotency_key":"k1")";
  const auto first = server.post(to(run, "messages"), message("once", key));
  EXPECT_EQ(first.status, 202);
  server.await_event(run, "run.paused", 1);
  const auto again = server.post(to(run, "messages"), message("once", key));
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(again.body, first.body) << "the same event";
  server.kill_and_restart();
  EXPECT_EQ(server.post(to(run, "messages"), message("once", key)).body, first.body);
  const auto other = server.post(to(run, "messages"), message("twice", key));
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(cli::Fields(other.body).text("code"), "idempotency_conflict");
  EXPECT_EQ(model.requests(), 2u) << "nothing went on";
}

TEST(Steering, ACancelWinsOverAMessageThatWasTaken) {
  HeldModel model({{"Never read.", "", "", true}});
  RunningProgram server(model.provider(), agents);
  const auto run = server.start_run("worker");
  model.request(0);
  EXPECT_EQ(server.post(to(run, "messages"), message("go on")).status, 202);
  EXPECT_EQ(server.post(to(run, "cancel"), R"({"reason":"enough"})").status, 202);
  const auto late = server.post(to(run, "messages"), message("still there?"));
  EXPECT_EQ(late.status, 409);
  EXPECT_THAT(late.body, HasSubstr("run_finished"));
  EXPECT_THAT(server.await_event(run, "run.finished"), HasSubstr(R"("stop_reason":"cancelled")"));
  EXPECT_THAT(server.types_of(run), HasSubstr("message.received"))
      << "what was acknowledged is in the journal";
  EXPECT_EQ(model.requests(), 1u);
}

}  // namespace
}  // namespace ratchet
