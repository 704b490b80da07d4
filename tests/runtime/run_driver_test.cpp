// The loop around the rules: what is done when, and what a lost race does not do.

#include <algorithm>

#include <gtest/gtest.h>

#include "runtime/run/driver.hpp"
#include "tests/runtime/run_story.hpp"

namespace ratchet::stories {
namespace {

std::string unpacked(std::string_view record) {
  return std::string(record);
}

/// A driver whose actions are collected, and whose commits succeed when the test says so.
class Driven {
 public:
  explicit Driven(Setting setting = {}) : story_(std::move(setting)) {
    row_ = row_of(story_.state());
    Record record;
    record.salt.fill(1);
    record.events = story_.events();
    row_.head = chain_head(record);
    records_ = {record};
    load();
  }

  void load(bool after_failure = false) {
    ++row_.lease;
    auto loaded = RunDriver::load({heads_, &unpacked}, story_.book(), row_, records_, after_failure);
    ASSERT_TRUE(loaded) << loaded.error().text;
    driver_ = std::move(*loaded);
    actions_.clear();
  }

  RunDriver& operator*() { return *driver_; }

  RunRow& row() { return row_; }

  std::vector<Record>& records() { return records_; }

  void begin(std::vector<signal::Given> waiting = {}) { keep(driver_->begin(std::move(waiting), stamp())); }

  void give(Input input, Token token = 0) {
    keep(driver_->take(signal::Given{std::move(input), token}, stamp()));
  }

  void commit() {
    const auto append = last<action::Append>();
    ASSERT_TRUE(append) << "nothing waits to be committed";
    records_.push_back(*decode_record(append->append.record));
    row_ = append->append.row;
    actions_.clear();
    keep(driver_->take(signal::Committed{}, stamp()));
  }

  void refuse(ErrorCode code) {
    actions_.clear();
    keep(driver_->take(signal::Refused{Error{code, "refused"}}, stamp()));
  }

  void stopped(const Effect& effect) { keep(driver_->take(signal::Stopped{effect}, stamp())); }

  void reload() { keep(driver_->reload(records_, stamp())); }

  void replies(std::vector<ReplyBlock> content) {
    ModelReply reply;
    reply.content = std::move(content);
    reply.usage_reported = true;
    reply.usage = {100, 0, 0, 10};
    const RunState& state = driver_->state();
    give(input::ModelEnded{state.step, state.model.number, {reply, 1, 1}});
  }

  void pass_ms(std::int64_t ms) { now_ = now_.plus_ms(ms); }

  Timestamp now() const { return now_; }

  template <class T>
  int count() const {
    return static_cast<int>(std::count_if(actions_.begin(), actions_.end(), [](const Action& each) {
      return std::holds_alternative<T>(each);
    }));
  }

  template <class T>
  std::optional<T> last() const {
    for (auto each = actions_.rbegin(); each != actions_.rend(); ++each)
      if (const T* action = std::get_if<T>(&*each)) return *action;
    return std::nullopt;
  }

  const std::vector<Action>& actions() const { return actions_; }

 private:
  void keep(std::vector<Action> actions) {
    for (Action& action : actions)
      actions_.push_back(std::move(action));
  }

  Stamp stamp() { return {now_, Entropy({++drawn_})}; }

  RunStory story_;
  HeadCache heads_;
  RunRow row_;
  std::vector<Record> records_;
  std::unique_ptr<RunDriver> driver_;
  std::vector<Action> actions_;
  Timestamp now_{1'764'000'000'000'000};
  std::uint8_t drawn_ = 0;
};

TEST(Driver, StartsAnEffectOnlyWhenItsEventIsDurable) {
  Driven run;
  run.begin();
  EXPECT_EQ(run.count<action::Append>(), 1);
  EXPECT_EQ(run.count<action::StartModel>(), 0);
  EXPECT_EQ(run.count<action::Publish>(), 0);
  run.commit();
  EXPECT_EQ(run.count<action::StartModel>(), 1);
  EXPECT_EQ(run.count<action::Publish>(), 1);
}

TEST(Driver, SendsTheBytesThatWereAnnounced) {
  Driven run;
  run.begin();
  run.commit();
  std::string bytes;
  const auto started = run.last<action::StartModel>();
  for (const auto& piece : started->call.body)
    bytes += *piece;
  const auto& requested = std::get<ModelRequested>(run.records().back().events.back().payload);
  EXPECT_EQ(sha256(bytes), requested.request_hash);
}

TEST(Driver, HasOneAppendUnderWayAtMost) {
  Driven run;
  run.begin();
  run.give(input::Message{text_content("hello"), "x", ""}, 1);
  EXPECT_EQ(run.count<action::Append>(), 1) << "what comes meanwhile waits";
  run.commit();
  EXPECT_EQ(run.count<action::Append>(), 1);
  EXPECT_EQ(run.count<action::Answer>(), 0);
  EXPECT_EQ(run.count<action::StartModel>(), 0) << "effects start when nothing waits to be decided";
  run.commit();
  EXPECT_EQ(run.last<action::Answer>()->token, 1u);
  EXPECT_EQ(run.count<action::StartModel>(), 1);
}

TEST(Driver, AnswersACommandOnlyWhenItIsDurable) {
  Driven run;
  run.begin();
  run.commit();
  run.give(input::Cancel{"x", ""}, 5);
  EXPECT_EQ(run.count<action::Answer>(), 0);
  run.commit();
  ASSERT_TRUE(run.last<action::Answer>());
  EXPECT_EQ(run.last<action::Answer>()->result->seq, 3u);
}

TEST(Driver, StartsNothingTwice) {
  Driven run;
  run.begin();
  run.commit();
  run.give(input::Message{text_content("hello"), "x", ""}, 1);
  run.commit();
  EXPECT_EQ(run.count<action::StartModel>(), 0);
}

TEST(Driver, WaitsForWhatItStoppedBeforeACancelledRunEnds) {
  Driven run;
  run.begin();
  run.commit();
  run.give(input::Cancel{"x", ""}, 1);
  run.commit();
  ASSERT_TRUE(run.last<action::Stop>());
  EXPECT_EQ(run.count<action::Append>(), 0);
  run.stopped(run.last<action::Stop>()->effect);
  EXPECT_EQ(run.count<action::Append>(), 1);
  run.commit();
  EXPECT_EQ(run.count<action::Passivate>(), 1);
}

TEST(Driver, TakesTheCompletionOfWhatItIsStoppingAsItsEnd) {
  Driven run;
  run.begin();
  run.commit();
  run.give(input::Cancel{"x", ""}, 1);
  run.commit();
  run.replies({said("Done.")});
  run.commit();
  run.commit();
  EXPECT_EQ((*run).state().stop_reason, StopReason::cancelled);
  EXPECT_EQ(run.count<action::Passivate>(), 1);
}

TEST(Driver, RestsWhereOnlyAPersonOrTimeCanMoveTheRun) {
  Driven run;
  run.begin();
  run.commit();
  run.replies({call_of("wait", R"({"seconds":60})")});
  run.commit();
  EXPECT_EQ(run.count<action::Passivate>(), 1);
  EXPECT_EQ(run.count<action::WakeAt>(), 0) << "the index of due times wakes it, no timer";
  EXPECT_TRUE((*run).take(signal::Given{input::Due{}, 0}, {run.now(), {}}).empty())
      << "this activation is over";
}

TEST(Driver, HearsTheCommandsThatWokeItBeforeItRestsAgain) {
  Driven run;
  run.begin();
  run.commit();
  run.replies({call_of("publish")});
  run.commit();
  run.load();
  run.begin();
  run.commit();  // call.unknown, run.paused
  EXPECT_EQ(run.count<action::Passivate>(), 1);
  run.load();
  run.begin({{input::Resolve{"call_1_1", CallOutcome::happened, text_content("yes"), "x"}, 9}});
  EXPECT_EQ(run.count<action::Passivate>(), 0);
  run.commit();
  EXPECT_EQ(run.last<action::Answer>()->token, 9u);
  EXPECT_EQ(run.count<action::StartModel>(), 1);
}

TEST(Driver, RestsAtOnceWhereNothingIsToBeDone) {
  Driven run;
  run.begin();
  run.commit();
  run.replies({said("Done.")});
  run.commit();
  run.load();
  run.begin({{input::Cancel{"x", ""}, 3}});
  ASSERT_TRUE(run.last<action::Answer>());
  EXPECT_EQ(run.last<action::Answer>()->result.error().code, ErrorCode::run_finished);
  EXPECT_EQ(run.count<action::Passivate>(), 1);
}

TEST(Driver, SetsItsTimerForARepeatedAttempt) {
  Driven run;
  run.begin();
  run.commit();
  EXPECT_EQ(run.last<action::WakeAt>()->at, seconds_warning_at((*run).state()));
  ModelFailure failure;
  failure.retry_after_ms = 2'000;
  run.give(input::ModelEnded{1, 1, {failure, 1, 1}});
  run.commit();
  EXPECT_EQ(run.last<action::WakeAt>()->at, run.now().plus_ms(2'000));
  run.pass_ms(2'000);
  run.give(input::Due{});
  run.commit();
  EXPECT_EQ(run.count<action::StartModel>(), 1);
}

TEST(Driver, FoldsItsContextAnewForAnotherProvider) {
  Setting setting;
  setting.model.providers.resize(2);
  setting.model.providers[1].protocol = Protocol::openai;
  Driven run(setting);
  run.begin();
  run.commit();
  ModelFailure failure;
  failure.kind = FailureClass::permanent;
  run.give(input::ModelEnded{1, 1, {failure, 1, 1}});
  run.commit();
  EXPECT_EQ(run.count<action::Reload>(), 1);
  run.give(input::Message{text_content("hello"), "x", ""}, 4);
  EXPECT_EQ(run.count<action::Append>(), 0) << "nothing is decided on a context of another form";
  run.reload();
  run.commit();
  run.commit();
  EXPECT_EQ(run.last<action::StartModel>()->call.provider, 1u);
}

// --- a store without room

TEST(Driver, TriesAgainLaterWhenTheStoreHasNoRoom) {
  Driven run;
  run.begin();
  run.commit();
  run.replies({call_of("read")});
  run.refuse(ErrorCode::store_unavailable);
  ASSERT_TRUE(run.last<action::WakeAt>());
  EXPECT_EQ(run.count<action::Append>(), 0);
  run.give(input::Message{text_content("hello"), "x", ""}, 2);
  EXPECT_EQ(run.last<action::Answer>()->result.error().code, ErrorCode::store_unavailable);
  run.pass_ms(ms_between(run.now(), run.last<action::WakeAt>()->at));
  run.give(input::Due{});
  run.commit();
  EXPECT_EQ(run.count<action::StartCall>(), 1) << "the reply was kept";
}

TEST(Driver, RefusesACommandThatFoundNoRoom) {
  Driven run;
  run.begin();
  run.commit();
  run.give(input::Message{text_content("hello"), "x", ""}, 2);
  run.refuse(ErrorCode::store_unavailable);
  EXPECT_EQ(run.last<action::Answer>()->token, 2u);
  EXPECT_EQ((*run).state().messages_pending, 0u);
}

TEST(Driver, LetsACancelThroughBeforeWhatWaitsForRoom) {
  Driven run;
  run.begin();
  run.commit();
  run.replies({call_of("read")});
  run.refuse(ErrorCode::store_unavailable);
  run.give(input::Cancel{"x", ""}, 3);
  ASSERT_TRUE(run.last<action::Append>());
  EXPECT_TRUE(run.last<action::Append>()->reserve);
  run.commit();
  EXPECT_EQ(run.last<action::Answer>()->token, 3u);
  run.commit();  // the reply that waited
  run.commit();
  EXPECT_EQ((*run).state().stop_reason, StopReason::cancelled);
}

TEST(Driver, WaitsToCancelWhereEvenTheReserveIsFull) {
  Driven run;
  run.begin();
  run.commit();
  run.give(input::Cancel{"x", ""}, 3);
  run.commit();
  run.stopped(ModelEffect{1, 1});
  run.refuse(ErrorCode::store_unavailable);
  EXPECT_EQ(run.count<action::Append>(), 0) << "not at once, again and again";
  EXPECT_EQ(run.count<action::WakeAt>(), 1);
}

// --- a run that was taken over

TEST(Driver, GivesUpWhenItsLeaseIsStale) {
  Driven run;
  run.begin();
  run.commit();
  run.give(input::Message{text_content("hello"), "x", ""}, 2);
  run.refuse(ErrorCode::stale_lease);
  EXPECT_EQ(run.count<action::Stop>(), 1) << "what it started is stopped";
  EXPECT_EQ(run.last<action::Answer>()->result.error().code, ErrorCode::stale_lease);
  EXPECT_EQ(run.count<action::GiveUp>(), 1);
  run.give(input::Cancel{"x", ""}, 3);
  EXPECT_EQ(run.count<action::Append>(), 0);
}

// --- the count of activations without progress

TEST(Driver, ClearsTheCountOfActivationsOnceItHasWritten) {
  Driven run;
  run.row().resumes = 2;
  run.load();
  run.begin();
  EXPECT_EQ(run.last<action::Append>()->append.row.resumes, 0u);
}

TEST(Driver, KeepsTheCountAfterAFailureUntilThereIsProgress) {
  Driven run;
  run.row().resumes = 2;
  run.load(true);
  run.begin();
  EXPECT_EQ(run.last<action::Append>()->append.row.resumes, 2u);
  run.commit();
  run.replies({call_of("read")});
  EXPECT_EQ(run.last<action::Append>()->append.row.resumes, 0u);
}

// --- loading

TEST(DriverLoad, RefusesEventsThatDoNotFit) {
  Driven run;
  HeadCache heads;
  RunStory story;
  const auto load = [&](const RunRow& row, const std::vector<Record>& records) {
    const auto loaded = RunDriver::load({heads, &unpacked}, story.book(), row, records);
    return loaded ? std::optional<ErrorCode>() : loaded.error().code;
  };
  EXPECT_EQ(load(run.row(), run.records()), std::nullopt);
  EXPECT_EQ(load(run.row(), {}), ErrorCode::corrupt);
  RunRow ahead = run.row();
  ++ahead.last_seq;
  EXPECT_EQ(load(ahead, run.records()), ErrorCode::corrupt);
  std::vector<Record> gap = run.records();
  gap[0].events[0].seq = 2;
  EXPECT_EQ(load(run.row(), gap), ErrorCode::corrupt);
  std::vector<Record> other = run.records();
  other[0].events[0].payload = RunCancelRequested{};
  EXPECT_EQ(load(run.row(), other), ErrorCode::corrupt);
  std::vector<Record> nowhere = run.records();
  std::get<RunStarted>(nowhere[0].events[0].payload).model.providers.clear();
  EXPECT_EQ(load(run.row(), nowhere), ErrorCode::corrupt);
}

TEST(DriverLoad, RefusesARunOfANewerBuild) {
  Driven run;
  HeadCache heads;
  RunStory story;
  for (auto version : {&RunStarted::rules_version, &RunStarted::assembler_version}) {
    std::vector<Record> records = run.records();
    std::get<RunStarted>(records[0].events[0].payload).*version += 1;
    const auto loaded = RunDriver::load({heads, &unpacked}, story.book(), run.row(), records);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::not_supported);
  }
}

TEST(DriverLoad, RefusesAToolThatTheVersionLacks) {
  Driven run;
  run.begin();
  run.commit();
  run.replies({call_of("publish")});
  run.commit();
  for (Event& event : run.records().back().events)
    if (auto* completed = std::get_if<ModelCompleted>(&event.payload))
      completed->content.back().tool = "gone";
  HeadCache heads;
  RunStory story;
  const auto loaded = RunDriver::load({heads, &unpacked}, story.book(), run.row(), run.records());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace ratchet::stories
