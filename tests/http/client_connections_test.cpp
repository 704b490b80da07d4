// The connections of the transport: which are kept, for how many calls, and how long.

#include <gmock/gmock.h>

#include "http/client/transport.hpp"
#include "tests/http/client_recorder.hpp"

namespace ratchet {
namespace {

using fakes::ByteServer;
using tests::post;
using tests::reply_with_length;
using tests::start;
using tests::Started;
using Kind = HttpEnd::Kind;
using testing::HasSubstr;

/// Answers each request, the first ones only once `go` was raised.
ByteServer::Script answering_after(const ByteServer::Signal& go) {
  return {ByteServer::receive(),
          ByteServer::wait(go),
          ByteServer::send(reply_with_length("ok")),
          ByteServer::again()};
}

TEST(TransportConnections, OneServesCallsThatFollowEachOther) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  Transport transport;
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(start(transport, post(server.url())).record->await_end().end->kind, Kind::complete);
  EXPECT_EQ(server.requests().size(), 5u);
  EXPECT_EQ(server.connections(), 1u);
}

TEST(TransportConnections, ACallThatMustNotBeRepeatedHasItsOwn) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  Transport transport;
  EXPECT_EQ(start(transport, post(server.url())).record->await_end().end->kind, Kind::complete);
  auto request = post(server.url());
  request.repeatable = false;
  EXPECT_EQ(start(transport, std::move(request)).record->await_end().end->kind, Kind::complete);
  EXPECT_EQ(server.connections(), 2u);
  EXPECT_TRUE(server.await_closed_by_client(1));  // and does not leave it behind
  EXPECT_EQ(start(transport, post(server.url())).record->await_end().end->kind, Kind::complete);
  EXPECT_EQ(server.connections(), 2u);
}

TEST(TransportConnections, AreKeptOfHoweverManyCalls) {
  const auto go = ByteServer::signal();
  ByteServer server({answering_after(go)});
  TransportOptions options;
  options.lane_calls_max = 4;
  Transport transport(options);
  constexpr std::size_t count = 100;
  for (int round = 1; round <= 3; ++round) {
    std::vector<Started> calls;
    for (std::size_t i = 0; i < count; ++i)
      calls.push_back(start(transport, post(server.url())));
    if (round == 1) {
      ASSERT_TRUE(server.await_requests(count));
      server.raise(go);
    }
    for (const auto& call : calls)
      EXPECT_EQ(call.record->await_end().end->kind, Kind::complete);
    EXPECT_EQ(server.connections(), count) << "round " << round;
  }
}

TEST(TransportConnections, CallsWithoutADescriptorWaitForOthersToEnd) {
  const auto go = ByteServer::signal();
  ByteServer server({answering_after(go)});
  Descriptors files(40);  // of which 30 are shared out
  files.clients = 25;
  Transport transport({.descriptors = &files});
  std::vector<Started> calls;
  for (int i = 0; i < 20; ++i)
    calls.push_back(start(transport, post(server.url(), std::to_string(i))));
  ASSERT_TRUE(server.await_requests(4));
  transport.cancel(calls[10].ticket);
  server.raise(go);
  calls.erase(calls.begin() + 10);
  for (const auto& call : calls)
    EXPECT_EQ(call.record->await_end().end->kind, Kind::complete);
  EXPECT_LE(server.connections(), 5u);
  EXPECT_EQ(server.requests().size(), 19u);  // what was cancelled before its turn was not sent
  EXPECT_EQ(files.calls, 0u);
}

TEST(TransportConnections, AreClosedWhenNobodyUsesThem) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  TransportOptions options;
  options.idle_connection_ms = 20;
  Transport transport(options);
  EXPECT_EQ(start(transport, post(server.url())).record->await_end().end->kind, Kind::complete);
  EXPECT_TRUE(server.await_closed_by_client(1));
  EXPECT_EQ(start(transport, post(server.url())).record->await_end().end->kind, Kind::complete);
  EXPECT_EQ(server.connections(), 2u);
}

TEST(TransportConnections, AreCountedUntilTheyAreClosed) {
  ByteServer server({ByteServer::answering(reply_with_length("ok"))});
  Descriptors files(1'000);
  {
    Transport transport({.descriptors = &files});
    start(transport, post(server.url())).record->await_end();
    EXPECT_EQ(files.call_sockets, 1u);  // kept for the next call
    auto request = post(server.url());
    request.repeatable = false;
    start(transport, std::move(request)).record->await_end();
    EXPECT_TRUE(server.await_closed_by_client(1));
  }
  EXPECT_EQ(files.call_sockets, 0u);
}

TEST(TransportConnections, WhatTheSystemSaidIsToldWhereNoneComesAbout) {
  auto server = std::make_unique<ByteServer>(std::vector<ByteServer::Script>(1));
  const auto url = server->url();
  server.reset();  // nobody listens there now
  Transport transport;
  const auto seen = start(transport, post(url)).record->await_end();
  EXPECT_EQ(seen.end->kind, Kind::unreachable);
  EXPECT_THAT(seen.end->text, HasSubstr("Connection refused"));
}

TEST(TransportConnections, AThousandCallsGoToOneHostAtOnce) {
  const auto go = ByteServer::signal();
  ByteServer server({answering_after(go)});
  Transport transport;
  constexpr std::size_t count = 1'000;
  std::vector<Started> calls;
  for (std::size_t i = 0; i < count; ++i)
    calls.push_back(start(transport, post(server.url(), "call " + std::to_string(i))));
  ASSERT_TRUE(server.await_requests(count));  // all of them are open: nobody was answered yet
  server.raise(go);
  for (const auto& call : calls)
    EXPECT_EQ(call.record->await_end().end->kind, Kind::complete);
  for (std::size_t i = 0; i < count; ++i)
    calls[i] = start(transport, post(server.url(), "call " + std::to_string(i)));
  for (const auto& call : calls)
    EXPECT_EQ(call.record->await_end().end->kind, Kind::complete);
  EXPECT_LE(server.connections(), count);  // the second round found the connections of the first
}

}  // namespace
}  // namespace ratchet
