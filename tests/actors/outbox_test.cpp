#include "actors/outbox.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/limits.hpp"
#include "tests/actors/node_fixture.hpp"

namespace ratchet {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto notify_url = "https://notify.example/s3cret-path";

std::shared_ptr<const AgentVersion> told_agent() {
  auto agent = std::make_shared<AgentVersion>(*agent_with({}));
  agent->definition.interactive = true;
  agent->definition.approval.notify_url = notify_url;
  agent->definition.hooks = {{HookPoint::on_stop, "http://stop.example/", HookKind::logging}};
  return agent;
}

/// Answers with what the test says at the moment, and never where that is nothing.
class Receiver {
 public:
  FakeConnector::Rule rule() {
    return [this](const ConnectorCall&) -> std::optional<ConnectorOutcome> {
      const int status = status_;
      if (status == 0) return std::nullopt;
      return answered(status, "");
    };
  }

  void answers(int status) { status_ = status; }

 private:
  std::atomic<int> status_{200};
};

std::string header(const ConnectorCall& call, std::string_view name) {
  for (const auto& [key, value] : call.headers)
    if (key == name) return value;
  return "(absent)";
}

class OutboxTest : public ::testing::Test {
 protected:
  std::vector<ConnectorCall> wait_for_posts(std::size_t count) {
    while (test.connector.calls().size() < count)
      std::this_thread::yield();
    return test.connector.calls();
  }

  void wait_until_empty() {
    while (!test.journal.outbox(1)->empty())
      std::this_thread::yield();
  }

  FakeModelClient models{[](const ModelCall&) { return says("done"); }};
  Receiver receiver;
  TestNode test{models, told_agent(), receiver.rule()};
};

TEST_F(OutboxTest, PostsPausesAndTheEndSigned) {
  const auto secret = *WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  test.webhook_secrets = {secret};
  test.restart();
  const RunId run = test.start()->run_id;
  test.wait_for_row(run, [](const RunRow& row) { return row.status == RunStatus::paused; });
  wait_for_posts(1);
  ASSERT_TRUE(test.cancel(run));
  const auto posts = wait_for_posts(2);
  wait_until_empty();
  EXPECT_EQ(posts[0].url, notify_url);
  EXPECT_THAT(posts[0].body, HasSubstr(R"({"type":"run.paused",)"));
  EXPECT_EQ(posts[0].network_allow, std::vector<std::string>{"notify.example:443"});
  EXPECT_EQ(posts[1].url, "http://stop.example/");
  EXPECT_THAT(posts[1].body, HasSubstr(R"("stop_reason":"cancelled")"));
  for (const ConnectorCall& post : posts) {
    EXPECT_THAT(header(post, "webhook-id"), HasSubstr(to_string(run)));
    const Timestamp at{std::stoll(header(post, "webhook-timestamp")) * 1'000'000};
    EXPECT_EQ(header(post, "webhook-signature"),
              "v1," + secret.sign(header(post, "webhook-id"), at, post.body));
  }
}

TEST_F(OutboxTest, WhatWasBeingPostedWhenTheNodeDiedIsPostedAgain) {
  receiver.answers(0);
  const RunId run = test.start()->run_id;
  wait_for_posts(1);
  EXPECT_EQ(test.journal.outbox(9)->size(), 1u) << "it stays until it was taken";
  receiver.answers(204);
  test.restart();
  const auto posts = wait_for_posts(2);
  wait_until_empty();
  EXPECT_EQ(header(posts[0], "webhook-id"), header(posts[1], "webhook-id"));
  EXPECT_EQ(posts[0].body, posts[1].body);
  EXPECT_EQ(test.connector.calls().size(), 2u);
  EXPECT_THAT(posts[1].body, HasSubstr(to_string(run)));
}

TEST_F(OutboxTest, WhatIsNotTakenIsTriedAgainLater) {
  receiver.answers(500);
  test.start();
  wait_for_posts(1);
  while (test.journal.outbox(1)->front().attempts == 0)
    std::this_thread::yield();
  EXPECT_EQ(test.connector.calls().size(), 1u);
  EXPECT_GT(test.journal.outbox(1)->front().due_at, test.clock.now());
  receiver.answers(200);
  test.clock.advance_ms(10'000);
  wait_for_posts(2);
  wait_until_empty();
  test.node.reset();
  EXPECT_THAT(test.log, HasSubstr("notify.example:443"));
  EXPECT_THAT(test.log, HasSubstr("answered 500"));
  EXPECT_THAT(test.log, Not(HasSubstr("s3cret"))) << "a path may be a secret of its receiver";
}

TEST_F(OutboxTest, WhatCannotBeDeliveredForDaysIsGivenUpAndSaidSo) {
  receiver.answers(302);
  test.start();
  wait_for_posts(1);
  while (test.journal.outbox(1)->front().attempts == 0)
    std::this_thread::yield();
  test.clock.advance_ms(3ll * 86'400'000);
  wait_until_empty();
  test.node.reset();
  EXPECT_THAT(test.log, HasSubstr("is given up: answered 302"));
}

TEST_F(OutboxTest, AReceiverThatIsGoneIsLeftAlone) {
  receiver.answers(410);
  test.start();
  wait_for_posts(1);
  wait_until_empty();
}

TEST_F(OutboxTest, MoreThanFitAtOnceAreAllDelivered) {
  receiver.answers(0);
  test.concurrent_runs = 200;
  test.restart();
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(test.start());
  wait_for_posts(limits::webhooks_per_endpoint_max);
  while (test.journal.outbox(200)->size() < 100)
    std::this_thread::yield();
  EXPECT_EQ(test.connector.calls().size(), limits::webhooks_per_endpoint_max) << "no more than that at once";
  receiver.answers(200);
  test.restart();
  wait_until_empty();
  EXPECT_EQ(test.connector.calls().size(), limits::webhooks_per_endpoint_max + 100);
}

TEST(OutboxOfMany, ASlowReceiverHoldsUpNobodyElse) {
  FakeModelClient models([](const ModelCall&) { return says("done"); });
  TestNode test(models, told_agent(), [](const ConnectorCall& call) -> std::optional<ConnectorOutcome> {
    if (call.url == notify_url) return std::nullopt;  // it never answers
    return answered(200, "");
  });
  test.concurrent_runs = 200;
  test.restart();
  std::vector<RunId> runs;
  for (int i = 0; i < 100; ++i)
    runs.push_back(test.start()->run_id);
  for (const RunId& run : runs)
    test.wait_for_row(run, [](const RunRow& row) { return row.status == RunStatus::paused; });
  for (const RunId& run : runs)
    ASSERT_TRUE(test.cancel(run));
  const auto ends_told = [&] {
    const auto calls = test.connector.calls();
    return std::count_if(
        calls.begin(), calls.end(), [](const ConnectorCall& call) { return call.url != notify_url; });
  };
  while (ends_told() < 100)  // all of them stand behind a hundred that wait
    std::this_thread::yield();
}

}  // namespace
}  // namespace ratchet
