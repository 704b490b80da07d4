// A tree of runs in the real server: what a client sees of it, and how it is decided, cancelled and counted.

#include <gmock/gmock.h>

#include "tests/http/held_model.hpp"
#include "tests/http/program.hpp"

namespace ratchet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::HeldModel;
using testing::Reader;
using testing::RunningProgram;

constexpr const char* agents = R"(agent_id: boss
model: {name: m}
tools: [artifact_search]
subagents: {allow: [helper]}
---
agent_id: helper
model: {name: m}
tools: [notes_write, artifact_search]
policy: [{tool: notes_write, then: ask}]
)";

HeldModel::Reply spawns(const std::string& input = "check it") {
  return {"", "spawn_agent", R"({"agent_id":"helper","input":")" + input + R"("})"};
}

std::string path(const std::string& run, const std::string& rest = "") {
  return "/v1/runs/" + run + rest;
}

/// The types of all frames but previews, those of runs below in brackets.
std::string told(Reader& reader) {
  std::string all;
  while (const auto frame = reader.next()) {
    if (frame->event == "model.delta") continue;
    const bool below = !cli::Fields(frame->data).text("run_id").empty();
    EXPECT_EQ(frame->id.empty(), below) << frame->data;
    all += (all.empty() ? "" : " ") + (below ? "[" + frame->event + "]" : frame->event);
  }
  EXPECT_FALSE(reader.broken());
  return all;
}

TEST(Subagents, ARunBelowIsAskedAboutShownAndPaidForAtItsRoot) {
  HeldModel model({spawns(), {"", "notes_write", R"({"text":"x"})"}, {"It is so."}, {"Checked: it is so."}});
  RunningProgram server(model.provider(), agents);
  const auto root = server.start_run("boss");
  Reader plain(server.port(), path(root, "/events"));
  std::string asked;
  while (const auto frame = plain.next())
    if (frame->event == "approval.required") {
      asked = frame->data;
      break;
    }
  const auto child = cli::Fields(asked).text("run_id"), approval = cli::Fields(asked).text("approval_id");
  EXPECT_NE(child, "");
  EXPECT_THAT(server.get(path(root)).body, HasSubstr(approval));
  EXPECT_THAT(server.get("/v1/approvals?status=pending&run_id=" + root).body, HasSubstr(approval));
  EXPECT_EQ(server.of_run(child, "parent_run_id"), root);
  const auto decided = server.post(path(root, "/approvals/" + approval), R"({"decision":"approve"})");
  EXPECT_EQ(decided.status, 200) << decided.body;

  EXPECT_THAT(server.await_event(root, "subagent.finished"), HasSubstr("It is so."));
  Reader whole(server.port(), path(root, "/events?children=true"));
  EXPECT_EQ(told(whole),
            "run.started model.requested model.completed tool.requested tool.planned subagent.started "
            "[run.started] [model.requested] [model.completed] [tool.requested] [approval.required] "
            "[run.paused] [approval.decided] [run.resumed] [tool.result] [model.requested] "
            "[model.completed] [run.finished] "
            "subagent.finished tool.result model.requested model.completed run.finished");
  EXPECT_THAT(model.request(3), HasSubstr("It is so."));
  EXPECT_EQ(server.of_run(root, "result/text"), "Checked: it is so.");
  EXPECT_EQ(server.of_run(root, "step"), "2");
  EXPECT_EQ(server.of_run(root, "budgets_used/steps"), "4");
  EXPECT_EQ(server.of_run(root, "budgets_used/tokens"), "60");
  EXPECT_EQ(server.of_run(root, "usage/input_tokens"), "20") << "its own";
  EXPECT_THAT(server.get("/v1/usage").body, HasSubstr(R"("steps":4)")) << "each run once";
  EXPECT_THAT(server.get("/metrics").body,
              AllOf(HasSubstr(R"(ratchet_subagents_started_total{depth="1"} 1)"),
                    HasSubstr(R"(ratchet_subagents_finished_total{outcome="final_answer"} 1)")));
  EXPECT_THAT(server.get("/v1/runs?parent_run_id=" + root).body, HasSubstr(child));
}

TEST(Subagents, ACancelOfTheRootEndsTheRunBelowFirst) {
  HeldModel model({spawns(), {"Never said.", "", "", true}});
  RunningProgram server(model.provider(), agents);
  const auto root = server.start_run("boss");
  model.request(1);
  const auto child = cli::Fields(server.await_event(root, "subagent.started")).text("child_run_id");
  EXPECT_EQ(server.post(path(root, "/cancel"), "{}").status, 202);
  EXPECT_THAT(server.await_event(root, "run.finished", 1), HasSubstr(R"("stop_reason":"cancelled")"));
  EXPECT_EQ(server.of_run(child, "stop_reason"), "cancelled");
  EXPECT_EQ(server.of_run(root, "stop_reason"), "cancelled");
  EXPECT_EQ(model.requests(), 2u);
}

TEST(Subagents, ARunBelowReadsAnArtifactOfTheRunAbove) {
  const std::string scenario = R"(scenarios:
  - name: helper
    when: {input_contains: "PART of"}
    steps:
      - {call: [{tool: artifact_search, args: {artifact_id: "{{input_artifact}}", pattern: "needle"}}]}
      - {say: "Found {{last_result:needle [a-z]+}}"}
  - name: boss
    steps:
      - {call: [{tool: spawn_agent, args: {agent_id: helper, input: "PART of {{input_artifact}}"}}]}
      - {say: "Told: {{last_result:Found .*}}"}
)";
  RunningProgram server("{protocol: scripted, file: scenario.yaml}", agents, scenario);
  std::string hay;
  for (int i = 0; i < 3'000; ++i)
    hay += i == 2'000 ? "needle here " : "straw straw ";
  const auto root = server.start_run("boss", hay);
  server.await_event(root, "run.finished", 1);
  EXPECT_EQ(server.of_run(root, "result/text"), "Told: Found needle here");
}

}  // namespace
}  // namespace ratchet
