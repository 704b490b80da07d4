// Replays as the rules decide them: what is taken over, what answers a call, and what is never executed.

#include <gmock/gmock.h>

#include "runtime/context/inspect.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

using testing::HasSubstr;
using testing::Not;

ReplayOrder order_of(std::uint32_t from_step,
                     ReplayTools tools = ReplayTools::recorded,
                     std::string patch = "{}") {
  ReplayOrder order;
  order.origin.from_step = from_step;
  order.origin.tools = tools;
  order.origin.patch.text = std::move(patch);
  return order;
}

/// Two steps of calls, and an answer.
void play(RunStory& story) {
  story.begin();
  story.replies({call_of("read", R"({"n":1})"), call_of("notes_write", R"({"text":"remember"})")});
  story.ends("call_1_1", "one");
  story.replies({call_of("send", R"({"n":2})")});
  story.ends("call_2_1", "sent");
  story.replies({said("Done.")});
}

std::string text_of(const ToolResult& result) {
  return result.content.empty() ? "" : result.content.front().text;
}

TEST(Replay, TakesOverTheStepsBeforeItsFirstLiveOneAtNoCost) {
  RunStory original;
  play(original);
  RunStory replay(original, order_of(3));
  EXPECT_EQ(replay.state().step, 2u);
  EXPECT_EQ(replay.state().usage, Usage{});
  EXPECT_EQ(replay.state().cost_usd, Usd{});
  EXPECT_EQ(replay.count<ToolPlanned>(), 0) << "what was executed is not announced again";
  for (const Event& event : replay.events())
    EXPECT_EQ(event.replayed, event.seq > 1) << type_name(event);
  EXPECT_EQ(replay.begin(), "model.requested");
  EXPECT_EQ(replay.state().step, 3u);
  replay.replies({said("Done.")});
  EXPECT_EQ(replay.latest<RunFinished>().steps, 3);
  EXPECT_EQ(replay.latest<RunFinished>().usage.total(), 110) << "of the one live step";
}

TEST(Replay, ComesToTheStateAndTheContextOfTheRecord) {
  RunStory original;
  play(original);
  RunStory replay(original, order_of(3));
  replay.begin();
  EXPECT_EQ(replay.state().memory.notes, "remember");
  EXPECT_EQ(replay.state().settled.size(), original.state().settled.size());
  EXPECT_EQ(replay.state().loop.repeats("send", sha256(R"({"n":2})")),
            original.state().loop.repeats("send", sha256(R"({"n":2})")));
  const auto prompt = [](const RunStory& story) { return story.latest<ModelRequested>().prompt_hash; };
  EXPECT_EQ(prompt(replay), prompt(original));
}

TEST(Replay, TakesOverRetriesMessagesAndEditedApprovals) {
  Setting setting;
  setting.input = std::string(20'000, 'i');
  RunStory original(setting);
  original.begin();
  original.fails(FailureClass::transient, 0);
  original.is_told("Also this.", "key");
  original.replies({call_of("pay", R"({"n":5})")});
  original.pass_ms(10'000);
  original.approves("call_1_1", R"({"n":4})");
  original.ends("call_1_1", std::string(20'000, 'r'));
  original.replies({call_of("publish")});
  original.gets_lost("call_2_1");
  original.resolves("call_2_1", CallOutcome::happened);
  original.replies({said("Done.")});
  ASSERT_TRUE(original.state().finished());
  RunStory replay(original, order_of(3));
  replay.begin();
  EXPECT_EQ(replay.latest<ModelRequested>().prompt_hash, original.latest<ModelRequested>().prompt_hash);
  EXPECT_EQ(replay.state().blobs, original.state().blobs);
  EXPECT_EQ(replay.count<RunPaused>(), 0);
  EXPECT_EQ(replay.count<CallUnknown>(), 0);
  EXPECT_TRUE(replay.blobs().empty()) << "what is kept stays where it is";
}

TEST(Replay, StartsFromTheWorkspaceOfTheRecord) {
  RunStory original;
  original.begin();
  original.replies({call_of("build")});
  CallEnd end{CallEnd::Kind::ended, ToolStatus::ok, "built", 5};
  end.workspace = sha256("files");
  original.give(input::CallEnded{"call_1_1", 1, end});
  original.replies({said("Done.")});
  RunStory replay(original, order_of(2));
  EXPECT_EQ(replay.state().workspace, sha256("files"));
}

TEST(Replay, AnswersFromTheRecordInItsOrder) {
  RunStory original;
  original.begin();
  original.replies({call_of("poll", R"({"n":1})"), call_of("poll", R"({"n":1})")});
  original.ends("call_1_2", "second");
  original.ends("call_1_1", "first");
  original.replies({call_of("poll", R"({"n":1})")});
  original.ends("call_2_1", "third");
  original.replies({said("Done.")});

  RunStory replay(original, order_of(1));
  replay.begin();
  EXPECT_EQ(replay.replies({call_of("poll", R"({"n":1})"), call_of("poll", R"({"n":1})")}),
            "model.completed tool.requested tool.requested tool.result tool.result model.requested");
  EXPECT_EQ(text_of(result_of(replay, "call_1_1")), "first");
  EXPECT_EQ(text_of(result_of(replay, "call_1_2")), "second");
  EXPECT_EQ(result_of(replay, "call_1_2").source, ResultSource::record);
  replay.replies({call_of("poll", R"({"n":1})"), call_of("poll", R"({"n":1})")});
  EXPECT_EQ(text_of(result_of(replay, "call_2_1")), "third");
  EXPECT_EQ(result_of(replay, "call_2_2").status, ToolStatus::not_replayable) << "the record has no fourth";
  EXPECT_EQ(replay.count<ToolPlanned>(), 0);
}

TEST(Replay, WhatDoesNotMatchIsMockedOrSaidToBeNotReplayable) {
  RunStory original;
  play(original);
  RunStory replay(original, order_of(1, ReplayTools::recorded, R"({"mocks":{"publish":{"id":7}}})"));
  replay.begin();
  replay.replies({call_of("send", R"({"n":99})"), call_of("publish"), call_of("notes_read", "{}")});
  const ToolResult& other = result_of(replay, "call_1_1");
  EXPECT_EQ(other.status, ToolStatus::not_replayable);
  EXPECT_THAT(text_of(other), HasSubstr("send was not executed"));
  EXPECT_EQ(text_of(result_of(replay, "call_1_2")), R"({"id":7})");
  EXPECT_EQ(result_of(replay, "call_1_2").source, ResultSource::mock);
  EXPECT_EQ(result_of(replay, "call_1_3").status, ToolStatus::ok) << "the run's own memory is always there";
}

TEST(Replay, LiveToolsAreExecutedAsFarAsTheirEffectsAllow) {
  RunStory original;
  play(original);
  RunStory replay(original, order_of(1, ReplayTools::live));
  replay.begin();
  replay.replies({call_of("read", R"({"n":50})"),
                  call_of("send", R"({"n":2})"),
                  call_of("send", R"({"n":3})"),
                  call_of("transfer"),
                  call_of("build")});
  EXPECT_EQ(replay.count<ToolPlanned>(), 1);
  EXPECT_EQ(replay.latest<ToolPlanned>().call_id, "call_1_1");
  EXPECT_EQ(text_of(result_of(replay, "call_1_2")), "sent") << "from the record";
  for (const char* call : {"call_1_3", "call_1_4", "call_1_5"})
    EXPECT_EQ(result_of(replay, call).status, ToolStatus::not_replayable) << call;
  EXPECT_THAT(text_of(result_of(replay, "call_1_4")), HasSubstr("side effects: internal"));
}

TEST(Replay, InternalToolsRunOnlyWhereTheServerIsThereForIt) {
  RunStory original;
  play(original);
  auto order = order_of(1, ReplayTools::live);
  order.environment = true;
  RunStory replay(original, order);
  replay.begin();
  replay.replies({call_of("transfer"), call_of("publish")});
  EXPECT_EQ(replay.count<ToolPlanned>(), 1);
  EXPECT_EQ(replay.latest<ToolPlanned>().call_id, "call_1_1");
  EXPECT_EQ(result_of(replay, "call_1_2").status, ToolStatus::not_replayable);
}

TEST(Replay, AMockKeepsALiveToolFromRunning) {
  RunStory original;
  play(original);
  RunStory replay(original, order_of(1, ReplayTools::live, R"({"mocks":{"read":"nothing"}})"));
  replay.begin();
  replay.replies({call_of("read", R"({"n":1})")});
  EXPECT_EQ(replay.count<ToolPlanned>(), 0);
  EXPECT_EQ(text_of(result_of(replay, "call_1_1")), "nothing");
}

TEST(Replay, NobodyIsAskedAboutACallThatIsNotExecuted) {
  RunStory original;
  original.begin();
  original.replies({call_of("pay", R"({"n":1})"), call_of("pay", R"({"n":2})")});
  original.approves("call_1_1");
  original.rejects("call_1_2");
  original.ends("call_1_1", "paid");
  original.replies({said("Done.")});

  RunStory replay(original, order_of(1));
  replay.begin();
  replay.replies({call_of("pay", R"({"n":1})"), call_of("pay", R"({"n":2})"), call_of("pay", R"({"n":3})")});
  EXPECT_EQ(replay.count<ApprovalRequired>(), 0);
  EXPECT_EQ(text_of(result_of(replay, "call_1_1")), "paid");
  EXPECT_EQ(result_of(replay, "call_1_2").status, ToolStatus::rejected) << "the decision of then";
  EXPECT_EQ(result_of(replay, "call_1_3").status, ToolStatus::not_replayable);
}

TEST(Replay, ADenialStaysADenial) {
  RunStory original;
  original.begin();
  original.replies({call_of("secret", R"({"n":1})"), call_of("nothing", "{}")});
  original.replies({said("Done.")});
  RunStory replay(original, order_of(1));
  replay.begin();
  replay.replies({call_of("secret", R"({"n":1})"), call_of("send", R"({"n":"x"})")});
  EXPECT_EQ(result_of(replay, "call_1_1").status, ToolStatus::denied);
  EXPECT_EQ(result_of(replay, "call_1_1").source, ResultSource::execution);
  EXPECT_EQ(result_of(replay, "call_1_2").status, ToolStatus::invalid);
}

TEST(Replay, AResultThatNoToolGaveIsNoRecordOfIt) {
  RunStory original;
  original.begin();
  original.replies({call_of("send", R"({"n":1})")});
  original.is_cancelled();
  original.has_stopped();
  RunStory replay(original, order_of(1));
  replay.begin();
  replay.replies({call_of("send", R"({"n":1})")});
  EXPECT_EQ(result_of(replay, "call_1_1").status, ToolStatus::not_replayable);
}

TEST(Replay, OfAReplayKnowsWhatWasMockedThen) {
  RunStory original;
  play(original);
  RunStory first(original, order_of(1, ReplayTools::recorded, R"({"mocks":{"publish":"out"}})"));
  first.begin();
  first.replies({call_of("publish", R"({"n":3})")});
  first.replies({said("Done.")});
  RunStory second(first, order_of(1));
  second.begin();
  second.replies({call_of("publish", R"({"n":3})")});
  EXPECT_EQ(text_of(result_of(second, "call_1_1")), "out");
  EXPECT_EQ(result_of(second, "call_1_1").source, ResultSource::record);
}

TEST(Replay, LeavesOutTheReasoningOfAnotherModel) {
  RunStory original;
  original.begin();
  ReplyBlock thought = said(R"({"type":"thinking","signature":"s"})");
  thought.type = ReplyBlockType::reasoning;
  original.replies({thought, call_of("read", R"({"n":1})")});
  original.ends("call_1_1", "one");
  original.replies({said("Done.")});
  auto order = order_of(2);
  ModelConfig other = Setting::default_model();
  other.name = "other";
  order.model = &other;
  RunStory replay(original, order);
  for (const ReplyBlock& block : replay.latest<ModelCompleted>().content)
    EXPECT_NE(block.type, ReplyBlockType::reasoning);
  EXPECT_EQ(replay.state().started->model.name, "other");
}

// --- what cannot be replayed

std::optional<Error> refusal(const RunStory& original, const ReplayOrder& order) {
  const auto events = replay_events(order, original.events(), original.agent(), original.now());
  return events ? std::nullopt : std::optional(events.error());
}

TEST(Replay, AStepThatIsNotThereIsRefused) {
  RunStory original;
  play(original);
  EXPECT_EQ(refusal(original, order_of(4))->code, ErrorCode::unknown_step);
}

TEST(Replay, RandomnessIsPinnedOrTheModelIsSaidNotToTakeIt) {
  RunStory original;
  play(original);
  for (const auto choice : {Nondeterminism::pin_seed, Nondeterminism::temperature_0}) {
    auto order = order_of(1);
    order.origin.nondeterminism = choice;
    const auto refused = refusal(original, order);
    ASSERT_TRUE(refused) << name(choice);
    EXPECT_EQ(refused->code, ErrorCode::not_replayable);
    EXPECT_THAT(refused->text, HasSubstr("the model sonnet"));
  }
  Setting takes;
  takes.model.sampling = {"temperature", "seed"};
  RunStory pinnable(takes);
  play(pinnable);
  auto order = order_of(1);
  order.origin.nondeterminism = Nondeterminism::pin_seed;
  RunStory seeded(pinnable, order);
  EXPECT_EQ(seeded.state().started->settings.seed, std::to_string(pinnable.state().started->seed));
  order.origin.nondeterminism = Nondeterminism::temperature_0;
  RunStory cold(pinnable, order);
  EXPECT_EQ(cold.state().started->settings.temperature, "0");
}

TEST(Replay, AMockOfNoUseIsRefused) {
  RunStory original;
  play(original);
  for (const char* patch : {R"({"mocks":{"nothing":"x"}})", R"({"mocks":{"notes_write":"x"}})"}) {
    const auto refused = refusal(original, order_of(1, ReplayTools::recorded, patch));
    ASSERT_TRUE(refused) << patch;
    EXPECT_EQ(refused->code, ErrorCode::not_replayable);
  }
}

TEST(Replay, GoesByTheRecordsUserUntilOneIsGiven) {
  Setting setting;
  setting.scopes.clear();
  RunStory original(setting);
  original.begin();
  original.replies({call_of("read")});
  original.gets_token({"mail"});
  original.ends("call_1_1");
  original.replies({call_of("mail", R"({"n":1})")});
  original.ends("call_2_1", "mailed");
  original.replies({said("Done.")});
  RunStory replay(original, order_of(2));
  EXPECT_EQ(replay.state().scopes, std::vector<std::string>{"mail"});
  replay.begin();
  replay.replies({call_of("mail", R"({"n":1})")});
  EXPECT_EQ(text_of(result_of(replay, "call_2_1")), "mailed");
  auto order = order_of(2);
  order.user = ReplayUser{"eve", {}, {}};
  RunStory hers(original, order);
  hers.begin();
  hers.replies({call_of("mail", R"({"n":1})")});
  EXPECT_EQ(result_of(hers, "call_2_1").status, ToolStatus::denied) << "her token has no such scope";
}

}  // namespace
}  // namespace ratchet::stories
