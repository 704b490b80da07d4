#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/actors/node_fixture.hpp"

namespace ratchet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::size_t count(const std::vector<std::string>& types, std::string_view type) {
  return static_cast<std::size_t>(std::count(types.begin(), types.end(), type));
}

TEST(Node, RunsAnAgentToItsAnswer) {
  FakeModelClient models([](const ModelCall&) { return says("done"); });
  TestNode test(models);
  const auto run = test.start();
  ASSERT_TRUE(run.has_value());
  const RunRow row = test.wait_for_end(run->run_id);
  EXPECT_EQ(row.stop_reason, StopReason::final_answer);
  EXPECT_THAT(test.types(run->run_id),
              ElementsAre("run.started", "model.requested", "model.completed", "run.finished"));
}

TEST(Node, AnswersTheSameKeyWithTheSameRunAndAnotherBodyWithAConflict) {
  FakeModelClient models([](const ModelCall&) { return says("done"); });
  TestNode test(models);
  const auto first = test.start("key", sha256("a"));
  const auto again = test.start("key", sha256("a"));
  const auto other = test.start("key", sha256("b"));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(first->run_id, again->run_id);
  EXPECT_TRUE(again->existing);
  EXPECT_EQ(other.error().code, ErrorCode::idempotency_conflict);
}

TEST(Node, RefusesRunsPastItsLimitAndTakesThemAgainWhenThereIsRoom) {
  FakeModelClient models;
  TestNode test(models);
  test.concurrent_runs = 1;
  test.restart();
  const auto first = test.start("first", sha256("a"));
  EXPECT_EQ(test.start().error().code, ErrorCode::too_many_runs);
  EXPECT_EQ(test.start("first", sha256("a"))->run_id, first->run_id)
      << "a repetition is answered before the limit";
  models.answer(says("done"));
  test.wait_for_end(first->run_id);
  while (test.node->stats().active_runs > 0)
    std::this_thread::yield();
  EXPECT_TRUE(test.start().has_value());
}

TEST(Node, CancelsAModelCallUnderWayAndEndsTheRun) {
  FakeModelClient models;
  TestNode test(models);
  const RunId run = test.start()->run_id;
  models.wait_for_calls(1);
  const auto first = test.cancel(run);
  ASSERT_TRUE(first.has_value());
  models.wait_for_cancel();
  EXPECT_EQ(test.wait_for_end(run).stop_reason, StopReason::cancelled);
  const auto again = test.cancel(run);
  ASSERT_TRUE(again.has_value()) << again.error().text;
  EXPECT_EQ(first->seq, again->seq);
  EXPECT_EQ(test.message(run, "too late").error().code, ErrorCode::run_finished);
}

TEST(Node, HidesARunFromAnotherTeam) {
  FakeModelClient models;
  TestNode test(models);
  const RunId run = test.start()->run_id;
  EXPECT_EQ(test.cancel(run, "other").error().code, ErrorCode::unknown_run);
  EXPECT_EQ(test.cancel(RunId{}).error().code, ErrorCode::unknown_run);
}

TEST(Node, GoesOnAfterACrashWithTheCallThatWasUnderWay) {
  FakeModelClient models;
  TestNode test(models);
  const RunId run = test.start()->run_id;
  models.wait_for_calls(1);
  test.restart();
  models.answer(says("done"));
  const RunRow row = test.wait_for_end(run);
  EXPECT_EQ(row.stop_reason, StopReason::final_answer);
  EXPECT_EQ(count(test.types(run), "model.failed"), 1u) << "the lost attempt has its outcome";
  EXPECT_GT(row.lease, 1u);
}

TEST(Node, KeepsNothingOfARunThatWaitsAndWakesItInTime) {
  FakeModelClient models([](const ModelCall& call) {
    return call.step == 1 ? calls("wait", R"({"seconds":3600})") : says("done");
  });
  TestNode test(models, agent_with({*find_builtin("wait")}));
  const RunId run = test.start()->run_id;
  test.wait_for_row(run, [](const RunRow& row) { return !row.active; });
  while (test.node->stats().active_runs > 0)
    std::this_thread::yield();
  test.clock.advance_ms(3'601'000);
  test.restart();  // nobody but the journal remembers that it waits
  EXPECT_EQ(test.wait_for_end(run).stop_reason, StopReason::time_limit) << "an hour is past its ten minutes";
}

TEST(Node, DeliversAMessageToARunThatWaits) {
  FakeModelClient models([](const ModelCall& call) {
    return call.step == 1 ? calls("wait", R"({"seconds":5})") : says("done");
  });
  TestNode test(models, agent_with({*find_builtin("wait")}));
  const RunId run = test.start()->run_id;
  test.wait_for_row(run, [](const RunRow& row) { return !row.active; });
  const auto first = test.message(run, "hurry", "k");
  const auto again = test.message(run, "hurry", "k");
  ASSERT_TRUE(first.has_value()) << first.error().text;
  ASSERT_TRUE(again.has_value()) << again.error().text;
  EXPECT_EQ(first->seq, again->seq);
  test.clock.advance_ms(6'000);
  test.wait_for_end(run);
  EXPECT_EQ(count(test.types(run), "message.received"), 1u);
}

TEST(Node, ReplacesAnActorThatFailsAndPausesTheRunAfterThreeTimes) {
  FakeModelClient models;
  TestNode test(models);
  const RunId run = test.start()->run_id;
  const RunId healthy = test.start()->run_id;
  models.wait_for_calls(2);
  test.catalog.throws = true;
  test.restart();
  const auto paused = [](const RunRow& row) { return row.status == RunStatus::paused; };
  EXPECT_THAT(test.wait_for_row(run, paused).pause_reasons, ElementsAre(PauseReason::operator_));
  test.wait_for_row(healthy, paused);
  test.catalog.throws = false;
  ASSERT_TRUE(test.resume(run).has_value());
  models.answer(says("done"));
  EXPECT_EQ(test.wait_for_end(run).stop_reason, StopReason::final_answer);
}

TEST(Node, DrainsWithoutAnnouncingAnotherModelCall) {
  FakeModelClient models;
  TestNode test(models, agent_with({*find_builtin("notes_read")}));
  const RunId run = test.start()->run_id;
  models.wait_for_calls(1);
  auto drained = std::async(std::launch::async, [&] { test.node->drain(60'000); });
  while (test.cancel(RunId{}).error().code != ErrorCode::draining)
    std::this_thread::yield();
  models.answer(calls("notes_read", "{}"));
  drained.get();
  EXPECT_EQ(count(test.types(run), "model.requested"), 1u);
  EXPECT_EQ(count(test.types(run), "tool.result"), 1u);
  test.restart();
  models.answer(says("done"));
  EXPECT_EQ(test.wait_for_end(run).stop_reason, StopReason::final_answer);
}

TEST(Node, ShowsALateListenerWhatWasAlreadySaid) {
  FakeModelClient models;
  TestNode test(models);
  const RunId run = test.start()->run_id;
  models.say(0, "Hello ");
  models.say(6, "there");
  const auto listener = test.listen(run);
  listener->wait_for_text("Hello there");
  models.answer(says("Hello there"));
  listener->wait_for("run.finished");
  test.node->feed().unsubscribe(run, listener.get());
}

}  // namespace
}  // namespace ratchet
