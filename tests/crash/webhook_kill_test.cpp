// SIGKILL while a webhook is on its way: the next life of the server posts it again, the same under the same
// id, and no more once it was taken.

#include <atomic>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "tests/crash/world.hpp"
#include "tests/fakes/byte_server.hpp"

namespace ratchet::crashing {
namespace {

using fakes::ByteServer;

constexpr const char* scenario = R"(steps:
  - say: All is done.
)";

class WebhookKill : public World {
 protected:
  WebhookKill() : World(scenario) {}
};

std::string webhook_id(const ByteServer::Request& request) {
  constexpr std::string_view name = "\r\nwebhook-id: ";
  const auto at = request.head.find(name);
  if (at == std::string::npos) return "(none)";
  const auto begin = at + name.size();
  return request.head.substr(begin, request.head.find('\r', begin) - begin);
}

void await(const ByteServer::Signal& signal) {
  while (!*signal)
    std::this_thread::yield();
}

TEST_F(WebhookKill, WhatWasOnItsWayIsPostedAgainUnderTheSameId) {
  const auto came = std::make_shared<std::atomic<bool>>(false);
  const auto came_again = std::make_shared<std::atomic<bool>>(false);
  const auto never = std::make_shared<std::atomic<bool>>(false);
  ByteServer receiver({{ByteServer::receive(), ByteServer::tell(came), ByteServer::wait(never)},
                       {ByteServer::receive(),
                        ByteServer::send("HTTP/1.1 204 No Content\r\n\r\n"),
                        ByteServer::tell(came_again),
                        ByteServer::again()}});
  server_.start();
  add_agent(
      "worker",
      R"("notes_write")",
      fmt::format(R"(,"hooks":[{{"at":"on_stop","url":"{}","kind":"logging"}}])", receiver.url("/ended")));
  const std::string id = start_run("worker");
  await(came);
  restart();
  await(came_again);
  restart();
  expect_whole_journal();
  const auto posts = receiver.requests();
  ASSERT_GE(posts.size(), 2u);
  for (const auto& post : posts) {
    EXPECT_EQ(webhook_id(post), webhook_id(posts[0]));
    EXPECT_EQ(post.body, posts[0].body);
  }
  EXPECT_TRUE(webhook_id(posts[0]).starts_with(id)) << posts[0].head;
}

}  // namespace
}  // namespace ratchet::crashing
