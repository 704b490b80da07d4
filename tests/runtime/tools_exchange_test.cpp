// The words of a token exchange (RFC 8693), and what of an answer is taken.

#include <gmock/gmock.h>

#include "runtime/tools/token_exchange.hpp"

namespace ratchet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using Kind = ExchangeAnswer::Kind;

ConnectorOutcome answered(int status, std::string body) {
  ConnectorOutcome outcome;
  outcome.kind = ConnectorOutcome::Kind::answered;
  outcome.status = status;
  outcome.body = std::move(body);
  return outcome;
}

TEST(TokenExchange, AsksAsAClientForTheUser) {
  const auto call = exchange_call(
      {"https://login.example/token", "rat:chet", "s&cret"}, "user+token", "mail svc", {"a", "b:c"});
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.url, "https://login.example/token");
  EXPECT_EQ(call.network_allow, (std::vector<std::string>{"login.example:443"}));
  EXPECT_TRUE(call.repeatable);
  // base64 of rat%3Achet:s%26cret
  EXPECT_THAT(call.headers, Contains(Pair("Authorization", "Basic cmF0JTNBY2hldDpzJTI2Y3JldA==")));
  EXPECT_THAT(call.headers, Contains(Pair("Content-Type", "application/x-www-form-urlencoded")));
  EXPECT_EQ(call.body,
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=user%2Btoken"
            "&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
            "&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
            "&audience=mail%20svc&scope=a%20b%3Ac");
  EXPECT_THAT(exchange_call({"https://x/t", "c", "s"}, "t", "a", {}).body, Not(HasSubstr("scope")));
}

TEST(TokenExchange, TakesABearersTokenAndItsLife) {
  const auto answer =
      read_exchange(answered(200, R"({"access_token":"tok","token_type":"bearer","expires_in":300,"x":1})"));
  EXPECT_EQ(answer.kind, Kind::token);
  EXPECT_EQ(answer.token, "tok");
  EXPECT_EQ(answer.life_ms, 300'000);
  EXPECT_EQ(read_exchange(answered(200, R"({"access_token":"t","token_type":"Bearer"})")).life_ms,
            std::nullopt);
  EXPECT_GT(*read_exchange(answered(200, R"({"access_token":"t","token_type":"Bearer","expires_in":1e300})"))
                 .life_ms,
            0);
}

TEST(TokenExchange, SaysWhetherAnotherTokenOfTheUserWouldHelp) {
  for (const auto& outcome : {answered(400, R"({"error":"invalid_grant","error_description":"secret"})"),
                              answered(401, R"({"error":"invalid_token"})"),
                              answered(401, "")})
    EXPECT_EQ(read_exchange(outcome).kind, Kind::needs_user) << outcome.body;
  ConnectorOutcome gone;
  gone.text = "connection refused";
  const std::pair<ConnectorOutcome, const char*> failures[] = {
      {answered(401, R"({"error":"invalid_client"})"), "401: invalid_client"},
      {answered(400, R"({"error":"invalid_target"})"), "400: invalid_target"},
      {answered(400, R"({"error":"eyJhbGciOi.secret"})"), "400"},
      {answered(500, "secret"), "500"},
      {answered(302, ""), "302"},
      {gone, "connection refused"},
      {answered(200, "secret"), "JSON object"},
      {answered(200, "[]"), "JSON object"},
      {answered(200, R"({"token_type":"Bearer"})"), "access_token"},
      {answered(200, R"({"access_token":"","token_type":"Bearer"})"), "access_token"},
      {answered(200, R"({"access_token":"secret\r\nX: y","token_type":"Bearer"})"), "access_token"},
      {answered(200, R"({"access_token":"secret"})"), "Bearer"},
      {answered(200, R"({"access_token":"secret","token_type":"DPoP"})"), "Bearer"},
      {answered(200, R"({"access_token":"secret","token_type":"N_A"})"), "Bearer"},
      {answered(200, R"({"access_token":"secret","token_type":"Bearer","expires_in":"300"})"), "expires_in"},
      {answered(200, R"({"access_token":"secret","token_type":"Bearer","expires_in":-1})"), "expires_in"},
  };
  for (const auto& [outcome, word] : failures) {
    const auto answer = read_exchange(outcome);
    EXPECT_EQ(answer.kind, Kind::failed) << outcome.body;
    EXPECT_TRUE(answer.token.empty());
    EXPECT_THAT(answer.why, HasSubstr(word)) << outcome.body;
    EXPECT_THAT(answer.why, Not(HasSubstr("secret"))) << outcome.body;
  }
}

}  // namespace
}  // namespace ratchet
