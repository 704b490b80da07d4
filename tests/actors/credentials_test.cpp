// Credentials of users: their own token, or one that is exchanged for it and kept for a while.

#include "actors/credentials.hpp"

#include <gmock/gmock.h>

#include "runtime/limits.hpp"
#include "tests/fakes/held_connector.hpp"
#include "tests/fakes/set_clock.hpp"

namespace ratchet {
namespace {

using testing::HasSubstr;
using Kind = ExchangeAnswer::Kind;

class CredentialsTest : public ::testing::Test {
 protected:
  using Said = std::shared_ptr<std::optional<ExchangeAnswer>>;

  Said get(const std::string& token, const ToolAuth& auth) {
    auto said = std::make_shared<std::optional<ExchangeAnswer>>();
    last = credentials.get(token, auth, [said](ExchangeAnswer answer) { *said = std::move(answer); });
    return said;
  }

  static std::string token(const Said& said) { return *said ? (*said)->token : "(waits)"; }

  static std::string granted(std::string_view token, int seconds) {
    return R"({"token_type":"Bearer","access_token":")" + std::string(token) +
           "\",\"expires_in\":" + std::to_string(seconds) + "}";
  }

  const ToolAuth mail{true, {"email:send"}, "mail"};
  SetClock clock;
  HeldConnector endpoint;
  Credentials credentials{endpoint, clock, ExchangeEndpoint{"https://login.example/token", "ratchet", "s"}};
  Credentials::Ticket last = 0;
};

TEST_F(CredentialsTest, WithoutAnAudienceTheUsersTokenItselfIsSent) {
  EXPECT_EQ(token(get("alice-token", {true, {"read"}, ""})), "alice-token");
  EXPECT_TRUE(endpoint.calls.empty());
}

TEST_F(CredentialsTest, AnExchangedTokenIsKeptUntilShortlyBeforeItExpires) {
  const auto first = get("alice-token", mail);
  EXPECT_EQ(token(first), "(waits)");
  EXPECT_THAT(endpoint.calls.at(0).body, HasSubstr("subject_token=alice-token&"));
  EXPECT_THAT(endpoint.calls.at(0).body, HasSubstr("&audience=mail&scope=email%3Asend"));
  endpoint.answer(1, 200, granted("one", 120));
  EXPECT_EQ(token(first), "one");
  clock.pass_ms(120'000 - limits::exchange_margin_ms - 1);
  EXPECT_EQ(token(get("alice-token", mail)), "one");
  clock.pass_ms(1);
  EXPECT_EQ(token(get("alice-token", mail)), "(waits)");
  endpoint.answer(2, 200, granted("two", 120));
  EXPECT_EQ(token(get("alice-token", mail)), "two");
  EXPECT_EQ(endpoint.calls.size(), 2u);
}

TEST_F(CredentialsTest, OneTokenIsNotSentForAnother) {
  get("alice-token", mail);
  endpoint.answer(1, 200, granted("one", 1'000));
  EXPECT_EQ(token(get("bob-token", mail)), "(waits)");
  EXPECT_EQ(token(get("alice-token", {true, {"email:send"}, "bank"})), "(waits)");
  EXPECT_EQ(token(get("alice-token", {true, {"email:read"}, "mail"})), "(waits)");
  EXPECT_EQ(token(get("alice-token", {true, {}, "mail\nemail:send"})), "(waits)");
  EXPECT_EQ(token(get("alice-token", mail)), "one");
}

TEST_F(CredentialsTest, ARefusalIsNotKept) {
  const auto refused = get("alice-token", mail);
  endpoint.answer(1, 400, R"({"error":"invalid_grant"})");
  EXPECT_EQ((*refused)->kind, Kind::needs_user);
  const auto broken = get("alice-token", mail);
  endpoint.end(2, {.text = "connection refused"});
  EXPECT_EQ((*broken)->kind, Kind::failed);
  EXPECT_EQ(token(get("alice-token", mail)), "(waits)");
}

TEST_F(CredentialsTest, TheOldestGoesWhenThereAreTooMany) {
  for (std::size_t i = 0; i <= limits::exchanged_tokens_max; ++i) {
    const auto user = "token-" + std::to_string(i);
    get(user, mail);
    endpoint.answer(i + 1, 200, granted(user, 10'000));
    if (i != 1) continue;
    EXPECT_EQ(token(get("token-0", mail)), "token-0") << "used again, so the second is the oldest";
  }
  EXPECT_EQ(token(get("token-0", mail)), "token-0");
  EXPECT_EQ(token(get("token-1", mail)), "(waits)");
}

TEST_F(CredentialsTest, WhoCancelsIsNotTold) {
  const auto said = get("alice-token", mail);
  credentials.cancel(last);
  EXPECT_EQ(endpoint.cancelled.size(), 1u);
  EXPECT_EQ(token(said), "(waits)");
}

TEST_F(CredentialsTest, WithoutAnEndpointThereIsNoExchange) {
  Credentials none(endpoint, clock, std::nullopt);
  std::optional<ExchangeAnswer> said;
  none.get("alice-token", mail, [&](ExchangeAnswer answer) { said = std::move(answer); });
  EXPECT_EQ(said->kind, Kind::failed);
  EXPECT_THAT(said->why, HasSubstr("identity.exchange"));
}

}  // namespace
}  // namespace ratchet
