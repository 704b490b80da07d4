// Looking back: steps, requests, replies, proof, artifacts, usage; and the state of the server itself.

#include <fmt/format.h>

#include "tests/fakes/forged_journal.hpp"
#include "tests/http/api_fixture.hpp"

namespace ratchet {

namespace {

using testing::ApiTest;
using testing::asked;
using testing::replied;

class InspectionTest : public ApiTest {
 protected:
  void SetUp() override {
    register_agent();
    run = start_run();
    path = "/v1/runs/" + to_string(run);
  }

  /// A step with one call that failed once at the provider.
  void step_with_call(int number) {
    node.happen(run, {asked(1)});
    ModelFailed failed;
    failed.error = "overloaded";
    node.happen(run, {failed});
    node.happen(run, {asked(2)});
    auto reply = replied("");
    reply.attempt = 2;
    reply.stop_reason = ModelStop::tool_use;
    ReplyBlock block;
    block.type = ReplyBlockType::call;
    block.call_id = fmt::format("call_{}", number);
    block.tool = "todo_write";
    block.args = "{}";
    reply.content = {block};
    ToolRequested requested;
    requested.call_id = block.call_id;
    requested.tool = block.tool;
    requested.args = {"{}"};
    requested.verdict = {Decision::allow, true, "ok", "default: read-only", {}, {}};
    ToolPlanned planned;
    planned.call_id = block.call_id;
    node.happen(run, {reply, requested, planned});
    ToolResult result;
    result.call_id = block.call_id;
    result.content = text_content("fine");
    result.latency_ms = 3;
    node.happen(run, {result});
  }

  RunId run;
  std::string path;
};

TEST_F(InspectionTest, StepsAreGatheredFromEvents) {
  step_with_call(1);
  node.happen(run, {asked()});
  node.happen(run, {replied("done")});
  node.finish(run);
  const auto steps = get(path + "/steps");
  EXPECT_EQ(steps.text("items/0/step"), "1");
  EXPECT_EQ(steps.text("items/0/attempts"), "2");
  EXPECT_EQ(steps.text("items/0/model"), "sonnet");
  EXPECT_EQ(steps.text("items/0/provider"), "anthropic");
  EXPECT_EQ(steps.text("items/0/calls/0/tool"), "todo_write");
  EXPECT_EQ(steps.text("items/0/calls/0/verdict"), "allow");
  EXPECT_EQ(steps.text("items/0/calls/0/status"), "ok");
  EXPECT_EQ(steps.text("items/0/calls/0/latency_ms"), "3");
  EXPECT_EQ(steps.text("items/1/usage/output_tokens"), "7");
  EXPECT_EQ(steps.text("items/1/cost_usd"), "0.023100");
  EXPECT_EQ(steps.text("items/1/calls"), "[]");
  EXPECT_EQ(steps.text("next_cursor"), "null");
  const auto first = get(path + "/steps?limit=1");
  EXPECT_EQ(get(path + "/steps?limit=1&cursor=" + first.text("next_cursor")).text("items/0/step"), "2");
}

TEST_F(InspectionTest, AStepIsShownWithAllThatHappenedInIt) {
  step_with_call(1);
  node.happen(run, {asked()});
  const auto step = get(path + "/steps/1");
  EXPECT_EQ(step.text("step/calls/0/status"), "ok") << step.raw.body;
  EXPECT_EQ(step.text("events/0/type"), "model.requested");
  EXPECT_EQ(step.text("events/6/type"), "tool.result");
  EXPECT_EQ(step.text("workspace"), "null");
  EXPECT_EQ(step.raw.body.find("SECRET-THOUGHT"), std::string::npos);
  EXPECT_EQ(get(path + "/steps/3").code(), "unknown_step");
  EXPECT_EQ(get(path + "/steps/x").code(), "invalid_id");
}

TEST_F(InspectionTest, TheStateIsFoldedUpToAnyEvent) {
  step_with_call(1);
  node.finish(run);
  const auto before = get(path + "/state?seq=2");
  EXPECT_EQ(before.text("phase"), "calling") << before.raw.body;
  EXPECT_EQ(before.text("step"), "1");
  const auto now = get(path + "/state");
  EXPECT_EQ(now.text("phase"), "finished");
  EXPECT_EQ(now.text("seq"), get(path).text("last_seq"));
  EXPECT_EQ(get(path + "/state?seq=999").code(), "not_found");
  EXPECT_EQ(get(path + "/state?seq=0").code(), "invalid_request");
}

TEST_F(InspectionTest, AStepUnderWayHasNoReplyYet) {
  node.happen(run, {asked()});
  const auto steps = get(path + "/steps");
  EXPECT_EQ(steps.text("items/0/latency_ms"), "null");
  EXPECT_EQ(get(path + "/steps/1/response").code(), "not_found");
  EXPECT_EQ(get(path + "/steps/0/response").code(), "invalid_id");
  EXPECT_EQ(get(path + "/steps/9/request").code(), "not_found");
}

TEST_F(InspectionTest, AReplyIsShownWithoutReasoning) {
  node.happen(run, {asked()});
  node.happen(run, {replied("the answer")});
  const auto reply = get(path + "/steps/1/response");
  EXPECT_EQ(reply.text("content/0/text"), "the answer");
  EXPECT_EQ(reply.raw.body.find("SECRET-THOUGHT"), std::string::npos);
}

TEST_F(InspectionTest, TheRecordProvesItself) {
  step_with_call(1);
  node.finish(run);
  const auto reply = get(path + "/verify");
  EXPECT_EQ(reply.text("ok"), "true") << reply.raw.body;
  EXPECT_EQ(reply.text("events"), get(path).text("last_seq"));
  EXPECT_EQ(reply.text("head"), to_string(journal.row(run)->head));
}

class ForgedTest : public InspectionTest {
 protected:
  ForgedTest() : forged(journal) {}

  void SetUp() override {
    service = std::make_unique<Service>(parts(forged), options);
    serve_on(service->start().value());
    InspectionTest::SetUp();
  }

  ForgedJournal forged;
};

TEST_F(ForgedTest, AChangedEventBreaksTheChain) {
  MessageReceived order;
  order.content = text_content("pay 10");
  order.from = "test";
  node.happen(run, {order});
  node.finish(run);
  forged.forge = [](std::vector<Record>& records) {
    for (auto& record : records)
      for (auto& event : record.events)
        if (auto* message = std::get_if<MessageReceived>(&event.payload))
          message->content = text_content("pay 99");
  };
  const auto reply = get(path + "/verify");
  EXPECT_EQ(reply.text("ok"), "false");
  EXPECT_NE(reply.text("error"), "(absent)");
  forged.forge = [](std::vector<Record>& records) { records.erase(records.begin()); };
  EXPECT_EQ(get(path + "/verify").text("ok"), "false") << "a missing record";
}

TEST_F(ForgedTest, AServerThatCannotWriteIsNotReady) {
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/readyz").text("durability"), "fsync");
  forged.health_.writable = false;
  const auto full = get("/readyz");
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(full.text("status"), "not_ready");
  EXPECT_EQ(full.text("journal_writable"), "false");
  forged.health_.writable = true;
  node.has_recovered = false;
  EXPECT_EQ(get("/readyz").text("recovered"), "false");
  EXPECT_EQ(get("/healthz").status, 200) << "the process is up all the same";
}

TEST_F(InspectionTest, AnArtifactIsReadWholeOrInParts) {
  const auto artifact = "/v1/artifacts/" + to_string(node.keep(run, "0123456789"));
  const auto whole = get(artifact);
  EXPECT_EQ(whole.raw.body, "0123456789");
  EXPECT_EQ(whole.raw.header("content-type"), "application/octet-stream");
  EXPECT_EQ(whole.raw.header("accept-ranges"), "bytes");
  EXPECT_EQ(get(artifact + "?offset=3&limit=4").raw.body, "3456");
  EXPECT_EQ(get(artifact + "?offset=8").raw.body, "89");
  EXPECT_EQ(get(artifact + "?offset=10").raw.body, "");
  EXPECT_EQ(get(artifact + "?limit=2").raw.body, "01");
  const auto ranged = [&](std::string range) { return get(artifact, {{"Range", std::move(range)}}); };
  EXPECT_EQ(ranged("bytes=2-4").status, 206);
  EXPECT_EQ(ranged("bytes=2-4").raw.body, "234");
  EXPECT_EQ(ranged("bytes=2-4").raw.header("content-range"), "bytes 2-4/10");
  EXPECT_EQ(ranged("bytes=7-").raw.body, "789");
  EXPECT_EQ(ranged("bytes=-3").raw.body, "789");
  EXPECT_EQ(ranged("bytes=-30").raw.body, "0123456789");
  EXPECT_EQ(ranged("bytes=5-900").raw.body, "56789");
  EXPECT_EQ(ranged("bytes=10-").code(), "range_not_satisfiable");
  for (const char* ignored : {"bytes=4-2", "bytes=0-1,3-4", "lines=1-2", "bytes=x-", "bytes=-"})
    EXPECT_EQ(ranged(ignored).status, 200) << ignored;
  EXPECT_EQ(get("/v1/artifacts/art_01ARZ3NDEKTSV4RRFFQ69G5FAV").code(), "unknown_artifact");
}

TEST_F(InspectionTest, ALargeArtifactIsStreamed) {
  std::string bytes;
  for (int i = 0; bytes.size() < 3'000'000; ++i)
    bytes += std::to_string(i);
  const auto artifact = "/v1/artifacts/" + to_string(node.keep(run, bytes));
  const auto whole = get(artifact);
  EXPECT_EQ(whole.raw.header("content-length"), std::to_string(bytes.size()));
  EXPECT_TRUE(whole.raw.body == bytes);
  EXPECT_TRUE(get(artifact, {{"Range", "bytes=1000000-2999999"}}).raw.body ==
              bytes.substr(1'000'000, 2'000'000));
}

TEST_F(InspectionTest, UsageIsSummedByWhatIsAskedFor) {
  const auto other = start_run();
  for (const auto& each : {run, other}) {
    node.happen(each, {asked()});
    node.happen(each, {replied("x")});
  }
  const auto all = get("/v1/usage");
  EXPECT_EQ(all.text("items/0/runs"), "2");
  EXPECT_EQ(all.text("items/0/input_tokens"), "200");
  EXPECT_EQ(all.text("items/0/cost_usd"), "0.046200");
  const auto by = get("/v1/usage?group_by=agent,version,day,user,model,team");
  EXPECT_EQ(by.text("items/0/agent"), "support");
  EXPECT_EQ(by.text("items/0/version"), "1");
  EXPECT_EQ(by.text("items/0/user"), "alice");
  EXPECT_EQ(by.text("items/0/day"), "2025-11-24");
  EXPECT_EQ(get("/v1/usage?until=2020-01-01T00:00:00Z").text("items"), "[]");
  EXPECT_EQ(get("/v1/usage?group_by=colour").status, 400);
}

TEST_F(InspectionTest, MetricsCountRunsBelowByDepthAndEnd) {
  RunRow row = journal.row(run).value();
  row.depth = 1;
  Event started, finished;
  started.payload = SubagentStarted{};
  SubagentFinished end;
  end.stop_reason = StopReason::token_limit;
  finished.payload = end;
  for (const Event& event : {started, started, finished})
    metrics.on_commit(row, {&event, 1});
  const auto text = get("/metrics").raw.body;
  EXPECT_NE(text.find(R"(ratchet_subagents_started_total{depth="2"} 2)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(ratchet_subagents_finished_total{outcome="token_limit"} 1)"), std::string::npos)
      << text;
}

TEST_F(InspectionTest, MetricsNameNoTeamNoUserAndNoRun) {
  RunRow row = journal.row(run).value();
  Event event;
  event.payload = replied("x");
  metrics.on_commit(row, {&event, 1});
  const auto text = get("/metrics").raw.body;
  EXPECT_NE(text.find("ratchet_build_info{version="), std::string::npos) << text;
  EXPECT_NE(text.find(R"(ratchet_model_tokens_total{kind="cache_read",model="sonnet"} 40)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(ratchet_http_requests_total{method="POST",route="/v1/runs",status="202"} 1)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("ratchet_journal_writable 1"), std::string::npos) << text;
  EXPECT_EQ(text.find("alice"), std::string::npos);
  EXPECT_EQ(text.find("run_"), text.find("run_duration_seconds")) << "no run ids";
}

}  // namespace

}  // namespace ratchet
