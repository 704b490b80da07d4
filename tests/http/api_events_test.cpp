// Event streams: complete, in order, without repetition, whatever happens meanwhile; and pages of JSON.

#include <atomic>
#include <future>
#include <thread>

#include <fmt/format.h>

#include "runtime/json/dom.hpp"
#include "tests/fakes/forged_journal.hpp"
#include "tests/http/api_fixture.hpp"
#include "tests/http/event_reader.hpp"

namespace ratchet {

namespace {

using testing::ApiTest;
using testing::asked;
using testing::RawClient;
using testing::Reader;
using testing::replied;

class EventsTest : public ApiTest {
 protected:
  void SetUp() override {
    register_agent();
    run = start_run();
  }

  std::string path(std::string_view query = "") {
    return fmt::format("/v1/runs/{}/events{}", to_string(run), query);
  }

  MessageReceived message(std::string text) {
    MessageReceived said;
    said.content = text_content(std::move(text));
    said.from = "test";
    return said;
  }

  RunId run;
};

TEST_F(EventsTest, AFinishedRunIsToldFromItsFirstEventToItsLast) {
  node.happen(run, {asked()});
  node.happen(run, {replied("hello"), message("more")});
  node.finish(run);
  Reader reader(port(), path());
  EXPECT_EQ(reader.head().status, 200);
  EXPECT_EQ(reader.head().header("content-type"), "text/event-stream");
  std::vector<std::string> types;
  for (std::uint64_t seq = 1; const auto frame = reader.next(); ++seq) {
    types.push_back(frame->event);
    EXPECT_EQ(frame->id, std::to_string(seq));
    const auto data = parse_json(frame->data);
    ASSERT_TRUE(data) << frame->data;
    EXPECT_EQ(data->at("seq").to_number<std::uint64_t>(), seq);
    EXPECT_EQ(std::string(data->at("type").as_string()), frame->event);
    for (const auto& error : description().check(*data, "Event"))
      ADD_FAILURE() << error;
    EXPECT_EQ(frame->data.find("SECRET-THOUGHT"), std::string::npos) << "reasoning is never shown";
  }
  EXPECT_EQ(types,
            (std::vector<std::string>{
                "run.started", "model.requested", "model.completed", "message.received", "run.finished"}));
  EXPECT_FALSE(reader.broken()) << "it ends properly";
  feed.wait_for_subscribers(run, 0);
}

TEST_F(EventsTest, ALiveRunIsToldAsItGoes) {
  Reader reader(port(), path());
  EXPECT_EQ(reader.next()->event, "run.started");
  feed.wait_for_subscribers(run, 1);
  for (int i = 0; i < 20; ++i) {
    node.happen(run, {message(std::to_string(i))});
    EXPECT_EQ(reader.next()->id, std::to_string(i + 2));
  }
  node.finish(run);
  EXPECT_EQ(reader.next()->event, "run.finished");
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_FALSE(reader.broken());
  feed.wait_for_subscribers(run, 0);
}

TEST_F(EventsTest, NothingIsMissedOrRepeatedBetweenJournalAndFeed) {
  // The run goes on while many connect: each meets another moment.
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 30; ++i) {
    std::thread going([&] { node.happen(run, {message("a"), message("b")}); });
    readers.push_back(std::make_unique<Reader>(port(), path()));
    going.join();
  }
  node.finish(run);
  std::string all;
  for (int seq = 1; seq <= 62; ++seq)
    all += (seq > 1 ? " " : "") + std::to_string(seq);
  for (auto& reader : readers)
    EXPECT_EQ(reader->ids(), all);
}

TEST_F(EventsTest, WhatIsCommittedAndNotYetPublishedIsNotToldTwice) {
  const auto events = node.commit_only(run, {message("committed")});
  Reader reader(port(), path());
  EXPECT_EQ(reader.next()->id, "1");
  EXPECT_EQ(reader.next()->id, "2");
  feed.publish(run, events);
  node.finish(run);
  EXPECT_EQ(reader.next()->id, "3");
}

TEST_F(EventsTest, AGapInTheFeedIsFilledFromTheJournal) {
  Reader reader(port(), path());
  EXPECT_EQ(reader.next()->id, "1");
  feed.wait_for_subscribers(run, 1);
  node.commit_only(run, {message("never published")});
  node.happen(run, {message("published")});
  EXPECT_EQ(reader.next()->id, "2");
  EXPECT_EQ(reader.next()->id, "3");
}

TEST_F(EventsTest, AClientResumesAfterWhatItHas) {
  for (int i = 0; i < 5; ++i)
    node.happen(run, {message("x")});
  node.finish(run);
  EXPECT_EQ(Reader(port(), path("?after=4")).ids(), "5 6 7");
  EXPECT_EQ(Reader(port(), path(), {{"Last-Event-ID", "6"}}).ids(), "7");
  EXPECT_EQ(Reader(port(), path("?after=2"), {{"Last-Event-ID", "5"}}).ids(), "6 7")
      << "the larger one counts";
  EXPECT_EQ(Reader(port(), path("?after=7")).head().status, 204) << "everything was seen";
  EXPECT_EQ(Reader(port(), path("?after=100")).head().status, 204);
  EXPECT_EQ(Reader(port(), path("?after=x")).head().status, 400);
  EXPECT_EQ(Reader(port(), path("?after=-1")).head().status, 400);
  EXPECT_EQ(Reader(port(), path(), {{"Last-Event-ID", "abc"}}).head().status, 400);
}

TEST_F(EventsTest, AfterTheNewestMeansToWait) {
  Reader reader(port(), path("?after=3"));
  feed.wait_for_subscribers(run, 1);
  for (int i = 0; i < 4; ++i)
    node.happen(run, {message("x")});
  EXPECT_EQ(reader.next()->id, "4");
  node.finish(run);
  EXPECT_EQ(reader.ids(), "5 6");
}

TEST_F(EventsTest, AStreamBeyondTheEndEndsWithTheRun) {
  Reader reader(port(), path("?after=50"));
  feed.wait_for_subscribers(run, 1);
  node.finish(run);
  EXPECT_EQ(reader.ids(), "");
  EXPECT_FALSE(reader.broken());
}

TEST_F(EventsTest, TypesAreFilteredAlikeFromJournalAndFeed) {
  node.happen(run, {message("a")});
  node.happen(run, {asked()});
  Reader reader(port(), path("?types=message.received,model.completed"));
  EXPECT_EQ(reader.next()->id, "2");
  feed.wait_for_subscribers(run, 1);
  feed.preview(run, 1, 1, 0, "not wanted");
  node.happen(run, {replied("b")});
  node.happen(run, {message("c")});
  node.finish(run);
  EXPECT_EQ(reader.ids(), "4 5");
  EXPECT_FALSE(reader.broken()) << "it ends with the run, though that is not shown";
  const auto unknown = get(path("?types=model.complete"), {{"Accept", "text/event-stream"}});
  EXPECT_EQ(unknown.status, 400);
  EXPECT_NE(unknown.text("detail").find("'model.complete'"), std::string::npos);
}

TEST_F(EventsTest, PreviewsComeBetweenTheEventsAroundThem) {
  Reader reader(port(), path());
  EXPECT_EQ(reader.next()->id, "1");
  feed.wait_for_subscribers(run, 1);
  node.happen(run, {asked()});
  EXPECT_EQ(reader.next()->event, "model.requested");
  feed.preview(run, 1, 1, 0, "Hel");
  const auto first = reader.next();
  EXPECT_EQ(first->event, "model.delta");
  EXPECT_EQ(first->id, "") << "the client's last id stays on a durable event";
  EXPECT_EQ(first->data, R"({"step":1,"attempt":1,"index":0,"text":"Hel"})");
  feed.preview(run, 1, 1, 3, "lo \"\n");
  EXPECT_EQ(reader.next()->data, R"({"step":1,"attempt":1,"index":3,"text":"lo \"\n"})");
  feed.end_preview(run);
  node.happen(run, {replied("Hello")});
  EXPECT_EQ(reader.next()->event, "model.completed");
}

TEST_F(EventsTest, WhatACommandWritesIsShownToWhoAsksForIt) {
  node.happen(run, {asked()});
  Reader asks(port(), path("?output=true")), does_not(port(), path());
  for (Reader* reader : {&asks, &does_not})
    for (const char* id : {"1", "2"})
      EXPECT_EQ(reader->next()->id, id);
  feed.wait_for_subscribers(run, 2);
  node.happen(run, {message("now both are live")});
  EXPECT_EQ(asks.next()->id, "3");
  feed.output(run, {"call_1_1", 1, 0, "1 of 2\n"});
  feed.output(run, {"call_1_1", 1, 7, "2 of 2\n"});
  for (const char* piece : {R"("index":0,"text":"1 of 2\n"})", R"("index":7,"text":"2 of 2\n"})"}) {
    const auto frame = asks.next();
    EXPECT_EQ(frame->event, "tool.output");
    EXPECT_EQ(frame->id, "");
    EXPECT_EQ(frame->data, std::string(R"({"call_id":"call_1_1","attempt":1,)") + piece);
    for (const auto& error : description().check(*parse_json(frame->data), "ToolOutput"))
      ADD_FAILURE() << error;
  }
  node.finish(run);
  EXPECT_EQ(asks.ids(), "4");
  EXPECT_EQ(does_not.ids(), "3 4");
  EXPECT_EQ(get(path("?output=true")).status, 400) << "a page has no previews";
}

TEST_F(EventsTest, WhoComesInMidReplyGetsWhatWasSaidAfterTheEventsBefore) {
  node.happen(run, {asked()});
  feed.preview(run, 1, 1, 0, "Hel");
  feed.preview(run, 1, 1, 3, "lo");
  Reader reader(port(), path());
  EXPECT_EQ(reader.next()->id, "1");
  EXPECT_EQ(reader.next()->id, "2");
  EXPECT_EQ(reader.next()->data, R"({"step":1,"attempt":1,"index":0,"text":"Hello"})");
}

TEST_F(EventsTest, APreviewOfAReplyThatIsInTheJournalIsNotShown) {
  node.happen(run, {asked()});
  node.happen(run, {replied("Hello")});
  // The feed has not noticed yet that the reply is over.
  feed.preview(run, 1, 1, 0, "Hello");
  Reader reader(port(), path());
  for (const char* id : {"1", "2", "3"})
    EXPECT_EQ(reader.next()->id, id);
  feed.wait_for_subscribers(run, 1);
  node.finish(run);
  EXPECT_EQ(reader.next()->event, "run.finished");
}

TEST_F(EventsTest, AReaderWhoLeftIsForgotten) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 10; ++i)
    readers.push_back(std::make_unique<Reader>(port(), path()));
  feed.wait_for_subscribers(run, 10);
  for (auto& reader : readers)
    reader->leave();
  feed.wait_for_subscribers(run, 0);
}

TEST_F(EventsTest, AStalledReaderIsDisconnectedAndResumes) {
  RawClient::set_receive_buffer(4'096);
  Reader reader(port(), path());
  RawClient::set_receive_buffer(0);
  EXPECT_EQ(reader.next()->id, "1");
  feed.wait_for_subscribers(run, 1);
  // Far more than the queue and the kernel hold, while the client reads nothing.
  const std::string large(15'000, 'x');
  for (int i = 0; i < 200; ++i)
    node.happen(run, {message(large)});
  std::uint64_t last = 1;
  while (const auto frame = reader.next()) {
    EXPECT_EQ(frame->id, std::to_string(last + 1)) << "no gap";
    EXPECT_TRUE(parse_json(frame->data)) << "whole";
    ++last;
  }
  EXPECT_FALSE(reader.broken()) << "closed after a whole event";
  EXPECT_LT(last, 201u) << "it was disconnected";
  feed.wait_for_subscribers(run, 0);
  node.finish(run);
  Reader again(port(), path(fmt::format("?after={}", last)));
  EXPECT_EQ(again.next()->id, std::to_string(last + 1));
  while (const auto frame = again.next())
    last = std::stoull(frame->id);
  EXPECT_EQ(last, 202u);
}

TEST_F(EventsTest, ALongRecordIsReadWhateverComesMeanwhile) {
  const std::string large(15'000, 'x');
  for (int i = 0; i < 100; ++i)
    node.happen(run, {message(large)});
  Reader reader(port(), path());
  feed.wait_for_subscribers(run, 1);
  // More than the queue holds comes while the journal is still being read: the journal has it all.
  for (int i = 0; i < 100; ++i)
    node.happen(run, {message(large)});
  std::uint64_t seq = 0;
  while (seq < 101 && reader.next())
    ++seq;
  EXPECT_EQ(seq, 101u);
}

class HeldReadTest : public EventsTest {
 protected:
  HeldReadTest() : forged(journal) {}

  void SetUp() override {
    service = std::make_unique<Service>(parts(forged), options);
    serve_on(service->start().value());
    EventsTest::SetUp();
  }

  ForgedJournal forged;
};

TEST_F(HeldReadTest, WhatOverflowsDuringAReadIsReadAfterIt) {
  std::promise<void> reading, go_on;
  std::atomic<bool> first = true;
  forged.forge = [&](std::vector<Record>&) {
    if (!first.exchange(false)) return;
    reading.set_value();
    go_on.get_future().wait();
  };
  Reader reader(port(), path());
  reading.get_future().wait();
  // Two batches that do not fit the queue together; nothing comes after them that would show the gap.
  const std::string large(15'000, 'x');
  node.happen(run, std::vector<Payload>(12, message(large)));
  std::vector<Payload> last(12, message(large));
  last.push_back(RunFinished{});
  node.happen(run, last);
  go_on.set_value();
  std::uint64_t seq = 0;
  while (reader.next())
    ++seq;
  EXPECT_EQ(seq, 26u);
}

TEST_F(EventsTest, ThousandOpenStreamsAllHearOfAnEvent) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 1'000; ++i)
    readers.push_back(std::make_unique<Reader>(port(), path("?after=1")));
  feed.wait_for_subscribers(run, 1'000);
  node.happen(run, {message("hear")});
  node.finish(run);
  for (auto& reader : readers)
    ASSERT_EQ(reader->ids(), "2 3");
  feed.wait_for_subscribers(run, 0);
}

TEST_F(EventsTest, ADrainTellsStreamsWhenToComeBack) {
  Reader reader(port(), path());
  EXPECT_EQ(reader.next()->id, "1");
  feed.wait_for_subscribers(run, 1);
  service->drain();
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.retry(), "2000");
  EXPECT_FALSE(reader.broken());
  feed.wait_for_subscribers(run, 0);
}

TEST_F(EventsTest, PagesOfJsonHoldTheSameObjects) {
  for (int i = 0; i < 4; ++i)
    node.happen(run, {message("x")});
  node.finish(run);
  const auto first = get(path("?limit=4"));
  EXPECT_EQ(first.json.at("items").as_array().size(), 4u);
  EXPECT_EQ(first.text("last_seq"), "6");
  EXPECT_EQ(first.text("items/0/type"), "run.started");
  const auto rest = get(path("?after=4&limit=4"));
  EXPECT_EQ(rest.text("items/0/seq"), "5");
  EXPECT_EQ(rest.text("items/1/type"), "run.finished");
  EXPECT_EQ(get(path("?after=6")).text("items"), "[]");
  const auto filtered = get(path("?types=message.received&after=2&limit=2"));
  EXPECT_EQ(filtered.text("items/1/seq"), "4");
  EXPECT_EQ(get(path("?limit=0")).status, 400);
  EXPECT_EQ(get(path(), {{"Accept", "text/html"}}).code(), "not_acceptable");
  EXPECT_EQ(get(path("?children=true")).status, 200);
  EXPECT_EQ(get(path("?children=yes")).status, 400);
}

}  // namespace

}  // namespace ratchet
