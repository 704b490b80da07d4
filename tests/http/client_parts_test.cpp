// The small parts of the transport, each by itself.

#include <arpa/inet.h>
#include <sys/socket.h>

#include <gmock/gmock.h>

#include "http/client/body_reader.hpp"
#include "http/client/callback_gate.hpp"
#include "http/client/deadlines.hpp"
#include "http/client/dial_filter.hpp"
#include "tests/http/client_recorder.hpp"

namespace ratchet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// --- Deadlines

class DeadlinesTest : public testing::Test {
 protected:
  static Deadlines::Time at(int ms) { return Deadlines::Time(std::chrono::milliseconds(ms)); }

  void set(std::uint64_t ticket, int ms) { deadlines.set(ticket, slots[ticket], at(ms)); }

  std::vector<std::uint64_t> expire(int now_ms) {
    std::vector<std::uint64_t> out;
    deadlines.expire(
        at(now_ms),
        [&](std::uint64_t ticket) -> Deadlines::Slot& { return slots.at(ticket); },
        [&](std::uint64_t ticket) { out.push_back(ticket); });
    return out;
  }

  Deadlines deadlines;
  std::map<std::uint64_t, Deadlines::Slot> slots;
};

TEST_F(DeadlinesTest, ExpireInTheirOrder) {
  set(1, 30);
  set(2, 10);
  set(3, 20);
  EXPECT_EQ(deadlines.next(), at(10));
  EXPECT_THAT(expire(9), IsEmpty());
  EXPECT_THAT(expire(20), ElementsAre(2, 3));
  EXPECT_THAT(expire(20), IsEmpty());
  EXPECT_THAT(expire(99), ElementsAre(1));
  EXPECT_EQ(deadlines.next(), std::nullopt);
}

TEST_F(DeadlinesTest, AreMovedLaterAndEarlier) {
  set(1, 10);
  set(1, 50);
  EXPECT_THAT(expire(10), IsEmpty());
  EXPECT_EQ(deadlines.next(), at(50));
  set(1, 20);
  EXPECT_EQ(deadlines.next(), at(20));
  set(1, 60);
  set(1, 70);
  EXPECT_THAT(expire(69), IsEmpty());
  EXPECT_THAT(expire(70), ElementsAre(1));
}

TEST_F(DeadlinesTest, AreGoneOnceTheyAreRemovedOrTakenBack) {
  set(1, 10);
  deadlines.remove(1, slots[1]);
  deadlines.remove(1, slots[1]);
  EXPECT_EQ(deadlines.next(), std::nullopt);
  set(1, 10);
  deadlines.set(1, slots[1], Deadlines::Time::max());
  EXPECT_THAT(expire(1'000), IsEmpty());
  EXPECT_EQ(deadlines.next(), std::nullopt);
}

// --- BodyReader

std::string read(BodyReader& reader, std::size_t size) {
  std::string out(size, '?');
  out.resize(reader.read(out.data(), size));
  return out;
}

TEST(BodyReader, ReadsPiecesAsOneStreamAndFromAnyPosition) {
  const auto body = tests::body_of({"", "ab", "", "cde", ""});
  EXPECT_EQ(body_bytes(body), 5u);
  BodyReader reader(body);
  EXPECT_EQ(read(reader, 3), "abc");
  EXPECT_EQ(read(reader, 9), "de");
  EXPECT_EQ(read(reader, 9), "");
  for (const std::size_t position : {0u, 1u, 2u, 4u, 5u}) {
    EXPECT_TRUE(reader.seek(position));
    EXPECT_EQ(read(reader, 9), std::string("abcde").substr(position));
  }
  EXPECT_FALSE(reader.seek(6));
  const Body nothing;
  BodyReader empty(nothing);
  EXPECT_EQ(read(empty, 9), "");
  EXPECT_TRUE(empty.seek(0));
}

// --- CallbackGate

TEST(CallbackGate, LetsNothingBeginOnceItIsShut) {
  CallbackGate gate;
  int calls = 0;
  EXPECT_TRUE(gate.pass([&] { ++calls; }));
  // Shut from inside, as a callback does that cancels its own call: it still ends, and is the last.
  EXPECT_FALSE(gate.pass([&] {
    gate.shut();
    ++calls;
  }));
  EXPECT_FALSE(gate.pass([&] { ++calls; }));
  EXPECT_FALSE(gate.enter());
  EXPECT_EQ(calls, 2);
}

// --- DialFilter

bool allows(const DialFilter& filter, const std::string& host, std::uint16_t port) {
  sockaddr_in v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    return filter.allows(reinterpret_cast<const sockaddr&>(v4));
  }
  sockaddr_in6 v6{};
  EXPECT_EQ(inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr), 1) << host;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  return filter.allows(reinterpret_cast<const sockaddr&>(v6));
}

TEST(DialFilter, ForbidsOneAddressInEverySpelling) {
  DialFilter filter;
  ASSERT_TRUE(filter.forbid("127.0.0.1:8080"));
  EXPECT_FALSE(allows(filter, "127.0.0.1", 8080));
  EXPECT_FALSE(allows(filter, "0.0.0.0", 8080));
  EXPECT_FALSE(allows(filter, "::ffff:127.0.0.1", 8080));
  EXPECT_TRUE(allows(filter, "127.0.0.1", 8081));
  EXPECT_TRUE(allows(filter, "127.0.0.2", 8080));
  EXPECT_TRUE(allows(filter, "::1", 8080));
}

TEST(DialFilter, ForbidsAllAddressesOfTheMachineToAServerThatListensOnAll) {
  DialFilter filter;
  ASSERT_TRUE(filter.forbid("0.0.0.0:8080"));
  ASSERT_TRUE(filter.forbid("[::]:9090"));
  EXPECT_FALSE(allows(filter, "127.0.0.1", 8080));
  EXPECT_FALSE(allows(filter, "127.1.2.3", 8080));
  EXPECT_FALSE(allows(filter, "::1", 9090));
  EXPECT_FALSE(allows(filter, "127.0.0.1", 9090));
  EXPECT_TRUE(allows(filter, "192.0.2.7", 8080));
  EXPECT_TRUE(allows(filter, "127.0.0.1", 8081));
}

TEST(DialFilter, SaysWhatIsNoAddress) {
  DialFilter filter;
  for (const std::string text : {"localhost", "no-such-host.invalid:80", "127.0.0.1:port", ""})
    EXPECT_EQ(filter.forbid(text).error().code, ErrorCode::invalid_request) << text;
}

}  // namespace
}  // namespace ratchet
