// The issuer's keys over time: fetched once, kept fresh, rotated, and what happens while the issuer is away.

#include <future>

#include <gmock/gmock.h>

#include "http/client/http_connector.hpp"
#include "http/identity/issuer_keys.hpp"
#include "runtime/limits.hpp"
#include "tests/fakes/held_connector.hpp"
#include "tests/fakes/set_clock.hpp"
#include "tests/http/client_recorder.hpp"
#include "tests/http/identity_issuer.hpp"

namespace ratchet {
namespace {

using fakes::ByteServer;
using ::testing::HasSubstr;
using testing::key_set;
using testing::SigningKey;

std::string set_with(std::string id) {
  return key_set({SigningKey::p256(std::move(id)).jwk()});
}

class IssuerKeysTest : public ::testing::Test {
 protected:
  /// What `get` says of a key: "yes", "no", the error's code, or "waits".
  std::shared_ptr<std::string> ask(const std::string& id) {
    auto said = std::make_shared<std::string>("waits");
    keys.get(id, [said, id](Result<IssuerKeys::Keys> got) {
      *said = !got ? std::string(name(got.error().code)) : (*got)->has(id) ? "yes" : "no";
    });
    return said;
  }

  /// Ends the oldest fetch under way.
  void end(ConnectorOutcome outcome) { issuer.end(++ended_, std::move(outcome)); }

  void answer(int status, std::string body) { end(answered(status, std::move(body))); }

  SetClock clock;
  HeldConnector issuer;
  std::vector<std::string> log;
  IssuerKeys keys{issuer, clock, "https://login.example/jwks", [this](LogLevel, const std::string& line) {
                    log.push_back(line);
                  }};

 private:
  Connector::Ticket ended_ = 0;
};

TEST_F(IssuerKeysTest, ManyTokensWaitForOneFetch) {
  const auto first = ask("a"), second = ask("a");
  EXPECT_EQ(*first, "waits");
  ASSERT_EQ(issuer.calls.size(), 1u);
  EXPECT_EQ(issuer.calls[0].method, "GET");
  EXPECT_EQ(issuer.calls[0].url, "https://login.example/jwks");
  EXPECT_EQ(issuer.calls[0].network_allow, (std::vector<std::string>{"login.example:443"}));
  EXPECT_EQ(issuer.calls[0].reply_bytes_max, limits::key_set_bytes_max);
  answer(200, set_with("a"));
  EXPECT_EQ(*first, "yes");
  EXPECT_EQ(*second, "yes");
  EXPECT_EQ(*ask("a"), "yes");
  EXPECT_EQ(issuer.calls.size(), 1u);
}

TEST_F(IssuerKeysTest, AnIssuerThatIsAwayIsAskedOnceASecondAtMost) {
  const auto first = ask("a");
  answer(500, "");
  EXPECT_EQ(*first, "identity_unavailable");
  EXPECT_EQ(*ask("a"), "identity_unavailable");
  EXPECT_EQ(issuer.calls.size(), 1u);
  EXPECT_THAT(log, ::testing::ElementsAre(HasSubstr("HTTP status 500")));
  clock.pass_ms(limits::key_set_retry_ms);
  const auto later = ask("a");
  answer(200, set_with("a"));
  EXPECT_EQ(*later, "yes");
}

TEST_F(IssuerKeysTest, AnOldSetIsRenewedInTheBackgroundAndThenInTheForeground) {
  ask("a");
  answer(200, set_with("a"));
  clock.pass_ms(limits::key_set_fresh_ms + 1);
  EXPECT_EQ(*ask("a"), "yes");
  EXPECT_EQ(issuer.calls.size(), 2u);
  answer(200, key_set({SigningKey::p256("a").jwk(), SigningKey::p256("b").jwk()}));
  EXPECT_EQ(*ask("b"), "yes");
  clock.pass_ms(limits::key_set_patient_ms + 1);
  const auto waits = ask("a");
  EXPECT_EQ(*waits, "waits");
  answer(200, set_with("b"));
  EXPECT_EQ(*waits, "no") << "a key that the issuer has withdrawn";
}

TEST_F(IssuerKeysTest, AnUnknownKeyCausesOneFetchAMinute) {
  ask("a");
  answer(200, set_with("a"));
  clock.pass_ms(limits::key_set_retry_ms);
  const auto rotated = ask("b");
  EXPECT_EQ(*rotated, "waits");
  EXPECT_EQ(*ask("a"), "yes") << "known keys do not wait for it";
  answer(200, set_with("b"));
  EXPECT_EQ(*rotated, "yes");
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(*ask("made up " + std::to_string(i)), "no");
  EXPECT_EQ(issuer.calls.size(), 2u);
  clock.pass_ms(limits::key_set_unknown_retry_ms);
  const auto again = ask("c");
  EXPECT_EQ(issuer.calls.size(), 3u);
  answer(200, set_with("c"));
  EXPECT_EQ(*again, "yes");
}

TEST_F(IssuerKeysTest, WhileTheIssuerIsAwayKnownKeysAreUsedForADay) {
  ask("a");
  answer(200, set_with("a"));
  clock.pass_ms(limits::key_set_patient_ms + 1);
  const auto known = ask("a"), unknown = ask("b");
  ConnectorOutcome gone;
  gone.kind = ConnectorOutcome::Kind::not_sent;
  gone.text = "connection refused";
  end(gone);
  EXPECT_EQ(*known, "yes");
  EXPECT_EQ(*unknown, "identity_unavailable") << "nobody knows whether the issuer has it now";
  clock.pass_ms(limits::key_set_stale_max_ms);
  const auto late = ask("a");
  end(gone);
  EXPECT_EQ(*late, "identity_unavailable");
}

TEST_F(IssuerKeysTest, AnAnswerThatIsNoKeySetChangesNothing) {
  ask("a");
  answer(200, set_with("a"));
  for (const std::string& body : {std::string("<html>"),
                                  std::string("{}"),
                                  std::string(R"({"keys":[]})"),
                                  std::string(R"({"keys":{}})"),
                                  R"({"keys":[)" + std::string(limits::key_set_bytes_max, ' ') + "]}"}) {
    clock.pass_ms(limits::key_set_fresh_ms + 1);
    EXPECT_EQ(*ask("a"), "yes");
    answer(200, body);
    EXPECT_EQ(*ask("a"), "yes");
  }
  std::string many = R"({"keys":[7)";
  for (std::size_t i = 0; i < limits::key_set_keys_max; ++i)
    many += ",7";
  EXPECT_THAT(parse_key_set(many + "]}").error().text, HasSubstr("101 keys"));
}

TEST_F(IssuerKeysTest, AfterStopNobodyIsToldAnything) {
  const auto said = ask("a");
  keys.stop();
  EXPECT_EQ(issuer.cancelled.size(), 1u);
  EXPECT_EQ(*said, "waits");
}

TEST(IssuerKeysOverHttp, AreFetched) {
  ByteServer server({ByteServer::answering(tests::reply_with_length(set_with("a")))});
  Transport transport;
  CurlConnector connector(transport);
  SystemClock clock;
  IssuerKeys keys(connector, clock, server.url("/jwks"), [](LogLevel, const std::string&) {});
  std::promise<bool> has;
  keys.get("a", [&](Result<IssuerKeys::Keys> got) { has.set_value(got && (*got)->has("a")); });
  EXPECT_TRUE(has.get_future().get());
  EXPECT_THAT(server.requests().at(0).head, HasSubstr("GET /jwks HTTP/1.1\r\n"));
}

}  // namespace
}  // namespace ratchet
