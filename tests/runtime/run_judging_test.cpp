// Verdicts that need facts from outside, and calls that act as the user.

#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

Setting with_hooks() {
  Setting setting;
  setting.hooks = {{HookPoint::pre_tool, "http://hook.example", HookKind::security}};
  return setting;
}

CallFacts allowed_by_hooks() {
  CallFacts facts;
  facts.hooks = HookFacts{};
  return facts;
}

CallFacts denied_by_hooks() {
  CallFacts facts;
  facts.hooks = HookFacts{true, "hook 1: no", std::nullopt};
  return facts;
}

CallFacts rewritten(std::string args) {
  CallFacts facts;
  facts.hooks = HookFacts{false, "rewritten by hook 1", std::move(args)};
  return facts;
}

TEST(Judging, WaitsForTheFacts) {
  RunStory story(with_hooks());
  story.begin();
  EXPECT_EQ(story.replies({call_of("send"), call_of("read")}), "model.completed");
  EXPECT_EQ(outstanding(story.state(), story.now()),
            (std::vector<Effect>{JudgeEffect{"call_1_1"}, JudgeEffect{"call_1_2"}}));
  EXPECT_FALSE(waits(story.state()));
  EXPECT_EQ(story.is_judged("call_1_2", allowed_by_hooks()), "tool.requested tool.planned")
      << "facts come in any order";
  EXPECT_EQ(story.is_judged("call_1_1", denied_by_hooks()), "tool.requested tool.result");
  EXPECT_EQ(story.latest<ToolResult>().status, ToolStatus::denied);
  EXPECT_EQ(story.latest<ToolRequested>().verdict.hooks, "hook 1: no");
  EXPECT_EQ(story.is_judged("call_1_1", allowed_by_hooks()), "") << "a verdict is written once";
  EXPECT_EQ(story.ends("call_1_2"), "tool.result model.requested");
}

TEST(Judging, AsksNobodyAboutWhatIsRefusedAnyway) {
  RunStory story(with_hooks());
  story.begin();
  EXPECT_EQ(story.replies({call_of("nothing_like_it"), call_of("read", R"({"n":"x"})")}),
            "model.completed tool.requested tool.requested tool.result tool.result model.requested");
}

TEST(Judging, ARewriteIsWhatRunsAndWhatIsAskedAbout) {
  RunStory story(with_hooks());
  story.begin();
  story.replies({call_of("pay", R"({"n":1})")});
  EXPECT_EQ(story.is_judged("call_1_1", rewritten(R"({"n":5})")),
            "tool.requested approval.required run.paused");
  EXPECT_EQ(story.latest<ToolRequested>().args.text, R"({"n":5})");
  EXPECT_EQ(story.latest<ApprovalRequired>().args_hash, sha256(R"({"n":5})"));
  story.approves("call_1_1");
  EXPECT_EQ(story.latest<ToolPlanned>().args_hash, sha256(R"({"n":5})"));
}

TEST(Judging, ARewriteThatBreaksTheSchemaIsInvalid) {
  RunStory story(with_hooks());
  story.begin();
  story.replies({call_of("send")});
  EXPECT_EQ(story.is_judged("call_1_1", rewritten(R"({"n":"x"})")),
            "tool.requested tool.result model.requested");
  EXPECT_EQ(story.latest<ToolResult>().status, ToolStatus::invalid);
}

TEST(Judging, IsRepeatedAfterACrash) {
  RunStory story(with_hooks());
  story.begin();
  story.replies({call_of("send")});
  EXPECT_EQ(story.recovers(), "");
  EXPECT_EQ(outstanding(story.state(), story.now()), (std::vector<Effect>{JudgeEffect{"call_1_1"}}));
  EXPECT_EQ(story.is_judged("call_1_1", allowed_by_hooks()), "tool.requested tool.planned");
}

TEST(Judging, KeepsTheRunAwakeBesideAnApproval) {
  RunStory story(with_hooks());
  story.begin();
  story.replies({call_of("pay"), call_of("pay")});
  EXPECT_EQ(story.is_judged("call_1_2", allowed_by_hooks()), "tool.requested approval.required");
  story.pass_ms(10'000);
  EXPECT_EQ(story.is_judged("call_1_1", allowed_by_hooks()), "tool.requested approval.required run.paused");
  EXPECT_EQ(story.latest<RunPaused>().expires_at, story.latest<ApprovalRequired>().expires_at)
      << "the pause lasts as long as the approval that was asked for last";
}

TEST(Judging, IsTakenUpAgainAfterAnOperatorsPause) {
  RunStory story(with_hooks());
  story.begin();
  story.replies({call_of("send")});
  RunRow row = row_of(story.state());
  row.lease = 1;
  story.write(poison_pause(row, "it fails", story.now()));
  EXPECT_EQ(story.is_judged("call_1_1", allowed_by_hooks()), "") << "the run is off";
  EXPECT_EQ(story.resumes(), "run.resumed");
  EXPECT_EQ(outstanding(story.state(), story.now()), (std::vector<Effect>{JudgeEffect{"call_1_1"}}));
}

TEST(Judging, EndsWithTheRun) {
  RunStory story(with_hooks());
  story.begin();
  story.replies({call_of("send")});
  story.is_cancelled();
  EXPECT_TRUE(outstanding(story.state(), story.now()).empty());
  EXPECT_EQ(story.is_judged("call_1_1", allowed_by_hooks()), "");
  EXPECT_EQ(story.has_stopped(), "tool.requested tool.result run.finished");
  EXPECT_EQ(story.latest<ToolRequested>().verdict.decision, Decision::deny);
}

TEST(Judging, ARepetitionStopsTheRunBeforeAnybodyIsAsked) {
  RunStory story(with_hooks());
  story.begin();
  for (int i = 1; i <= 2; ++i) {
    const std::string call = "call_" + std::to_string(i) + "_1";
    story.replies({call_of("read", R"({"n":1})")});
    story.is_judged(call, allowed_by_hooks());
    story.ends(call);
  }
  story.replies({call_of("read", R"({"n":1})")});
  EXPECT_TRUE(story.finished(StopReason::repeated_call));
}

TEST(Judging, TheDecisionPointMayDeny) {
  Setting setting;
  setting.decision_point = true;
  RunStory story(setting);
  story.begin();
  story.replies({call_of("send")});
  CallFacts facts;
  facts.authorizer = AuthorizerFacts{false, "the decision point did not answer"};
  EXPECT_EQ(story.is_judged("call_1_1", facts), "tool.requested tool.result model.requested");
  EXPECT_EQ(story.latest<ToolRequested>().verdict.authz, "the decision point did not answer");
  EXPECT_EQ(story.latest<ToolResult>().status, ToolStatus::denied);
}

TEST(Judging, WhatHasBecomeStricterIsAppliedWhenADecisionComes) {
  Setting setting;
  setting.decision_point = true;
  RunStory story(setting);
  story.begin();
  story.replies({call_of("pay")});
  CallFacts yes, no;
  yes.authorizer = AuthorizerFacts{true, "ok"};
  no.authorizer = AuthorizerFacts{false, "not any more"};
  story.is_judged("call_1_1", yes);
  auto decide = story.decision_on("call_1_1", ApprovalDecision::approve);
  decide.facts = no;
  EXPECT_EQ(story.refuses(decide), ErrorCode::approval_refused);
  decide.edited_args = Json{R"({"n":77})"};
  EXPECT_EQ(story.refuses(decide), ErrorCode::edited_args_refused);
  decide.facts = rewritten(R"({"n":78})");
  EXPECT_EQ(story.refuses(decide), ErrorCode::edited_args_refused);
  decide.facts = yes;
  EXPECT_EQ(story.give(decide), "approval.decided run.resumed tool.planned");
}

// --- as the user

TEST(AsUser, NeedsTheScope) {
  Setting setting;
  setting.scopes = {"other"};
  RunStory story(setting);
  story.begin();
  EXPECT_EQ(story.replies({call_of("mail")}), "model.completed tool.requested tool.result model.requested");
  EXPECT_EQ(story.latest<ToolRequested>().verdict.authz, "the user's token lacks the scope mail");
  EXPECT_EQ(story.latest<ToolResult>().status, ToolStatus::denied);
}

TEST(AsUser, AnExpiredTokenIsNotUsedAndPausesTheRun) {
  Setting setting;
  setting.token_expires_at = Timestamp{1'764'000'060'000'000};
  RunStory story(setting);
  story.begin();
  story.pass_ms(60'000);
  EXPECT_EQ(story.replies({call_of("mail"), call_of("read")}),
            "model.completed tool.requested tool.requested tool.planned tool.planned");
  EXPECT_EQ(outstanding(story.state(), story.now()), (std::vector<Effect>{CallEffect{"call_1_2", 1}}));
  EXPECT_EQ(story.ends("call_1_2"), "tool.result run.paused");
  EXPECT_EQ(story.latest<RunPaused>().reasons, std::vector{PauseReason::reauth});
  EXPECT_EQ(row_of(story.state()).pause_call_ids, std::vector<std::string>{"call_1_1"});
  EXPECT_EQ(story.gets_token({"mail"}), "user_token.received run.resumed");
  EXPECT_EQ(outstanding(story.state(), story.now()), (std::vector<Effect>{CallEffect{"call_1_1", 1}}));
  EXPECT_EQ(story.ends("call_1_1"), "tool.result model.requested");
}

TEST(AsUser, ATokenThatExpiredOnTheWayIsToldByTheBroker) {
  RunStory story;
  story.begin();
  story.replies({call_of("mail")});
  EXPECT_EQ(story.give(input::CallEnded{"call_1_1", 1, {CallEnd::Kind::needs_user, ToolStatus::ok, "", 0}}),
            "tool.planned run.paused");
  EXPECT_FALSE(story.state().find_call("call_1_1")->in_doubt) << "nothing was sent";
  story.gets_token({"mail"});
  EXPECT_EQ(story.ends("call_1_1", "no such box", ToolStatus::error), "tool.result model.requested");
}

TEST(AsUser, AFreshTokenMayAllowLess) {
  Setting setting;
  setting.token_expires_at = Timestamp{1'764'000'000'000'000};
  RunStory story(setting);
  story.begin();
  story.replies({call_of("mail")});
  EXPECT_EQ(story.gets_token({"other"}), "user_token.received tool.result run.resumed model.requested");
  EXPECT_EQ(story.latest<ToolResult>().status, ToolStatus::denied);
}

TEST(AsUser, AFreshTokenMayComeAtAnyTime) {
  RunStory story;
  story.begin();
  EXPECT_EQ(story.gets_token({"other"}), "user_token.received");
  EXPECT_EQ(story.replies({call_of("mail")}), "model.completed tool.requested tool.result model.requested");
}

TEST(AsUser, AFreshTokenExpiresToo) {
  RunStory story;
  story.begin();
  story.gets_token({"mail"}, story.now().plus_ms(60'000));
  story.pass_ms(60'000);
  EXPECT_EQ(story.replies({call_of("mail")}), "model.completed tool.requested tool.planned run.paused");
  EXPECT_TRUE(story.latest<ToolPlanned>().awaits_user);
}

TEST(AsUser, WhatAFreshTokenMayNotDoCannotBeApproved) {
  RunStory story;
  story.begin();
  story.replies({call_of("order")});
  story.gets_token({"other"});
  EXPECT_EQ(story.refuses(story.decision_on("call_1_1", ApprovalDecision::approve)),
            ErrorCode::approval_refused);
  EXPECT_EQ(story.rejects("call_1_1"), "approval.decided tool.result run.resumed model.requested");
}

TEST(AsUser, WhatIsApprovedAfterTheTokenHasExpiredWaitsForAFreshOne) {
  Setting setting;
  setting.token_expires_at = Timestamp{1'764'000'060'000'000};
  RunStory story(setting);
  story.begin();
  story.replies({call_of("order")});
  story.pass_ms(120'000);
  EXPECT_EQ(story.approves("call_1_1"), "approval.decided run.resumed tool.planned run.paused");
  EXPECT_EQ(story.latest<RunPaused>().reasons, std::vector{PauseReason::reauth});
  EXPECT_EQ(story.gets_token({"mail"}), "user_token.received run.resumed");
  EXPECT_EQ(outstanding(story.state(), story.now()), (std::vector<Effect>{CallEffect{"call_1_1", 1}}));
}

TEST(AsUser, APauseForATokenExpires) {
  Setting setting;
  setting.token_expires_at = Timestamp{1'764'000'000'000'000};
  RunStory story(setting);
  story.begin();
  story.replies({call_of("mail")});
  story.pass_ms(8ll * 86'400'000);
  EXPECT_EQ(story.is_due(), "tool.result run.finished") << "it was never sent, so nothing is unknown";
  EXPECT_TRUE(story.finished(StopReason::pause_expired));
}

TEST(AsUser, ACallInDoubtThatWaitsForATokenStaysInDoubt) {
  Setting setting;
  setting.token_expires_at = Timestamp{1'764'000'060'000'000};
  RunStory story(setting);
  story.begin();
  story.replies({call_of("mail")});
  story.pass_ms(120'000);
  EXPECT_EQ(story.recovers(), "tool.planned run.paused");
  EXPECT_EQ(story.gets_token({"other"}), "user_token.received call.unknown run.resumed run.paused");
}

TEST(AsUser, ACallInDoubtThatWaitsForATokenIsToldAsSuchWhenTheRunEnds) {
  Setting setting;
  setting.token_expires_at = Timestamp{1'764'000'060'000'000};
  RunStory story(setting);
  story.begin();
  story.replies({call_of("mail")});
  story.pass_ms(120'000);
  story.recovers();
  story.is_cancelled();
  EXPECT_EQ(story.has_stopped(), "call.unknown tool.result run.finished");
}

}  // namespace
}  // namespace ratchet::stories
