// Calls in sandboxes, through the node: who has which sandbox, when it is given back, and what a run sees of
// one that breaks.

#include "tests/fakes/sandboxes.hpp"

#include <gmock/gmock.h>

#include "runtime/limits.hpp"
#include "tests/actors/node_fixture.hpp"

namespace ratchet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SandboxEnd wrote(std::string out) {
  SandboxEnd end;
  end.kind = SandboxEnd::Kind::exited;
  end.out = std::move(out);
  return end;
}

SandboxEnd ended(SandboxEnd::Kind kind) {
  SandboxEnd end;
  end.kind = kind;
  return end;
}

ModelOutcome bash(std::string command) {
  return calls("bash", R"({"command":")" + command + "\"}");
}

/// A model that makes each of these calls in turn, then answers.
FakeModelClient::Rule script(std::vector<ModelOutcome> turns) {
  return [turns = std::move(turns)](const ModelCall& call) -> std::optional<ModelOutcome> {
    return call.step <= turns.size() ? turns[call.step - 1] : says("done");
  };
}

class InSandboxes : public ::testing::Test {
 protected:
  void start_node(FakeModelClient::Rule models, FakeSandboxHost::Rule commands, std::size_t warm = 0) {
    models_ = std::make_unique<FakeModelClient>(std::move(models));
    host = std::make_unique<FakeSandboxHost>(std::move(commands));
    test = std::make_unique<TestNode>(*models_, agent_with(builtin_manifests()));
    start_again(warm);
  }

  /// The node as it is after a crash, with these sandboxes.
  void start_again(std::size_t warm = 0) {
    test->sandboxes = {host.get(), &files, warm, warm};
    test->restart();
  }

  std::string why_unknown(const RunId& run) {
    const auto records = test->journal.records(run, 1, SIZE_MAX);
    for (const Record& record : *records)
      for (const Event& event : record.events)
        if (const auto* unknown = std::get_if<CallUnknown>(&event.payload)) return unknown->why;
    return {};
  }

  FakeWorkspaces files;
  std::unique_ptr<FakeSandboxHost> host;
  std::unique_ptr<FakeModelClient> models_;
  std::unique_ptr<TestNode> test;
};

TEST_F(InSandboxes, ARunKeepsItsSandboxAndItsFilesUntilItEnds) {
  start_node(script({bash("one"), bash("two")}),
             [](const SandboxLease&, const SandboxCommand& command) { return wrote(command.argv.back()); });
  const RunId run = test->start()->run_id;
  test->wait_for_end(run);
  host->wait_for_alive(0);
  ASSERT_EQ(host->ran.size(), 2u);
  EXPECT_EQ(host->ran[0].id, host->ran[1].id);
  EXPECT_EQ(host->ran[0].lease.run, run);
  EXPECT_THAT(files.opened, ElementsAre(std::nullopt)) << "a run begins without files";
  const auto all = test->results(run);
  EXPECT_EQ(all[0].content.front().text, "one");
  EXPECT_EQ(all[0].workspace, FakeWorkspaces::nth(1));
  EXPECT_EQ(all[1].workspace, FakeWorkspaces::nth(2));
  EXPECT_EQ(all[1].sandbox, "tier 3: fake");
  test->node.reset();
  EXPECT_EQ(files.open_now(), 0u);
}

TEST_F(InSandboxes, ALongInputIsAFileOfTheWorkspaceBeforeTheFirstCommand) {
  start_node(script({bash("one"), bash("two")}),
             [](const SandboxLease&, const SandboxCommand&) { return wrote("ok"); });
  const std::string log(100'000, 'x');
  const RunId run = test->start({}, {}, log)->run_id;
  test->wait_for_end(run);
  ASSERT_EQ(host->ran.size(), 3u);
  EXPECT_EQ(host->ran[0].command.argv[1], "write");
  EXPECT_THAT(host->ran[0].command.argv[2], testing::StartsWith("input/art_"));
  EXPECT_EQ(host->ran[0].command.input, log);
  EXPECT_EQ(host->ran[1].command.argv.back(), "one");
  EXPECT_EQ(host->ran[2].command.argv.back(), "two") << "once";
}

TEST_F(InSandboxes, AnInputThatCannotBePutThereFailsTheCall) {
  start_node(script({bash("one")}), [](const SandboxLease&, const SandboxCommand& command) {
    return command.argv[1] == "write" ? ended(SandboxEnd::Kind::out_of_memory) : wrote("ok");
  });
  const RunId run = test->start({}, {}, std::string(100'000, 'x'))->run_id;
  test->wait_for_end(run);
  EXPECT_EQ(test->results(run)[0].status, ToolStatus::error);
  EXPECT_THAT(test->results(run)[0].content.front().text, HasSubstr("could not be put into its workspace"));
}

TEST_F(InSandboxes, AfterACrashACallStartsFromTheSnapshotBeforeIt) {
  std::atomic<bool> hang = false;
  start_node(script({bash("one"), bash("two")}),
             [&](const SandboxLease&, const SandboxCommand& command) -> std::optional<SandboxEnd> {
               if (hang) return std::nullopt;
               hang = command.argv.back() == "one";
               return wrote("ok");
             });
  const RunId run = test->start()->run_id;
  host->wait_for_runs(2);
  hang = false;
  test->restart();
  test->wait_for_end(run);
  EXPECT_THAT(files.opened, ElementsAre(std::nullopt, FakeWorkspaces::nth(1)));
  EXPECT_EQ(host->ran.size(), 3u);
}

TEST_F(InSandboxes, OneThatIsSpoiltIsReplacedAndTheFilesStay) {
  using Kind = SandboxEnd::Kind;
  for (const auto kind : {Kind::timed_out, Kind::out_of_memory, Kind::too_much_output, Kind::lost}) {
    SCOPED_TRACE(static_cast<int>(kind));
    files.opened.clear();
    start_node(script({bash("one"), bash("two")}), [&](const SandboxLease&, const SandboxCommand& command) {
      return command.argv.back() == "one" ? ended(kind) : wrote("ok");
    });
    const RunId run = test->start()->run_id;
    test->wait_for_end(run);
    ASSERT_EQ(host->ran.size(), 2u);
    EXPECT_NE(host->ran[0].id, host->ran[1].id);
    EXPECT_EQ(files.opened.size(), 1u) << "what the command wrote until then is kept";
    EXPECT_NE(test->results(run)[0].status, ToolStatus::ok);
    test->node.reset();
  }
}

TEST_F(InSandboxes, FilesThatCannotBeKeptAreThoseOfBefore) {
  start_node(script({bash("one"), bash("two")}),
             [](const SandboxLease&, const SandboxCommand&) { return wrote("ok"); });
  files.refusals = 1;
  const RunId run = test->start()->run_id;
  test->wait_for_end(run);
  const auto all = test->results(run);
  EXPECT_EQ(all[0].status, ToolStatus::error);
  EXPECT_THAT(all[0].content.front().text, HasSubstr("big.bin is too large"));
  EXPECT_FALSE(all[0].workspace);
  EXPECT_EQ(all[1].status, ToolStatus::ok);
  EXPECT_THAT(files.opened, ElementsAre(std::nullopt, std::nullopt))
      << "the next call starts from there again";
}

TEST_F(InSandboxes, ACancelEndsTheCommandBeforeTheRunIsOver) {
  start_node(script({bash("one")}),
             [](const SandboxLease&, const SandboxCommand&) { return std::optional<SandboxEnd>(); });
  const RunId run = test->start()->run_id;
  host->wait_for_runs(1);
  ASSERT_TRUE(test->cancel(run));
  test->wait_for_end(run);
  EXPECT_EQ(host->alive(), 0u);
  EXPECT_EQ(test->results(run)[0].status, ToolStatus::cancelled);
}

TEST_F(InSandboxes, WhatACommandWritesIsSeenWhileItRuns) {
  start_node(script({bash("one")}),
             [](const SandboxLease&, const SandboxCommand&) { return std::optional<SandboxEnd>(); });
  const RunId run = test->start()->run_id;
  host->wait_for_runs(1);
  const auto listener = std::make_shared<Listener>();
  test->node->feed().subscribe(run, listener);
  host->write("half a ch\xC3");
  listener->wait_for_text("half a ch");
  host->write("\xA9, and the rest");
  listener->wait_for_text("half a ch\xC3\xA9, and the rest");
  test->node->feed().unsubscribe(run, listener.get());
  ASSERT_TRUE(test->cancel(run));
  test->wait_for_end(run);
}

TEST_F(InSandboxes, ATierThatIsMissingRefusesItsCallsAndFallsBackToNone) {
  models_ = std::make_unique<FakeModelClient>(script({bash("one")}));
  host = std::make_unique<FakeSandboxHost>(
      [](const SandboxLease&, const SandboxCommand&) { return wrote("ok"); });
  host->missing = {3};
  test = std::make_unique<TestNode>(*models_, agent_with(builtin_manifests()));
  start_again(2);
  const RunId run = test->start()->run_id;
  test->wait_for_end(run);
  EXPECT_EQ(test->results(run)[0].status, ToolStatus::error);
  EXPECT_THAT(test->results(run)[0].content.front().text,
              HasSubstr("tier 3 is not available on this server"));
  EXPECT_TRUE(host->ran.empty());
}

TEST_F(InSandboxes, AServerWithoutSandboxesSaysSo) {
  models_ = std::make_unique<FakeModelClient>(script({bash("one")}));
  test = std::make_unique<TestNode>(*models_, agent_with(builtin_manifests()));
  const RunId run = test->start()->run_id;
  test->wait_for_end(run);
  EXPECT_THAT(test->results(run)[0].content.front().text, HasSubstr("this server has no sandboxes"));
}

TEST_F(InSandboxes, AMachineThatSaysNoFailsTheCallAndNotTheRun) {
  start_node(script({bash("one"), bash("two")}),
             [](const SandboxLease&, const SandboxCommand&) { return wrote("ok"); });
  host->creations_to_fail = 1;
  const RunId run = test->start()->run_id;
  test->wait_for_end(run);
  EXPECT_THAT(test->results(run)[0].content.front().text, HasSubstr("the runtime said no"));
  EXPECT_EQ(test->results(run)[1].status, ToolStatus::ok);
}

TEST_F(InSandboxes, OneThatDiedWhileItWasWarmIsReplaced) {
  start_node(script({bash("one")}), [](const SandboxLease&, const SandboxCommand&) { return wrote("ok"); });
  host->leases_to_fail = 2;
  const RunId run = test->start()->run_id;
  test->wait_for_end(run);
  EXPECT_EQ(test->results(run)[0].status, ToolStatus::ok);
  host->wait([&] { return host->destroyed >= 2; });
}

TEST_F(InSandboxes, ThePoolIsFilledAheadAndEndsWithTheNode) {
  start_node(
      script({bash("one")}), [](const SandboxLease&, const SandboxCommand&) { return wrote("ok"); }, 2);
  EXPECT_EQ(host->alive(), 0u) << "a tier that nobody uses costs nothing";
  const RunId run = test->start()->run_id;
  test->wait_for_end(run);
  host->wait_for_alive(2);
  test->node.reset();
  EXPECT_EQ(host->alive(), 0u);
}

TEST_F(InSandboxes, WhatLiesIdleIsGivenBackWhenOthersWait) {
  // Each run calls once and then waits for its model, with its sandbox.
  start_node(
      [](const ModelCall& call) -> std::optional<ModelOutcome> {
        return call.step == 1 ? std::optional(bash("one")) : std::nullopt;
      },
      [](const SandboxLease&, const SandboxCommand&) { return wrote("ok"); });
  test->concurrent_runs = 10'000;
  start_again();
  for (std::size_t i = 0; i <= limits::sandboxes_max; ++i)
    ASSERT_TRUE(test->start());
  host->wait_for_runs(limits::sandboxes_max + 1);
  EXPECT_LE(host->alive(), limits::sandboxes_max);
}

TEST_F(InSandboxes, FilesOfACallInDoubtAreNotKept) {
  auto deploy = parse_manifest(
      R"({"name":"deploy","description":"Deploys.","kind":"command","side_effects":"internal",)"
      R"("filesystem":"workspace","input_schema":{"type":"object"},"command":{"argv":["/bin/deploy"]}})");
  ASSERT_TRUE(deploy) << deploy.error().text;
  models_ = std::make_unique<FakeModelClient>(script({calls("deploy", "{}")}));
  host = std::make_unique<FakeSandboxHost>([](const SandboxLease&, const SandboxCommand&) {
    SandboxEnd end = ended(SandboxEnd::Kind::timed_out);
    end.evidence = {1, {"evil.example:443"}, 2, {"bpf"}};
    return end;
  });
  test = std::make_unique<TestNode>(*models_, agent_with({*deploy}));
  start_again();
  const RunId run = test->start()->run_id;
  test->wait_for_row(run, [](const RunRow& row) { return row.status == RunStatus::paused; });
  host->wait_for_alive(0);
  EXPECT_EQ(files.taken, 0);
  EXPECT_THAT(why_unknown(run),
              HasSubstr("held back 1 connections (evil.example:443) and 2 system calls (bpf)"));
}

TEST_F(InSandboxes, ARunThatWaitsForAPersonHoldsNothing) {
  auto version = std::make_shared<AgentVersion>(*agent_with(builtin_manifests()));
  version->definition.policy = {{"wait", Decision::ask}, {"*", Decision::allow}};
  models_ = std::make_unique<FakeModelClient>(script({bash("one"), calls("wait", R"({"seconds":1})")}));
  host = std::make_unique<FakeSandboxHost>(
      [](const SandboxLease&, const SandboxCommand&) { return wrote("ok"); });
  test = std::make_unique<TestNode>(*models_, version);
  start_again();
  const RunId run = test->start()->run_id;
  test->wait_for_row(run, [](const RunRow& row) { return row.status == RunStatus::paused; });
  host->wait_for_alive(0);
}

}  // namespace
}  // namespace ratchet
