// Following a run over streams that break, against a server that sends exactly what it is told.

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/cli/follow.hpp"
#include "tests/fakes/byte_server.hpp"

namespace ratchet::cli {
namespace {

using fakes::ByteServer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string stream_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

std::string event(int seq, const std::string& type, const std::string& more = "") {
  const auto number = std::to_string(seq);
  return "id: " + number + "\nevent: " + type + "\ndata: {\"seq\":" + number + more + "}\n\n";
}

const std::string finished = event(4, "run.finished", ",\"stop_reason\":\"final_answer\"");

ByteServer::Script stream(const std::string& events) {
  return {ByteServer::receive(), ByteServer::send(stream_head + events), ByteServer::close()};
}

ByteServer::Script reply(const std::string& status, const std::string& body) {
  return {ByteServer::receive(),
          ByteServer::send("HTTP/1.1 " + status + "\r\nConnection: close\r\nContent-Length: " +
                           std::to_string(body.size()) + "\r\n\r\n" + body),
          ByteServer::close()};
}

/// Follows a run on a server that plays these scripts.
struct Followed {
  explicit Followed(std::vector<ByteServer::Script> scripts, FollowOptions options = {})
      : server(std::move(scripts)) {
    ApiClient api("http://" + server.host_port(), "");
    Follower follower;
    follower.on_event = [&](std::string_view type, const std::string& data) {
      events.push_back(std::string(type) + data);
    };
    follower.on_break = [&](const std::string& why, std::uint64_t) { breaks.push_back(why); };
    outcome = follow_run(api, "run_1", options, follower);
  }

  std::string request(std::size_t index) { return server.requests().at(index).head; }

  ByteServer server;
  std::vector<std::string> events, breaks;
  Outcome<ExitStatus> outcome;
};

TEST(Follow, ReadsARunToItsAnswer) {
  Followed followed({stream(event(1, "run.started") + ": sign of life\n\n" +
                            "event: model.delta\ndata: {\"index\":0,\"text\":\"Hi\"}\n\n" + finished +
                            event(5, "never.seen"))});
  EXPECT_EQ(followed.outcome.value(), ExitStatus::done);
  EXPECT_THAT(followed.events,
              ElementsAre(R"(run.started{"seq":1})",
                          R"(model.delta{"index":0,"text":"Hi"})",
                          R"(run.finished{"seq":4,"stop_reason":"final_answer"})"));
  EXPECT_THAT(followed.request(0), HasSubstr("GET /v1/runs/run_1/events HTTP/1.1"));
  EXPECT_THAT(followed.request(0), HasSubstr("Last-Event-ID: 0"));
}

std::string below(int seq, const std::string& type) {
  return "event: " + type + "\ndata: {\"run_id\":\"run_2\",\"seq\":" + std::to_string(seq) + "}\n\n";
}

TEST(Follow, TellsEventsOfRunsBelowFromItsOwnAndShowsNoneOfThemTwice) {
  Followed followed(
      {stream(event(1, "run.started") + below(1, "run.started") + below(2, "run.paused") +
              event(2, "model.requested")),
       stream(below(1, "run.started") + below(2, "run.paused") + below(3, "run.finished") + finished)},
      {.children = true, .patience_ms = 60'000});
  EXPECT_EQ(followed.outcome.value(), ExitStatus::done) << "its own end, and no other";
  EXPECT_THAT(followed.events,
              ElementsAre(R"(run.started{"seq":1})",
                          R"(run.started{"run_id":"run_2","seq":1})",
                          R"(run.paused{"run_id":"run_2","seq":2})",
                          R"(model.requested{"seq":2})",
                          R"(run.finished{"run_id":"run_2","seq":3})",
                          R"(run.finished{"seq":4,"stop_reason":"final_answer"})"));
  EXPECT_THAT(followed.request(0), HasSubstr("GET /v1/runs/run_1/events?children=true HTTP/1.1"));
  EXPECT_THAT(followed.request(1), HasSubstr("Last-Event-ID: 2"));
}

TEST(Follow, GoesOnAfterTheLastWholeEventAndShowsNoneTwice) {
  Followed followed({stream(event(1, "run.started") + event(2, "model.requested") +
                            "id: 3\nevent: model.completed\ndata: {\"se"),
                     reply("503 Service Unavailable", R"({"code":"draining","detail":"shutting down"})"),
                     {ByteServer::receive(), ByteServer::reset()},
                     stream(event(2, "model.requested") + event(3, "model.completed") + finished)});
  EXPECT_EQ(followed.outcome.value(), ExitStatus::done);
  EXPECT_THAT(followed.events,
              ElementsAre(R"(run.started{"seq":1})",
                          R"(model.requested{"seq":2})",
                          R"(model.completed{"seq":3})",
                          R"(run.finished{"seq":4,"stop_reason":"final_answer"})"));
  EXPECT_THAT(followed.request(3), HasSubstr("Last-Event-ID: 2"));
  EXPECT_EQ(followed.breaks.size(), 3u);
}

TEST(Follow, AnyOtherEndThanAnAnswerIsSaid) {
  Followed followed({stream(event(9, "run.finished", ",\"stop_reason\":\"cost_limit\""))});
  EXPECT_EQ(followed.outcome.value(), ExitStatus::ended_otherwise);
}

TEST(Follow, LearnsTheEndOfARunThatWasOverBefore) {
  Followed followed(
      {reply("204 No Content", ""), reply("200 OK", R"({"run_id":"run_1","stop_reason":"final_answer"})")},
      {.after = 7});
  EXPECT_EQ(followed.outcome.value(), ExitStatus::done);
  EXPECT_THAT(followed.request(0), HasSubstr("Last-Event-ID: 7"));
  EXPECT_THAT(followed.request(1), HasSubstr("GET /v1/runs/run_1 HTTP/1.1"));
  EXPECT_THAT(followed.events, IsEmpty());
}

TEST(Follow, SaysWhatTheServerRefuses) {
  Followed followed({reply("404 Not Found", R"({"code":"unknown_run","detail":"there is no run run_1"})")});
  ASSERT_FALSE(followed.outcome);
  EXPECT_EQ(followed.outcome.error().status, ExitStatus::not_found);
  EXPECT_EQ(followed.outcome.error().text, "there is no run run_1 (unknown_run)");
}

TEST(Follow, GivesUpWhenItsPatienceIsOver) {
  Followed followed({stream("")}, {.patience_ms = 0});
  ASSERT_FALSE(followed.outcome);
  EXPECT_EQ(followed.outcome.error().status, ExitStatus::unreachable);
}

TEST(Follow, DoesNotWaitForAServerThatNeverWasThere) {
  std::string nobody;
  {
    ByteServer gone({{ByteServer::close()}});
    nobody = gone.host_port();
  }
  ApiClient api("http://" + nobody, "");
  const auto outcome =
      follow_run(api, "run_1", {}, Follower{[](auto, const auto&) {}, [](const auto&, auto) {}});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().status, ExitStatus::unreachable);
  EXPECT_THAT(outcome.error().text, HasSubstr("no answer from http://" + nobody));
}

TEST(ApiClient, TurnsTheStatusOfAReplyIntoThatOfTheCommand) {
  const std::pair<const char*, ExitStatus> expected[] = {{"400 Bad Request", ExitStatus::usage},
                                                         {"401 Unauthorized", ExitStatus::denied},
                                                         {"403 Forbidden", ExitStatus::denied},
                                                         {"404 Not Found", ExitStatus::not_found},
                                                         {"409 Conflict", ExitStatus::ended_otherwise},
                                                         {"413 Content Too Large", ExitStatus::usage},
                                                         {"422 Unprocessable", ExitStatus::usage},
                                                         {"429 Too Many", ExitStatus::ended_otherwise},
                                                         {"500 Oops", ExitStatus::ended_otherwise},
                                                         {"503 Away", ExitStatus::unreachable}};
  for (const auto& [status, exit] : expected) {
    ByteServer server({reply(status, R"({"code":"some_code","title":"T","pointer":"/a"})")});
    ApiClient api("http://" + server.host_port() + "/", "secret-key");
    const auto outcome = api.post("/v1/runs", "{}");
    ASSERT_FALSE(outcome) << status;
    EXPECT_EQ(outcome.error().status, exit) << status;
    EXPECT_EQ(outcome.error().text, "T (some_code) at /a");
    EXPECT_THAT(outcome.error().text, Not(HasSubstr("secret-key")));
    EXPECT_THAT(server.requests().at(0).head, HasSubstr("Authorization: Bearer secret-key"));
    EXPECT_THAT(server.requests().at(0).head, Not(HasSubstr("Expect")));
  }
}

TEST(ApiClient, SaysSoWhenTheReplyIsNoProblemDocument) {
  for (const std::string body : {"", "<html>", "[]", "{\"detail\":\"x\"}"}) {
    ByteServer server({reply("500 Oops", body)});
    ApiClient api("http://" + server.host_port(), "");
    EXPECT_THAT(api.get("/").error().text, HasSubstr("the server answered 500")) << body;
  }
}

}  // namespace
}  // namespace ratchet::cli
