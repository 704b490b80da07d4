// SIGKILL around approvals: while calls of every class wait for a person in one batch, between the decisions,
// while one is on its way, and while the server is down at the time of an expiry. What the service saw is
// what was approved, edited or not, and saw it once.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "runtime/hash.hpp"
#include "runtime/time.hpp"
#include "tests/crash/world.hpp"

namespace ratchet::crashing {
namespace {

constexpr const char* scenario = R"(steps:
  - say: Everything at once.
    latency_ms: 10
    chunks: 2
    call:
      - {tool: notes_write, args: {text: "begun"}}
      - {tool: keyed, args: {n: 1}}
      - {tool: checked, args: {n: 2}}
      - {tool: lookup, args: {n: 3}}
      - {tool: ask_keyed, args: {n: 4}}
      - {tool: ask_checked, args: {n: 5}}
      - {tool: ask_once, args: {n: 6}}
  - latency_ms: 10
    call:
      - {tool: ask_keyed, args: {n: 7}}
      - {tool: ask_lookup, args: {n: 8}}
  - say: All is done.
    latency_ms: 10
)";

constexpr const char* forgetful = "/act/forgetful";

std::string args_of(std::int64_t n) {
  return fmt::format(R"({{"n":{}}})", n);
}

/// What the person says to a call, told by its `n`. The numbers that they put there are used nowhere else.
struct Word {
  bool approve = true;
  std::optional<std::int64_t> edited;

  std::string body() const {
    if (!approve) return R"({"decision":"reject","comment":"no"})";
    if (!edited) return R"({"decision":"approve"})";
    return fmt::format(R"({{"decision":"approve","edited_args":{}}})", args_of(*edited));
  }
};

class ApprovalKill : public World {
 protected:
  ApprovalKill() : World(scenario) {}

  void SetUp() override {
    server_.start();
    for (const bool asks : {false, true}) {
      const std::string prefix = asks ? "ask_" : "";
      add_tool({.name = prefix + "keyed", .idempotency = "key", .asks = asks});
      add_tool({.name = prefix + "checked", .idempotency = "status_check", .asks = asks});
      add_tool({.name = prefix + "lookup", .side_effects = "none", .asks = asks});
    }
    add_tool({.name = "ask_once", .path = forgetful, .asks = true});
    const char* tools =
        R"("notes_write","keyed","checked","lookup","ask_keyed","ask_checked","ask_lookup","ask_once")";
    add_agent("worker", tools);
    add_agent("hasty", tools, R"(,"approval":{"expires_seconds":1})");
  }

  /// Each run has numbers of its own for what is edited, so that the service can tell the runs apart.
  std::string start(const std::string& agent) {
    const std::string id = start_run(agent);
    runs_[id] = 1'000 * static_cast<std::int64_t>(runs_.size() + 1);
    return id;
  }

  Word word(const std::string& id, std::int64_t n) {
    switch (n) {
      case 4:
      case 6:
      case 8:
        return {true, runs_[id] + n};
      case 5:
        return {true, std::nullopt};
      default:
        return {false, std::nullopt};
    }
  }

  std::string path(const std::string& id, const boost::json::value& approval) {
    return fmt::format("/v1/runs/{}/approvals/{}", id, text_at(approval, "approval_id"));
  }

  Answer decide(const std::string& id, const boost::json::value& approval) {
    return server_.post(path(id, approval), word(id, approval.at("args").at("n").as_int64()).body());
  }

  void resolve_by_the_service(const std::string& id, const boost::json::value& now) {
    const auto& paused = now.at("paused");
    if (paused.is_object())
      resolve(id, paused, [&](const std::string&) { return once_count(id) > 0; });  // only ask_once asks
  }

  /// Takes the run to its end and decides what it asks, one after the other. The server is killed as soon as
  /// event `kill_after` is there.
  void drive(const std::string& id, std::optional<std::uint64_t> kill_after = std::nullopt) {
    for (;;) {
      const auto now = run(id);
      const auto last_seq = static_cast<std::uint64_t>(now.at("last_seq").as_int64());
      const std::string status = text_at(now, "status");
      if (kill_after && last_seq >= *kill_after) {
        kill_after.reset();
        restart();
      } else if (status == "finished") {
        return;
      } else if (status != "paused") {
        server_.follow(id, last_seq + 1);
      } else if (const auto& pending = now.at("pending_approvals").as_array(); !pending.empty()) {
        const Answer answer = decide(id, pending.front());
        ASSERT_EQ(answer.status, 200) << answer.body;
      } else {
        resolve_by_the_service(id, now);
      }
    }
  }

  /// How often the run's call without a key was carried out, as it was approved.
  int once_count(const std::string& id) {
    const auto all = effects_.requests();
    return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const auto& request) {
      return request.path == forgetful && request.body == args_of(runs_[id] + 6);
    }));
  }

  /// From what the service saw: each effect of the run once, and with the arguments that its journal says
  /// were approved or needed no approval.
  void expect_what_was_approved(const std::string& id) {
    std::map<std::string, std::string> allowed;  // hashes by call
    std::map<std::string, std::string> keys;
    for (const auto& event : events(id)) {
      const std::string type = text_at(event, "type"), call = text_at(event, "call_id");
      if (type == "tool.requested" && text_at(event.at("verdict"), "decision") == "allow")
        allowed[call] = text_at(event, "args_hash");
      if (type == "approval.decided" && text_at(event, "decision") == "approve")
        allowed[call] = text_at(event, "effective_args_hash");
      if (type != "tool.planned") continue;
      EXPECT_EQ(text_at(event, "args_hash"), allowed[call]) << id << " " << call;
      keys[text_at(event, "idempotency_key")] = call;
    }
    std::map<std::string, int> acted;
    for (const auto& request : effects_.requests()) {
      if (!request.key.starts_with(id)) continue;
      EXPECT_EQ(to_string(sha256(request.body)), allowed[keys[request.key]]) << request.key;
      if (request.path != forgetful) acted[request.body] += request.acted ? 1 : 0;
    }
    const std::map<std::string, int> expected{
        {args_of(1), 1}, {args_of(2), 1}, {args_of(runs_[id] + 4), 1}, {args_of(5), 1}};
    EXPECT_EQ(acted, expected) << id;
    EXPECT_EQ(once_count(id), 1) << id;
  }

  /// What was edited or rejected never left as the model had made it.
  void expect_nothing_unapproved() {
    for (const auto& request : effects_.requests())
      for (const std::int64_t n : {4, 6, 7, 8})
        EXPECT_NE(request.body, args_of(n)) << request.path << " " << request.key;
  }

  std::map<std::string, std::int64_t> runs_;
};

TEST_F(ApprovalKill, AtEveryEventBoundaryRunsWhatWasApprovedOnce) {
  const std::string whole = start("worker");
  drive(whole);
  const std::string expected = outcome(whole);
  const auto last_seq = static_cast<std::uint64_t>(run(whole).at("last_seq").as_int64());
  ASSERT_GT(last_seq, 40u) << expected;
  for (std::uint64_t seq = 1; seq < last_seq && !HasFailure(); ++seq) {
    SCOPED_TRACE(fmt::format("killed after event {}", seq));
    const std::string id = start("worker");
    drive(id, seq);
    EXPECT_EQ(outcome(id), expected);
    expect_what_was_approved(id);
  }
  expect_what_was_approved(whole);
  expect_nothing_unapproved();
  expect_whole_journal();
}

TEST_F(ApprovalKill, ADecisionThatWasOnItsWayIsTakenOnceAndStands) {
  const char* given = std::getenv("RATCHET_CRASH_SEED");
  const unsigned seed = given ? static_cast<unsigned>(std::atoi(given)) : std::random_device{}();
  SCOPED_TRACE(fmt::format("RATCHET_CRASH_SEED={}", seed));
  std::mt19937 random(seed);
  const std::string whole = start("worker");
  drive(whole);
  for (int round = 0; round < 8 && !HasFailure(); ++round) {
    const std::string id = start("worker");
    for (;;) {
      const auto now = run(id);
      const auto& pending = now.at("pending_approvals").as_array();
      if (text_at(now, "status") == "finished") break;
      if (pending.empty()) {
        resolve_by_the_service(id, now);
        server_.follow(id, UINT64_MAX, static_cast<long>(1 + random() % 60));
        if (random() % 4 == 0) restart();
        continue;
      }
      // In any order, also before the rest of the batch is settled, and perhaps not heard.
      const auto approval = pending[random() % pending.size()];
      auto answer = std::async(std::launch::async, [&] { return decide(id, approval); });
      if (random() % 2 == 0) server_.follow(id, UINT64_MAX, 1 + static_cast<long>(random() % 6));
      server_.kill();
      const Answer first = answer.get();
      EXPECT_TRUE(first.status == 200 || first.status == 0) << first.body;
      server_.start();
      // Whether it had been heard or not: the same is taken, and the opposite is not.
      const Answer again = decide(id, approval);
      EXPECT_EQ(again.status, 200) << again.body;
      const bool approved = text_at(parsed(again).at("approval"), "decision") == "approve";
      const Answer opposite = server_.post(
          path(id, approval), approved ? R"({"decision":"reject"})" : R"({"decision":"approve"})");
      EXPECT_EQ(opposite.status, 409) << opposite.body;
    }
    EXPECT_EQ(outcome(id), outcome(whole));
    expect_what_was_approved(id);
  }
  expect_nothing_unapproved();
  expect_whole_journal();
}

TEST_F(ApprovalKill, WhatExpiresWhileTheServerIsDownIsRejectedAtItsNextStart) {
  const std::string id = start("hasty");
  boost::json::value now = run(id);
  for (; text_at(now, "status") != "paused"; now = run(id))
    server_.follow(id, static_cast<std::uint64_t>(now.at("last_seq").as_int64()) + 1);
  const auto first = now.at("pending_approvals").as_array();
  ASSERT_EQ(first.size(), 3u);
  server_.kill();
  // The one time that has to pass in truth: it is the service's own clock that has to reach the expiry.
  for (const auto& approval : first) {
    const auto at = parse_timestamp(text_at(approval, "expires_at"));
    ASSERT_TRUE(at.has_value());
    std::this_thread::sleep_until(
        std::chrono::system_clock::time_point(std::chrono::microseconds(at->us + 1)));
  }
  server_.start();
  while (text_at(now, "status") != "finished") {  // the approvals of the second batch expire while it runs
    server_.follow(id, static_cast<std::uint64_t>(now.at("last_seq").as_int64()) + 1);
    now = run(id);
  }
  int expired = 0;
  for (const auto& event : events(id)) {
    if (text_at(event, "type") == "approval.decided") {
      EXPECT_EQ(text_at(event, "reason"), "expired");
      EXPECT_EQ(text_at(event, "decision"), "reject");
    }
    expired += text_at(event, "type") == "tool.result" && text_at(event, "status") == "expired" ? 1 : 0;
  }
  EXPECT_EQ(expired, 5);
  EXPECT_EQ(text_at(now, "stop_reason"), "final_answer");
  for (const auto& approval : first) {
    const Answer late = decide(id, approval);
    EXPECT_EQ(late.status, 409);
    EXPECT_EQ(text_at(parsed(late), "code"), "expired");
  }
  for (const auto& request : effects_.requests())
    EXPECT_TRUE(request.body == args_of(1) || request.body == args_of(2) || request.body == args_of(3))
        << request.path << " " << request.body;
  expect_whole_journal();
}

}  // namespace
}  // namespace ratchet::crashing
