// Replays through the whole node: what reaches the world, by every path that leads there, and what outlives a
// restart.

#include <gmock/gmock.h>

#include "actors/hook_judge.hpp"
#include "actors/timer.hpp"
#include "actors/tool_broker.hpp"
#include "runtime/audit/auditor.hpp"
#include "runtime/replay/version.hpp"
#include "tests/actors/node_fixture.hpp"

namespace ratchet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ToolManifest http_tool(const std::string& name, const std::string& effects, const std::string& more = {}) {
  auto manifest =
      parse_manifest(R"({"name":")" + name + R"(","description":"Does.","kind":"http","side_effects":")" +
                     effects + R"(",)" +
                     R"("input_schema":{"type":"object"},"network":{"allow":["world.example:443"]},)"
                     R"("http":{"url":"https://world.example/)" +
                     name + R"("})" + more + "}");
  EXPECT_TRUE(manifest) << manifest.error().text;
  return *manifest;
}

/// An agent with tools of every class, as it would be registered.
std::shared_ptr<const AgentVersion> agent(
    const std::string& more = R"("policy":[{"tool":"*","then":"allow"}])") {
  auto version = std::make_shared<AgentVersion>();
  auto definition = parse_agent(
      R"({"agent_id":"tester","model":{"name":"m"},"tools":["look","move","send","ask","artifact_read"],)" +
      more + "}");
  EXPECT_TRUE(definition) << definition.error().text;
  version->definition = *definition;
  version->version = 1;
  version->tools = {*find_builtin("artifact_read"),
                    http_tool("ask", "external", R"(,"approval":"always")"),
                    http_tool("look", "none"),
                    http_tool("move", "internal"),
                    http_tool("send", "external", R"(,"idempotency":"key")")};
  return version;
}

/// What was asked of the world: the last part of each address.
struct World {
  std::mutex mutex;
  std::vector<std::string> asked;

  FakeConnector::Rule rule() {
    return [this](const ConnectorCall& call) {
      const std::lock_guard lock(mutex);
      asked.push_back(call.url.substr(call.url.rfind('/') + 1));
      return answered(
          200, call.url.find("hook") == std::string::npos ? "done: " + call.body : R"({"verdict":"allow"})");
    };
  }

  std::vector<std::string> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(asked, {});
  }
};

/// Calls these tools, one a step, and is done.
FakeModelClient::Rule calls_of(std::vector<std::pair<std::string, std::string>> script) {
  return [script](const ModelCall& call) -> std::optional<ModelOutcome> {
    if (call.step > script.size()) return says("done");
    const auto& [tool, args] = script[call.step - 1];
    return calls(tool, args);
  };
}

void expect_sound(TestNode& test, const RunId& run) {
  Auditor auditor;
  const auto records = test.journal.records(run, 1, SIZE_MAX);
  for (const Record& record : *records)
    auditor.add(run, record);
  const RunRow row = *test.journal.row(run);
  auditor.expect(run, row.last_seq, row.head);
  for (const Violation& violation : auditor.findings())
    ADD_FAILURE() << to_string(violation);
}

TEST(ReplayNode, TakesNothingToTheWorldFromTheRecord) {
  World world;
  FakeModelClient models(calls_of({{"look", R"({"n":1})"}, {"move", "{}"}, {"send", R"({"to":"bob"})"}}));
  TestNode test(models, agent(), world.rule());
  const RunId run = test.start()->run_id;
  test.wait_for_end(run);
  ASSERT_THAT(world.take(), ElementsAre("look", "move", "send"));
  const std::size_t model_calls = models.started();

  const auto replay = test.replay(run, 3);
  ASSERT_TRUE(replay) << replay.error().text;
  const RunRow row = test.wait_for_end(replay->run_id);
  EXPECT_EQ(row.stop_reason, StopReason::final_answer);
  EXPECT_EQ(row.replay_of, run);
  EXPECT_EQ(row.step, 4u);
  EXPECT_EQ(models.started() - model_calls, 2u) << "only the live steps";
  EXPECT_THAT(world.take(), IsEmpty());
  EXPECT_EQ(row.usage.total(), 220);
  expect_sound(test, replay->run_id);
}

TEST(ReplayNode, AnExternalToolNeverRunsHoweverLiveTheReplay) {
  World world;
  std::atomic<bool> replaying = false;
  FakeModelClient models([&](const ModelCall& call) -> std::optional<ModelOutcome> {
    const std::string to = replaying ? "eve" : "bob";
    if (call.step == 1) return calls("look", R"({"n":")" + to + "\"}");
    if (call.step == 2) return calls("send", R"({"to":")" + to + "\"}");
    if (call.step == 3) return calls("ask", R"({"to":")" + to + "\"}");
    if (call.step == 4) return calls("move", R"({"to":")" + to + "\"}");
    return says("done");
  });
  TestNode test(models, agent(), world.rule());
  const RunId run = test.start()->run_id;
  test.wait_for_row(run, [](const RunRow& row) { return row.status == RunStatus::paused; });
  ASSERT_TRUE(test.cancel(run));
  test.wait_for_end(run);
  world.take();
  replaying = true;

  // With the most lenient policy that a patch can ask for.
  const std::string lenient = R"({"policy":[{"tool":"*","then":"allow"}]})";
  for (const bool environment : {false, true}) {
    test.replay_environment = environment;
    test.restart();
    const RunId replay = test.replay(run, 1, ReplayTools::live, lenient)->run_id;
    EXPECT_EQ(test.wait_for_end(replay).stop_reason, StopReason::final_answer) << "nobody was asked either";
    if (environment)
      EXPECT_THAT(world.take(), ElementsAre("look", "move"));
    else
      EXPECT_THAT(world.take(), ElementsAre("look"));
    const auto all = test.results(replay);
    EXPECT_EQ(all.at(1).status, ToolStatus::not_replayable);
    EXPECT_EQ(all.at(2).status, ToolStatus::not_replayable);
    EXPECT_EQ(all.at(3).status, environment ? ToolStatus::ok : ToolStatus::not_replayable);
    expect_sound(test, replay);
  }
}

TEST(ReplayNode, RemembersItsRecordAfterARestart) {
  World world;
  std::atomic<bool> hold = false;
  FakeModelClient models([&](const ModelCall& call) -> std::optional<ModelOutcome> {
    if (hold && call.step == 2) return std::nullopt;
    if (call.step <= 2) return calls("send", R"({"to":"bob"})");
    return says("done");
  });
  TestNode test(models, agent(), world.rule());
  const RunId run = test.start()->run_id;
  test.wait_for_end(run);
  ASSERT_EQ(world.take().size(), 2u);
  hold = true;
  const RunId replay = test.replay(run, 1, ReplayTools::live)->run_id;
  models.wait_for_calls(1);
  hold = false;
  test.restart();
  EXPECT_EQ(test.wait_for_end(replay).stop_reason, StopReason::final_answer);
  const auto all = test.results(replay);
  ASSERT_EQ(all.size(), 2u);
  for (const ToolResult& result : all)
    EXPECT_EQ(result.source, ResultSource::record);
  EXPECT_THAT(world.take(), IsEmpty());
  expect_sound(test, replay);
}

TEST(ReplayNode, ADirectOrderToExecuteIsRefusedToo) {
  World world;
  FakeConnector connector(world.rule());
  MemoryJournal journal;
  SystemClock clock;
  Timer timer(clock);
  Credentials credentials(connector, clock, std::nullopt);
  Sandboxes sandboxes({}, clock, timer, [](LogLevel, const std::string&) {});
  ToolBroker broker(journal, connector, clock, credentials, sandboxes, {});
  const auto version = agent();
  for (const char* name : {"send", "ask", "move"}) {
    action::StartCall call;
    call.effect = {"call_1_1", 1};
    call.tool = std::shared_ptr<const ToolManifest>(version, version->find_tool(name));
    call.args = "{}";
    std::optional<CallEnd> end;
    broker.start(
        {{}, {}, "t", "u", ReplayRule{ReplayTools::live, false}}, call, [&](CallEnd ended) { end = ended; });
    ASSERT_TRUE(end) << name;
    EXPECT_EQ(end->status, ToolStatus::not_replayable) << name;
  }
  EXPECT_THAT(world.take(), IsEmpty());
}

TEST(ReplayNode, OnlySecurityHooksAreAskedAndTheyAreTold) {
  World world;
  FakeModelClient models(calls_of({{"look", "{}"}}));
  TestNode test(
      models,
      agent(
          R"("policy":[{"tool":"*","then":"allow"}],"approval":{"notify_url":"https://world.example/notify"},)"
          R"("hooks":[{"at":"pre_tool","url":"https://world.example/hook-security"},)"
          R"({"at":"pre_tool","url":"https://world.example/hook-logging","kind":"logging"},)"
          R"({"at":"pre_model","url":"https://world.example/hook-model","kind":"logging"},)"
          R"({"at":"on_stop","url":"https://world.example/hook-stopped","kind":"logging"}])"),
      world.rule());
  HookJudge judge(test.connector, nullptr, nullptr);
  test.judge = &judge;
  test.reviewer = &judge;
  test.restart();
  const RunId run = test.start()->run_id;
  test.wait_for_end(run);
  while (test.journal.outbox(1)->size() > 0)
    std::this_thread::yield();
  ASSERT_THAT(world.take(), testing::Contains("hook-stopped"));
  const std::size_t before = test.connector.calls().size();
  const RunId replay = test.replay(run, 1)->run_id;
  test.wait_for_end(replay);
  test.node->drain(1'000);
  const auto calls = test.connector.calls();
  ASSERT_EQ(calls.size(), before + 1);
  EXPECT_THAT(calls.back().url, HasSubstr("hook-security"));
  EXPECT_THAT(calls.back().body, HasSubstr(R"("replay":true)"));
}

TEST(ReplayNode, ReadsTheArtifactsOfItsRecordAndOfNobodyElse) {
  World world;
  std::string wanted;
  FakeModelClient models([&](const ModelCall& call) -> std::optional<ModelOutcome> {
    if (call.step == 1 && !wanted.empty())
      return calls("artifact_read", R"({"artifact_id":")" + wanted + "\"}");
    return says("done");
  });
  TestNode test(models, agent(), world.rule());
  const std::string large(20'000, 'x');
  const auto kept = [&](const RunId& run) {
    const Record first = test.journal.records(run, 1, 1)->front();
    return to_string(std::get<RunStarted>(first.events.front().payload).input.front().artifact->id);
  };
  const RunId run = test.start({}, {}, large)->run_id, other = test.start({}, {}, large)->run_id;
  test.wait_for_end(run);
  test.wait_for_end(other);
  wanted = kept(run);
  const RunId replay = test.replay(run, 1)->run_id;
  test.wait_for_end(replay);
  EXPECT_EQ(test.results(replay).at(0).status, ToolStatus::ok);
  wanted = kept(other);
  const RunId again = test.replay(replay, 1)->run_id;
  test.wait_for_end(again);
  EXPECT_EQ(test.results(again).at(0).status, ToolStatus::error) << "it is another run's";
  wanted = kept(run);
  const RunId third = test.replay(again, 1)->run_id;
  test.wait_for_end(third);
  EXPECT_EQ(test.results(third).at(0).status, ToolStatus::ok) << "of the replay of a replay";
}

TEST(ReplayNode, ARepetitionIsTheSameReplay) {
  World world;
  FakeModelClient models(calls_of({}));
  TestNode test(models, agent(), world.rule());
  const RunId run = test.start()->run_id;
  test.wait_for_end(run);
  const auto first = test.replay(run, 1, ReplayTools::recorded, "{}", "key");
  const auto second = test.replay(run, 1, ReplayTools::recorded, "{}", "key");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->run_id, second->run_id);
  EXPECT_TRUE(second->existing);
  test.wait_for_end(first->run_id);
}

TEST(ReplayNode, WhatCannotBeReplayedIsSaidBeforeAnythingIsStored) {
  World world;
  FakeModelClient models(calls_of({}));
  TestNode test(models, agent(), world.rule());
  const RunId run = test.start()->run_id;
  test.wait_for_end(run);
  EXPECT_EQ(test.replay(run, 2).error().code, ErrorCode::unknown_step);
  EXPECT_EQ(test.replay(run, 1, ReplayTools::live, R"({"model":"nothing"})").error().code,
            ErrorCode::not_replayable);
  EXPECT_EQ(test.replay(run, 1, ReplayTools::live, R"({"tools":["nothing"]})").error().code,
            ErrorCode::invalid_definition);
  Stamp stamp{test.clock.now(), system_entropy()};
  EXPECT_EQ(test.replay(RunId::make(stamp), 1).error().code, ErrorCode::unknown_run);
  RunQuery query;
  query.team = "t";
  EXPECT_EQ(test.journal.list(query)->size(), 1u);
}

TEST(ReplayNode, AnImportedRunIsThereAndIsLeftAlone) {
  World world;
  FakeModelClient models(calls_of({{"send", R"({"to":"bob"})"}}));
  TestNode from(models, agent(), world.rule());
  const RunId run = from.start()->run_id;
  from.wait_for_end(run);

  TestNode to(models, agent(), world.rule());
  ImportRun command;
  command.team = "other";
  command.run_id = run;
  command.records = *from.journal.records(run, 1, SIZE_MAX);
  command.definition = imported_definition(run, *agent());
  const auto import = [&] {
    return to.ask<RunAccepted>(
        [&](Reply<RunAccepted> reply) { to.node->import_run(command, std::move(reply)); });
  };
  ASSERT_TRUE(import());
  EXPECT_EQ(import().error().code, ErrorCode::conflict) << "it is here";
  const RunRow row = *to.journal.row(run);
  EXPECT_EQ(row.team, "other");
  EXPECT_TRUE(row.imported_at);
  EXPECT_FALSE(row.active);
  EXPECT_EQ(to.journal.records(run, 1, SIZE_MAX)->size(), command.records.size());
  expect_sound(to, run);
  ASSERT_TRUE(version_of(to.catalog, to.journal, row));
  to.restart();
  EXPECT_EQ(to.journal.row(run)->lease, row.lease) << "nobody took it up";
  ReplayRun again;
  again.team = "other";
  again.run_id = run;
  const auto refused =
      to.ask<RunAccepted>([&](Reply<RunAccepted> reply) { to.node->replay_run(again, std::move(reply)); });
  EXPECT_EQ(refused.error().code, ErrorCode::not_replayable);
}

TEST(ReplayNode, GoesByItsPatchAlsoAfterARestart) {
  World world;
  std::atomic<bool> hold = true;
  std::vector<std::string> bodies;
  FakeModelClient models([&](const ModelCall& call) -> std::optional<ModelOutcome> {
    std::string body;
    for (const auto& piece : call.body)
      body += *piece;
    bodies.push_back(body);
    if (bodies.size() > 1 && hold) return std::nullopt;
    return says("done");
  });
  TestNode test(models, agent(), world.rule());
  const RunId run = test.start()->run_id;
  test.wait_for_end(run);
  const RunId replay =
      test.replay(run, 1, ReplayTools::recorded, R"({"system_prompt":"Speak like a pirate."})")->run_id;
  models.wait_for_calls(1);
  hold = false;
  test.restart();
  test.wait_for_end(replay);
  ASSERT_EQ(bodies.size(), 3u);
  EXPECT_THAT(bodies[1], HasSubstr("pirate"));
  EXPECT_THAT(bodies[2], HasSubstr("pirate"));
  expect_sound(test, replay);
}

}  // namespace
}  // namespace ratchet
