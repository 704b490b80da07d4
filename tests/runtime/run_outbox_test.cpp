#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/json/canonical.hpp"
#include "runtime/limits.hpp"
#include "runtime/run/outbox.hpp"

namespace ratchet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Timestamp noon{1'764'072'000'000'000};

RunRow row() {
  RunRow row;
  row.run_id = *parse_id<RunKind>("run_01JZZZZZZZZZZZZZZZZZZZZZZZ");
  row.agent_id = "shop";
  row.user_id = "ada";
  return row;
}

AgentDefinition agent() {
  AgentDefinition agent;
  agent.approval.notify_url = "https://notify.example/in";
  agent.hooks = {{HookPoint::pre_tool, "http://check.example", HookKind::security},
                 {HookPoint::on_stop, "http://one.example", HookKind::logging},
                 {HookPoint::on_stop, "http://two.example", HookKind::logging}};
  return agent;
}

Event event(Payload payload, std::uint64_t seq = 7) {
  return {seq, noon, 3, 1, std::move(payload)};
}

ApprovalRequired question() {
  ApprovalRequired required;
  required.approval_id.ulid.bytes.fill(4);
  required.call_id = "call_3_1";
  required.tool = "checkout";
  required.args.text = R"({"card":"4111-1111"})";
  required.args_hash = sha256(required.args.text);
  required.why = "rule 1";
  required.expires_at = noon.plus_ms(60'000);
  return required;
}

TEST(Outbox, TellsTheTeamOfApprovalsAndPauses) {
  ApprovalDecided decided;
  decided.call_id = "call_3_1";
  decided.edited_args = Json{R"({"card":"4222"})"};
  decided.comment = "my secret comment";
  decided.by = "ci";
  RunPaused paused;
  paused.reasons = {PauseReason::approval};
  paused.approval_ids = {question().approval_id};
  paused.error = "4111-1111 failed";
  const auto entries = outbox_entries(
      agent(),
      row(),
      {event(question(), 7), event(ApprovalReminded{}, 8), event(decided, 9), event(paused, 10)});
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_THAT(entries,
              ElementsAre(Field(&OutboxEntry::type, "approval.required"),
                          Field(&OutboxEntry::type, "approval.reminded"),
                          Field(&OutboxEntry::type, "approval.decided"),
                          Field(&OutboxEntry::type, "run.paused")));
  for (const OutboxEntry& entry : entries) {
    EXPECT_EQ(entry.url, "https://notify.example/in");
    EXPECT_EQ(entry.due_at, noon);
    EXPECT_TRUE(canonical_json(entry.body)) << entry.body;
    EXPECT_THAT(entry.body, AllOf(Not(HasSubstr("4111")), Not(HasSubstr("4222")), Not(HasSubstr("secret"))));
  }
  EXPECT_EQ(entries[0].body,
            R"({"type":"approval.required","timestamp":"2025-11-25T12:00:00.000000Z","data":{)"
            R"("run_id":"run_01JZZZZZZZZZZZZZZZZZZZZZZZ","step":3,"agent_id":"shop","user_id":"ada","seq":7,)"
            R"("approval_id":")" +
                to_string(question().approval_id) +
                R"(","call_id":"call_3_1","tool":"checkout","args_hash":")" +
                to_string(question().args_hash) + R"(","expires_at":"2025-11-25T12:01:00.000000Z"}})");
  EXPECT_THAT(entries[3].body, HasSubstr(R"("reasons":["approval"],"approval_ids":["apr_)"));
}

TEST(Outbox, TellsEachHookOfTheEnd) {
  RunFinished finished;
  finished.result = "the answer";
  finished.steps = 3;
  finished.cost_usd = Usd{23'100'000};
  const auto entries = outbox_entries(agent(), row(), {event(finished)});
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].url, "http://one.example");
  EXPECT_EQ(entries[1].url, "http://two.example");
  EXPECT_TRUE(entries[0].on_stop);
  EXPECT_EQ(
      entries[0].body,
      R"({"at":"on_stop","run_id":"run_01JZZZZZZZZZZZZZZZZZZZZZZZ","step":3,"agent_id":"shop",)"
      R"("user_id":"ada","replay":false,"type":"run.finished","timestamp":"2025-11-25T12:00:00.000000Z",)"
      R"("data":{"run_id":"run_01JZZZZZZZZZZZZZZZZZZZZZZZ","step":3,"agent_id":"shop","user_id":"ada",)"
      R"("seq":7,"stop_reason":"final_answer","steps":3,"cost_usd":"0.023100"}})");
  EXPECT_NE(delivery_id(entries[0]), delivery_id(entries[1]));
  EXPECT_EQ(delivery_id(entries[1]), "run_01JZZZZZZZZZZZZZZZZZZZZZZZ_7_1");
}

TEST(Outbox, IsEmptyWhereNobodyWantsToKnow) {
  EXPECT_THAT(outbox_entries({}, row(), {event(question()), event(RunPaused{}), event(RunFinished{})}),
              IsEmpty());
  EXPECT_THAT(outbox_entries(agent(), row(), {event(RunResumed{}), event(ModelRequested{})}), IsEmpty());
}

TEST(Outbox, EntriesAreReadAsTheyWereWritten) {
  auto entry = outbox_entries(agent(), row(), {event(RunFinished{})}).at(1);
  entry.attempts = 5;
  EXPECT_EQ(*decode_outbox(encode_outbox(entry)), entry);
  EXPECT_EQ(decode_outbox("\x05\xff").error().code, ErrorCode::corrupt);
}

TEST(Outbox, IsTriedAgainLaterEachTimeAndGivenUpAfterDays) {
  std::optional<OutboxEntry> entry = outbox_entries(agent(), row(), {event(question())}).at(0);
  const std::string id = delivery_id(*entry), body = entry->body;
  std::vector<std::int64_t> waits;
  while (true) {
    const Timestamp now = entry->due_at;
    auto again = put_off(*entry, now);
    if (!again) break;
    waits.push_back(ms_between(now, again->due_at));
    EXPECT_EQ(delivery_id(*again), id);
    EXPECT_EQ(again->body, body);
    entry = again;
  }
  EXPECT_EQ(waits.at(0), limits::webhook_retry_min_ms);
  EXPECT_EQ(waits.at(1), 2 * limits::webhook_retry_min_ms);
  EXPECT_EQ(waits.back(), limits::webhook_retry_max_ms);
  EXPECT_TRUE(std::is_sorted(waits.begin(), waits.end()));
  EXPECT_GT(ms_between(noon, entry->due_at), limits::webhook_give_up_ms - 2 * limits::webhook_retry_max_ms);
  EXPECT_LE(ms_between(noon, entry->due_at), limits::webhook_give_up_ms);
}

}  // namespace
}  // namespace ratchet
