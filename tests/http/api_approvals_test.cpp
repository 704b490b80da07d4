// Approvals over the API. What a decision does to a run is the core's business; here it is what is asked,
// shown and refused.

#include <fmt/format.h>

#include "runtime/hash.hpp"
#include "tests/http/api_fixture.hpp"

namespace ratchet {
namespace {

using testing::ApiTest;

class ApprovalsTest : public ApiTest {
 protected:
  void SetUp() override {
    start();
    register_agent();
  }

  /// A run that asks about one call with these arguments.
  RunId asking(std::uint8_t n, std::string args = R"({"amount":5})") {
    const RunId run = start_run();
    ask_person(run, n, std::move(args));
    return run;
  }

  std::string path(const RunId& run, std::uint8_t n) {
    return fmt::format("/v1/runs/{}/approvals/{}", to_string(run), to_string(approval_id(n)));
  }
};

TEST_F(ApprovalsTest, AreShownWhereverTheRunIs) {
  const RunId run = asking(1);
  const auto shown = get("/v1/runs/" + to_string(run));
  EXPECT_EQ(shown.text("status"), "paused");
  EXPECT_EQ(shown.text("paused/reasons"), R"(["approval"])");
  EXPECT_EQ(shown.text("paused/approval_ids/0"), to_string(approval_id(1)));
  EXPECT_EQ(shown.text("pending_approvals/0/approval_id"), to_string(approval_id(1)));
  EXPECT_EQ(shown.text("pending_approvals/0/args"), R"({"amount":5})");
  const auto listed = get("/v1/runs");
  EXPECT_EQ(listed.text("items/0/pending_approvals/0/approval_id"), to_string(approval_id(1)));
  const auto one = get(path(run, 1));
  EXPECT_EQ(one.status, 200);
  EXPECT_EQ(one.text("status"), "pending");
  EXPECT_EQ(one.text("tool"), "pay");
  EXPECT_EQ(one.text("args_hash"), to_string(sha256(R"({"amount":5})")));
  EXPECT_EQ(one.text("decision"), "null");
}

TEST_F(ApprovalsTest, AreListedNewestFirstInPagesByStatusAndRun) {
  const RunId first = asking(1), second = asking(2);
  const auto page = get("/v1/approvals?limit=1");
  EXPECT_EQ(page.text("items/0/approval_id"), to_string(approval_id(2)));
  const auto rest = get("/v1/approvals?limit=1&cursor=" + page.text("next_cursor"));
  EXPECT_EQ(rest.text("items/0/approval_id"), to_string(approval_id(1)));
  EXPECT_EQ(rest.text("next_cursor"), "null");
  EXPECT_EQ(get("/v1/approvals?run_id=" + to_string(first)).text("items/0/approval_id"),
            to_string(approval_id(1)));
  EXPECT_EQ(get("/v1/approvals?status=decided").text("items"), "[]");
  EXPECT_EQ(get("/v1/approvals?status=pending&run_id=" + to_string(second)).text("items/0/run_id"),
            to_string(second));
  EXPECT_EQ(get("/v1/approvals?status=open").code(), "invalid_request");
}

TEST_F(ApprovalsTest, WhatHasExpiredIsNotPending) {
  const RunId run = asking(1);
  clock.advance_ms(60'000);
  EXPECT_EQ(get("/v1/approvals?status=pending").text("items"), "[]");
  EXPECT_EQ(get(path(run, 1)).text("status"), "expired");
}

TEST_F(ApprovalsTest, ADecisionIsHandedOnAndShown) {
  const RunId run = asking(1);
  node.on_decision = [&](const DecideApproval& command) {
    ApprovalDecided decided;
    decided.approval_id = command.approval_id;
    decided.call_id = "call_1_1";
    decided.decision = command.decision;
    decided.edited_args = command.edited_args;
    decided.effective_args_hash = sha256(command.edited_args->text);
    decided.by = command.by;
    decided.comment = command.comment;
    node.happen(run, {decided, RunResumed{PauseReason::approval, Timestamp{}}});
  };
  const auto reply =
      post(path(run, 1), R"({"decision":"approve","edited_args":{"note":"x","amount":4},"comment":"less"})");
  EXPECT_EQ(reply.status, 200) << reply.raw.body;
  const std::string canonical = R"({"amount":4,"note":"x"})";
  EXPECT_EQ(reply.text("effective_args_hash"), to_string(sha256(canonical)));
  EXPECT_EQ(reply.text("approval/status"), "decided");
  EXPECT_EQ(reply.text("approval/decision"), "approve");
  EXPECT_EQ(reply.text("approval/edited_args"), canonical);
  EXPECT_EQ(reply.text("approval/comment"), "less");
  ASSERT_EQ(node.decisions.size(), 1u);
  EXPECT_EQ(node.decisions[0].edited_args->text, canonical) << "edits are taken in their canonical form";
  EXPECT_EQ(get("/v1/approvals?status=decided").text("items/0/approval_id"), to_string(approval_id(1)));
  EXPECT_EQ(get("/v1/runs/" + to_string(run)).text("pending_approvals"), "[]");
}

TEST_F(ApprovalsTest, ADecisionIsReadStrictly) {
  const RunId run = asking(1);
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "invalid_request"},
      {R"({"decision":"yes"})", "invalid_request"},
      {R"({"decision":"approve","edited_args":[1]})", "invalid_request"},
      {R"({"decision":"reject","edited_args":{}})", "invalid_request"},
      {R"({"decision":"approve","edited_args":{"a":"[redacted:aws]"}})", "invalid_request"},
      {R"({"decision":"approve","args_hash":"xyz"})", "invalid_request"},
      {R"({"decision":"approve","args":{}})", "unknown_field"},
      {R"({"decision":"approve")", "invalid_json"},
  };
  for (const auto& [body, code] : cases) {
    const auto reply = post(path(run, 1), body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_EQ(reply.code(), code) << body << reply.raw.body;
  }
  EXPECT_TRUE(node.decisions.empty());
}

TEST_F(ApprovalsTest, IdsThatAreNotThereAreNotFound) {
  const RunId run = asking(1);
  EXPECT_EQ(get(path(run, 2)).code(), "unknown_approval");
  EXPECT_EQ(get(fmt::format("/v1/runs/{}/approvals/apr_x", to_string(run))).code(), "invalid_id");
  RunId other;
  other.ulid.bytes.fill(7);
  EXPECT_EQ(get(path(other, 1)).code(), "unknown_run");
  EXPECT_EQ(post(path(other, 1), R"({"decision":"reject"})").code(), "unknown_run");
}

}  // namespace
}  // namespace ratchet
