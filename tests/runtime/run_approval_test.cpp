// Approvals: what a person is asked, what they say, and what becomes of the call.

#include "runtime/limits.hpp"
#include "runtime/run/approval_row.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

using Approve = ApprovalDecision;

TEST(Approval, PausesTheRunAndHoldsNothing) {
  RunStory story;
  story.begin();
  EXPECT_EQ(story.replies({call_of("pay", R"({"n":1})")}),
            "model.completed tool.requested approval.required run.paused");
  EXPECT_TRUE(outstanding(story.state(), story.now()).empty());
  EXPECT_TRUE(waits(story.state()));
  const auto& required = story.latest<ApprovalRequired>();
  EXPECT_EQ(required.args_hash, sha256(R"({"n":1})"));
  EXPECT_EQ(required.why, "rule 2");
  EXPECT_EQ(required.expires_at, story.now().plus_ms(3'600'000));
  EXPECT_EQ(story.latest<RunPaused>().approval_ids, std::vector{required.approval_id});
  const RunRow row = row_of(story.state());
  EXPECT_EQ(row.pause_reasons, std::vector{PauseReason::approval});
  EXPECT_EQ(row.pending_approvals, std::vector{required.approval_id});
  EXPECT_EQ(row.due_at, story.now().plus_ms(600'000)) << "the reminder";
}

TEST(Approval, RunsExactlyWhatWasApproved) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay", R"({"n":1})")});
  story.pass_ms(5'000);
  EXPECT_EQ(story.approves("call_1_1"), "approval.decided run.resumed tool.planned");
  EXPECT_EQ(story.latest<ToolPlanned>().args_hash, sha256(R"({"n":1})"));
  EXPECT_EQ(outstanding(story.state(), story.now()), (std::vector<Effect>{CallEffect{"call_1_1", 1}}));
  EXPECT_EQ(story.ends("call_1_1"), "tool.result model.requested");
}

TEST(Approval, EditedArgumentsAreWhatRunsUnderTheirOwnHash) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay", R"({"n":1})")});
  story.approves("call_1_1", R"({"n":2})");
  const auto& decided = story.latest<ApprovalDecided>();
  EXPECT_EQ(decided.effective_args_hash, sha256(R"({"n":2})"));
  EXPECT_EQ(story.latest<ToolPlanned>().args_hash, sha256(R"({"n":2})"));
  EXPECT_EQ(story.state().find_call("call_1_1")->args.text, R"({"n":2})");
  story.ends("call_1_1");
  const Content& content = story.latest<ToolResult>().content;
  ASSERT_EQ(content.size(), 2u);
  EXPECT_NE(content.back().text.find(R"({"n":2})"), std::string::npos) << "the model is told what ran";
}

TEST(Approval, EditsThatChangeNothingAreNone) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay", R"({"n":1})")});
  story.approves("call_1_1", R"({"n":1})");
  EXPECT_FALSE(story.latest<ApprovalDecided>().edited_args);
}

TEST(Approval, EditsThatBreakTheSchemaAreRefusedAndNothingIsDecided) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay", R"({"n":1})")});
  EXPECT_EQ(story.refuses(story.decision_on("call_1_1", Approve::approve, R"({"n":"two"})")),
            ErrorCode::edited_args_refused);
  EXPECT_EQ(story.approves("call_1_1"), "approval.decided run.resumed tool.planned");
}

TEST(Approval, OfOtherArgumentsIsRefused) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay", R"({"n":1})")});
  auto decide = story.decision_on("call_1_1", Approve::approve);
  decide.args_hash = sha256(R"({"n":2})");
  EXPECT_EQ(story.refuses(decide), ErrorCode::args_changed);
  decide.args_hash = sha256(R"({"n":1})");
  EXPECT_EQ(story.give(decide), "approval.decided run.resumed tool.planned");
}

TEST(Approval, IsRejectedAndTheModelIsTold) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay")});
  auto decide = story.decision_on("call_1_1", Approve::reject);
  decide.comment = "too dear";
  EXPECT_EQ(story.give(decide), "approval.decided tool.result run.resumed model.requested");
  EXPECT_EQ(story.latest<ToolResult>().status, ToolStatus::rejected);
  EXPECT_NE(story.latest<ToolResult>().content.front().text.find("too dear"), std::string::npos);
  const auto& decided = story.events().at(story.last().accepted_seq - 1);
  EXPECT_EQ(type_name(decided), "approval.decided") << "the event that the person is answered with";
}

TEST(Approval, TellsWhoDecidedAndWhy) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay"), call_of("pay")});
  for (const auto& [call, decision] :
       {std::pair{"call_1_1", Approve::approve}, {"call_1_2", Approve::reject}}) {
    auto decide = story.decision_on(call, decision);
    decide.by = "treasurer";
    decide.comment = "as agreed";
    story.give(decide);
    EXPECT_EQ(story.latest<ApprovalDecided>().by, "treasurer") << call;
    EXPECT_EQ(story.latest<ApprovalDecided>().comment, "as agreed") << call;
  }
}

TEST(Approval, IsDecidedOnce) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay", R"({"n":1})")});
  const auto approve = story.decision_on("call_1_1", Approve::approve);
  const auto edited = story.decision_on("call_1_1", Approve::approve, R"({"n":2})");
  const auto reject = story.decision_on("call_1_1", Approve::reject);
  story.give(edited);
  const std::uint64_t seq = story.last().accepted_seq;
  EXPECT_EQ(story.refuses(approve), ErrorCode::already_decided);
  EXPECT_EQ(story.refuses(reject), ErrorCode::already_decided);
  EXPECT_EQ(story.give(edited), "");
  EXPECT_EQ(story.last().accepted_seq, seq);
  story.ends("call_1_1");
  story.replies({said("Paid.")});
  EXPECT_TRUE(story.finished(StopReason::final_answer));
  EXPECT_EQ(story.give(edited), "") << "on a run that has moved on it changes nothing";
  EXPECT_EQ(story.refuses(reject), ErrorCode::already_decided);
}

TEST(Approval, ThatWasDecidedLongAgoIsForgotten) {
  Setting setting;
  setting.budgets.max_steps = 1'000;
  setting.budgets.max_tokens = 100'000'000;
  setting.budgets.max_usd = Usd{1'000'000'000'000};
  RunStory story(setting);
  story.begin();
  std::vector<input::Decide> said;
  while (said.size() <= limits::resolutions_kept) {
    story.replies({call_of("pay")});
    const std::string call_id = story.state().calls.at(0).call_id;
    said.push_back(story.decision_on(call_id, Approve::approve));
    story.give(said.back());
    story.ends(call_id);
  }
  EXPECT_EQ(story.state().decided.size(), limits::resolutions_kept);
  EXPECT_EQ(story.refuses(said[0]), ErrorCode::unknown_approval);
  EXPECT_EQ(story.refuses(said[1]), std::nullopt) << "said again";
}

TEST(Approval, OfAnotherRunIsNotKnown) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay")});
  auto decide = story.decision_on("call_1_1", Approve::approve);
  decide.approval_id = {};
  EXPECT_EQ(story.refuses(decide), ErrorCode::unknown_approval);
}

TEST(Approval, RemindsOnceAndExpiresAsARejection) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay")});
  story.pass_ms(600'000);
  EXPECT_EQ(story.is_due(), "approval.reminded");
  EXPECT_EQ(story.is_due(), "");
  EXPECT_EQ(row_of(story.state()).due_at, story.latest<ApprovalRequired>().expires_at);
  story.pass_ms(3'000'000);
  EXPECT_EQ(story.refuses(story.decision_on("call_1_1", Approve::approve)), ErrorCode::expired);
  EXPECT_EQ(story.is_due(), "approval.decided tool.result run.resumed model.requested");
  EXPECT_EQ(story.latest<ApprovalDecided>().reason, DecidedBy::expired);
  EXPECT_EQ(story.latest<ToolResult>().status, ToolStatus::expired);
  EXPECT_EQ(story.refuses(story.decision_on("call_1_1", Approve::approve)), ErrorCode::expired);
}

TEST(Approval, ExpiresWhileTheServerIsDown) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay")});
  story.pass_ms(7'200'000);
  EXPECT_EQ(story.recovers(), "approval.decided tool.result run.resumed model.requested");
}

TEST(Approval, OfABatchRunsAfterItsLastDecision) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay"), call_of("read"), call_of("pay")});
  EXPECT_FALSE(story.state().pause) << "something else is under way";
  EXPECT_EQ(story.approves("call_1_1"), "approval.decided");
  EXPECT_EQ(story.ends("call_1_2"), "tool.result run.paused");
  EXPECT_EQ(story.latest<RunPaused>().approval_ids.size(), 1u);
  EXPECT_EQ(story.approves("call_1_3"), "approval.decided run.resumed tool.planned tool.planned");
  EXPECT_EQ(story.ends("call_1_3"), "tool.result");
  EXPECT_EQ(story.ends("call_1_1"), "tool.result model.requested");
}

TEST(Approval, OfABatchThatIsDecidedBeforeItsSiblingEndsRunsAtOnce) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay"), call_of("read")});
  EXPECT_EQ(story.approves("call_1_1"), "approval.decided tool.planned");
}

TEST(Approval, AndACallInDoubtPauseTheRunTogether) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay"), call_of("publish")});
  EXPECT_EQ(story.gets_lost("call_1_2"), "call.unknown run.paused");
  EXPECT_EQ(story.latest<RunPaused>().reasons,
            (std::vector{PauseReason::approval, PauseReason::unknown_outcome}));
  EXPECT_EQ(story.approves("call_1_1"), "approval.decided run.resumed tool.planned");
  EXPECT_EQ(story.ends("call_1_1"), "tool.result run.paused");
  EXPECT_EQ(story.resolves("call_1_2", CallOutcome::happened),
            "call.resolved tool.result run.resumed model.requested");
}

TEST(Approval, ExpiresInTimeBesideACallInDoubt) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay"), call_of("publish")});
  story.gets_lost("call_1_2");
  const Timestamp expires_at = story.latest<ApprovalRequired>().expires_at;
  EXPECT_GT(story.latest<RunPaused>().expires_at, expires_at) << "the call in doubt may take longer";
  story.pass_ms(600'000);
  story.is_due();
  EXPECT_EQ(row_of(story.state()).due_at, expires_at);
  story.pass_ms(3'000'000);
  EXPECT_EQ(story.is_due(), "approval.decided tool.result run.resumed run.paused");
  EXPECT_EQ(story.latest<RunPaused>().reasons, std::vector{PauseReason::unknown_outcome});
}

TEST(Approval, ExpiresInTimeBesideACallUnderWay) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay"), call_of("send")});
  story.pass_ms(600'000);
  story.is_due();
  EXPECT_EQ(next_due(story.state(), story.now()), story.latest<ApprovalRequired>().expires_at);
}

TEST(Approval, IsWithdrawnWhenTheRunIsCancelled) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay"), call_of("pay")});
  story.approves("call_1_1");
  story.is_cancelled();
  EXPECT_EQ(story.refuses(story.decision_on("call_1_2", Approve::approve)), ErrorCode::run_finished);
  EXPECT_EQ(story.has_stopped(), "approval.decided tool.result tool.result run.finished");
  EXPECT_EQ(story.latest<ApprovalDecided>().reason, DecidedBy::cancelled);
  EXPECT_EQ(story.latest<ToolResult>().status, ToolStatus::cancelled);
  for (const auto decision : {Approve::approve, Approve::reject})
    EXPECT_EQ(story.refuses(story.decision_on("call_1_2", decision)), ErrorCode::already_decided)
        << "nobody decided: not even a rejection was heard";
}

TEST(Approval, WaitsUnderAnOperatorsPause) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay")});
  RunRow row = row_of(story.state());
  row.lease = 1;
  story.write(poison_pause(row, "it fails", story.now()));
  EXPECT_EQ(story.approves("call_1_1"), "approval.decided");
  EXPECT_EQ(story.resumes(), "run.resumed tool.planned");
}

TEST(Approval, ThatExpiresBesideACommandLeavesTheCommandItsAnswer) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay")});
  RunRow row = row_of(story.state());
  row.lease = 1;
  story.write(poison_pause(row, "it fails", story.now()));
  story.pass_ms(3'600'000);
  EXPECT_EQ(story.resumes(), "run.resumed approval.decided tool.result model.requested");
  EXPECT_EQ(story.last().accepted_seq, story.last().events.front().seq);
}

TEST(Approval, MessagesWaitUntilTheBatchIsSettled) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay")});
  EXPECT_EQ(story.is_told("Hurry."), "message.received");
  story.approves("call_1_1");
  EXPECT_EQ(story.ends("call_1_1"), "tool.result model.requested");
}

TEST(Approval, WaitingMovesTheDeadline) {
  RunStory story;
  story.begin();
  story.replies({call_of("pay")});
  story.pass_ms(3'000'000);
  story.approves("call_1_1");
  EXPECT_EQ(story.state().deadline_at, story.state().created_at.plus_ms(600'000 + 3'000'000));
}

TEST(ApprovalRow, FollowsTheEvents) {
  RunStory story;
  story.begin();
  const RunState before = story.state();
  story.replies({call_of("pay", R"({"n":1})")});
  auto rows = approval_rows(before, story.last().events);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].status, ApprovalStatus::pending);
  EXPECT_EQ(rows[0].tool, "pay");
  EXPECT_EQ(rows[0].team, "team");
  EXPECT_EQ(rows[0].args_hash, sha256(R"({"n":1})"));
  const RunState asked = story.state();
  story.approves("call_1_1", R"({"n":2})");
  const auto decided = approval_rows(asked, story.last().events);
  ASSERT_EQ(decided.size(), 1u);
  EXPECT_EQ(decided[0].approval_id, rows[0].approval_id);
  EXPECT_EQ(decided[0].required_seq, rows[0].required_seq);
  EXPECT_EQ(decided[0].args_hash, rows[0].args_hash);
  EXPECT_EQ(decided[0].status, ApprovalStatus::decided);
  EXPECT_EQ(decided[0].effective_args_hash, sha256(R"({"n":2})"));
  EXPECT_EQ(decode_approval(encode_approval(decided[0])), decided[0]);
}

}  // namespace
}  // namespace ratchet::stories
