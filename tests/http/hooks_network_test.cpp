// Runs of a whole node whose hooks are asked over real sockets.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/hook_judge.hpp"
#include "http/client/http_connector.hpp"
#include "runtime/tools/manifest.hpp"
#include "tests/actors/node_fixture.hpp"
#include "tests/fakes/byte_server.hpp"

namespace ratchet {
namespace {

using fakes::ByteServer;
using testing::HasSubstr;

std::string reply(std::string_view status, std::string_view body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                     status,
                     body.size(),
                     body);
}

std::shared_ptr<const AgentVersion> noting_agent(const std::string& hook_url) {
  const ToolManifest* tool = find_builtin("notes_write");
  auto agent = std::make_shared<AgentVersion>(*agent_with({*tool}));
  agent->definition.hooks = {{HookPoint::pre_tool, hook_url, HookKind::security}};
  return agent;
}

/// The verdict of the run's one call, and how it ended.
std::pair<std::string, ToolStatus> call_behind(const ByteServer& server, const std::string& path = "/hook") {
  std::atomic<int> replies = 0;
  FakeModelClient models([&](const ModelCall&) {
    return ++replies == 1 ? calls("notes_write", R"({"text":"remember"})") : says("done");
  });
  Transport transport;
  CurlConnector network(transport);
  TestNode test(models, noting_agent("http://" + server.host_port() + path));
  HookJudge judge(network, nullptr, nullptr);
  test.judge = &judge;
  test.restart();
  const RunId run = test.start()->run_id;
  test.wait_for_end(run);
  std::pair<std::string, ToolStatus> found;
  const auto records = test.journal.records(run, 1, SIZE_MAX);
  for (const Record& record : *records)
    for (const Event& event : record.events) {
      if (const auto* requested = std::get_if<ToolRequested>(&event.payload))
        found.first = requested->verdict.hooks;
      if (const auto* result = std::get_if<ToolResult>(&event.payload)) found.second = result->status;
    }
  test.node.reset();
  return found;
}

TEST(HooksOverTheNetwork, AreAskedWithTheCallAndObeyed) {
  ByteServer allows({ByteServer::answering(reply("200 OK", R"({"verdict":"allow"})"))});
  EXPECT_EQ(call_behind(allows), std::pair(std::string("ok"), ToolStatus::ok));
  ASSERT_EQ(allows.requests().size(), 1u);
  EXPECT_THAT(allows.requests()[0].head, HasSubstr("POST /hook HTTP/1.1\r\n"));
  EXPECT_THAT(allows.requests()[0].body,
              HasSubstr(R"("call":{"call_id":"call_1_1","tool":"notes_write","args":{"text":"remember"}})"));

  ByteServer denies({ByteServer::answering(reply("200 OK", R"({"verdict":"deny","reason":"quiet hours"})"))});
  EXPECT_EQ(call_behind(denies), std::pair(std::string("hook 1: quiet hours"), ToolStatus::denied));
}

TEST(HooksOverTheNetwork, NoVerdictIsARefusal) {
  const std::tuple<const char*, ByteServer::Script, const char*> cases[] = {
      {"silence", {ByteServer::receive()}, "200 ms"},
      {"reset", {ByteServer::receive(), ByteServer::reset()}, "did not answer"},
      {"cut",
       {ByteServer::receive(), ByteServer::send("HTTP/1.1 200 OK\r\n"), ByteServer::close()},
       "answer"},
      {"error", ByteServer::answering(reply("500 No", R"({"verdict":"allow"})")), "answered 500"},
      {"redirect",
       ByteServer::answering("HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
       "answered 307"},
      {"garbage", ByteServer::answering(reply("200 OK", "<html>")), "cannot be read"},
  };
  for (const auto& [what, script, why] : cases) {
    ByteServer server({script});
    const auto [word, status] = call_behind(server);
    EXPECT_EQ(status, ToolStatus::denied) << what;
    EXPECT_THAT(word, HasSubstr("hook 1: it")) << what;
    EXPECT_THAT(word, HasSubstr(why)) << what;
  }
}

}  // namespace
}  // namespace ratchet
