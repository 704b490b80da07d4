// Signed user tokens: what is believed, and everything that is not.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "http/identity/base64url.hpp"
#include "http/identity/users.hpp"
#include "runtime/limits.hpp"
#include "tests/fakes/connector.hpp"
#include "tests/fakes/set_clock.hpp"
#include "tests/http/identity_issuer.hpp"

namespace ratchet {
namespace {

using ::testing::HasSubstr;
using testing::hmac_token;
using testing::key_set;
using ::testing::Not;
using testing::SigningKey;

constexpr std::int64_t now_s = 1'790'000'000;

const SigningKey& rsa_key() {
  static const SigningKey key = SigningKey::rsa("r1");
  return key;
}

const SigningKey& other_rsa_key() {
  static const SigningKey key = SigningKey::rsa("r2");
  return key;
}

const SigningKey& ec_key() {
  static const SigningKey key = SigningKey::p256("e1");
  return key;
}

/// The payload of a good token, with `more` members.
std::string payload(std::string_view more = "") {
  return fmt::format(
      R"({{"iss":"https://login.example","aud":"ratchet","sub":"alice","exp":{}{}}})", now_s + 300, more);
}

class TokenTest : public ::testing::Test {
 protected:
  /// What a server that trusts these keys says of a token.
  Result<User> verify(const std::string& token, std::string keys = trusted_keys(), bool dev = false) {
    FakeConnector connector([keys](const ConnectorCall&) { return answered(200, keys); });
    JwtUsers users({{"https://login.example", "ratchet"}, "https://login.example/jwks", dev},
                   connector,
                   clock_,
                   [](LogLevel, const std::string&) {});
    std::optional<Result<User>> out;
    users.verify(token, [&](Result<User> user) { out = std::move(user); });
    return out.value();
  }

  static std::string trusted_keys() {
    return key_set({rsa_key().jwk(), other_rsa_key().jwk(), ec_key().jwk()});
  }

  void expect_refused(const std::string& token, const std::string& why, std::string keys = trusted_keys()) {
    const auto user = verify(token, std::move(keys));
    ASSERT_FALSE(user) << why;
    EXPECT_EQ(name(user.error().code), "invalid_user_token");
    EXPECT_EQ(user.error().pointer, "/user_token");
    EXPECT_THAT(user.error().text, HasSubstr(why));
    // No part of the token is told, whatever is wrong with it.
    for (std::size_t at = 0; at < token.size();) {
      const auto end = std::min(token.find('.', at), token.size());
      if (end - at > 8) {
        EXPECT_THAT(user.error().text, Not(HasSubstr(token.substr(at, end - at))));
      }
      at = end + 1;
    }
  }

  SetClock clock_{now_s};
};

TEST_F(TokenTest, ReadsBase64UrlInOneWayOnly) {
  EXPECT_EQ(base64url_decoded(""), "");
  EXPECT_EQ(base64url_decoded("-_8"), "\xfb\xff");
  EXPECT_EQ(base64url_decoded("Zm9v"), "foo");
  for (const char* text : {"Zm9vYg==", "Zm9vYg=", "+/8", "Z", "Zm9vYh", "-_9", "Zm 9v", "Zm9v\n"})
    EXPECT_FALSE(base64url_decoded(text)) << text;
}

TEST_F(TokenTest, BelievesEachAcceptedAlgorithm) {
  for (const auto& token : {rsa_key().token("RS256", payload(R"(,"scope":"read write  read")")),
                            rsa_key().token("PS256", payload(R"(,"scp":["write","read"])")),
                            ec_key().token("ES256", payload(R"(,"scp":"write read")"))}) {
    const auto user = verify(token);
    ASSERT_TRUE(user) << user.error().text;
    EXPECT_EQ(user->id, "alice");
    EXPECT_EQ(user->scopes, (std::vector<std::string>{"read", "write"}));
    EXPECT_EQ(user->expires_at, (Timestamp{(now_s + 300) * 1'000'000}));
  }
}

TEST_F(TokenTest, AKeyMayBeLeftUnnamedWhereOnlyOneCanBeMeant) {
  const auto unnamed_rsa = rsa_key().token_with_header("RS256", R"({"alg":"RS256"})", payload());
  const auto unnamed_ec = ec_key().token_with_header("ES256", R"({"alg":"ES256"})", payload());
  EXPECT_TRUE(verify(unnamed_ec));
  EXPECT_TRUE(verify(unnamed_rsa, key_set({rsa_key().jwk(), ec_key().jwk()})));
  expect_refused(unnamed_rsa, "does not say which of the issuer's keys");
}

TEST_F(TokenTest, TwoKeysOfOneIdAreBothTried) {
  const auto twin = SigningKey::p256("e1");
  const auto keys = key_set({twin.jwk(), ec_key().jwk()});
  EXPECT_TRUE(verify(ec_key().token("ES256", payload()), keys));
  EXPECT_TRUE(verify(twin.token("ES256", payload()), keys));
  expect_refused(SigningKey::p256("e1").token("ES256", payload()), "signature", keys);
}

TEST_F(TokenTest, RefusesTokensThatNobodySigned) {
  const auto body = testing::base64url(payload());
  for (const char* algorithm : {"none", "None", "NONE", ""}) {
    const auto header = testing::base64url(fmt::format(R"({{"alg":"{}"}})", algorithm));
    expect_refused(header + "." + body + ".", "signed with RS256, PS256 or ES256");
  }
  expect_refused(testing::base64url(R"({"kid":"r1"})") + "." + body + ".", "signed with RS256");
  expect_refused(testing::base64url(R"({"alg":"RS256","kid":"r1"})") + "." + body + ".", "");
}

TEST_F(TokenTest, APublicKeyIsNoSecret) {
  const std::string header = R"({"alg":"HS256","kid":"r1","typ":"JWT"})";
  expect_refused(hmac_token(rsa_key().public_pem(), header, payload()), "not with 'HS256'");
  const std::string honest_header = R"({"alg":"RS256","kid":"r1","typ":"JWT"})";
  expect_refused(hmac_token(rsa_key().public_pem(), honest_header, payload()), "signature");
  const std::string symmetric = R"({"kty":"oct","kid":"s","k":"c2VjcmV0","alg":"HS256"})";
  expect_refused(hmac_token("secret", R"({"alg":"HS256","kid":"s"})", payload()),
                 "not with 'HS256'",
                 key_set({symmetric, rsa_key().jwk()}));
}

TEST_F(TokenTest, RefusesASignatureThatIsNotOfTheNamedKey) {
  const auto header = [](std::string_view algorithm, std::string_view id) {
    return fmt::format(R"({{"alg":"{}","kid":"{}"}})", algorithm, id);
  };
  expect_refused(rsa_key().token_with_header("RS256", header("RS256", "r2"), payload()), "signature");
  expect_refused(rsa_key().token_with_header("RS256", header("PS256", "r1"), payload()), "signature");
  expect_refused(rsa_key().token_with_header("RS256", header("RS256", "e1"), payload()), "no key");
  expect_refused(ec_key().token_with_header("ES256", header("ES256", "r1"), payload()), "no key");
  expect_refused(rsa_key().token_with_header("RS256", header("RS256", "r9"), payload()), "no key");
  const auto stranger = SigningKey::rsa("r1");
  expect_refused(stranger.token("RS256", payload()), "signature");
  // A key that comes with the token is nobody's.
  expect_refused(
      stranger.token_with_header(
          "RS256", fmt::format(R"({{"alg":"RS256","kid":"r1","jwk":{}}})", stranger.jwk()), payload()),
      "signature");
}

TEST_F(TokenTest, RefusesATokenThatWasTouched) {
  const auto token = rsa_key().token("RS256", payload());
  const auto first = token.find('.'), second = token.rfind('.');
  const auto other = rsa_key().token("RS256", payload(R"(,"scope":"admin")"));
  const auto other_first = other.find('.'), other_second = other.rfind('.');
  ASSERT_TRUE(verify(token));
  expect_refused(token.substr(0, first + 1) + other.substr(other_first + 1, other_second - other_first) +
                     token.substr(second + 1),
                 "signature");
  expect_refused(token.substr(0, second + 1), "");
  expect_refused(token.substr(0, second), "three parts");
  expect_refused(token + ".x", "three parts");
  expect_refused(token.substr(0, token.size() - 8), "");
  for (const char* text :
       {"", ".", "..", "...", "a.b.c", "e30.e30.e30", "alice", "dev:alice", "bnVsbA.e30.e30"})
    expect_refused(text, "");
  expect_refused(std::string(limits::user_token_bytes_max, 'A') + ".e30.e30", "header");
}

TEST_F(TokenTest, RefusesHeadersThatAskForMore) {
  const auto with = [](std::string_view more) {
    return rsa_key().token_with_header(
        "RS256", fmt::format(R"({{"alg":"RS256","kid":"r1"{}}})", more), payload());
  };
  EXPECT_TRUE(verify(with(R"(,"typ":"at+jwt")")));
  EXPECT_TRUE(verify(with(R"(,"typ":"application/AT+JWT")")));
  EXPECT_TRUE(verify(with(R"(,"unknown":1)")));
  expect_refused(with(R"(,"crit":["exp"])"), "crit");
  expect_refused(with(R"(,"crit":[])"), "crit");
  expect_refused(with(R"(,"crit":["b64"],"b64":false)"), "crit");
  expect_refused(with(R"(,"typ":"logout+jwt")"), "'logout+jwt' is not a user token");
  expect_refused(with(R"(,"typ":"")"), "is not a user token");
  expect_refused(with(R"(,"typ":7)"), "typ");
  expect_refused(with(R"(,"alg":"none")"), "not a JSON object");  // twice the same name
  expect_refused(rsa_key().token_with_header("RS256", R"({"alg":"RS256","kid":7})", payload()), "kid");
  expect_refused(rsa_key().token_with_header("RS256", R"({"alg":["RS256"],"kid":"r1"})", payload()), "alg");
}

std::string claims(std::string_view json) {
  return rsa_key().token("RS256", json);
}

TEST_F(TokenTest, RefusesTokensOfOthersOrForOthers) {
  const auto with = [](std::string_view issuer, std::string_view audience) {
    return claims(
        fmt::format(R"({{"iss":{},"aud":{},"sub":"alice","exp":{}}})", issuer, audience, now_s + 300));
  };
  const std::string us = R"("https://login.example")";
  EXPECT_TRUE(verify(with(us, R"(["other","ratchet"])")));
  expect_refused(with(R"("https://login.example/")", R"("ratchet")"), "issuer");
  expect_refused(with(R"("https://LOGIN.example")", R"("ratchet")"), "issuer");
  expect_refused(with(R"(["https://login.example"])", R"("ratchet")"), "issuer");
  expect_refused(with("null", R"("ratchet")"), "issuer");
  expect_refused(with(us, R"("ratchet2")"), "audience 'ratchet'");
  expect_refused(with(us, R"("Ratchet")"), "audience");
  expect_refused(with(us, R"(["other"])"), "audience");
  expect_refused(with(us, "[]"), "audience");
  expect_refused(with(us, R"({"ratchet":"ratchet"})"), "audience");
  expect_refused(with(us, R"([["ratchet"]])"), "audience");
  expect_refused(claims(fmt::format(R"({{"aud":"ratchet","sub":"alice","exp":{}}})", now_s + 300)), "issuer");
  expect_refused(
      claims(fmt::format(R"({{"iss":"https://login.example","sub":"alice","exp":{}}})", now_s + 300)),
      "audience");
}

TEST_F(TokenTest, TimesHoldWithinAMinute) {
  const auto with = [](std::string_view times) {
    return claims(fmt::format(R"({{"iss":"https://login.example","aud":"ratchet","sub":"alice"{}}})", times));
  };
  const auto at = [](std::string_view name, std::int64_t offset) {
    return fmt::format(R"(,"{}":{})", name, now_s + offset);
  };
  EXPECT_TRUE(verify(with(at("exp", 1) + at("nbf", 0) + at("iat", 0))));
  EXPECT_TRUE(verify(with(at("exp", -59))));
  EXPECT_TRUE(verify(with(at("exp", 100) + at("nbf", 60) + at("iat", 60))));
  EXPECT_TRUE(verify(with(fmt::format(R"(,"exp":{}.5)", now_s + 1))));
  expect_refused(with(at("exp", -60)), "expired at 2026-");
  expect_refused(with(at("exp", -1'000'000)), "expired");
  expect_refused(with(""), "never expires");
  expect_refused(with(at("exp", 100) + at("nbf", 61)), "not valid before");
  expect_refused(with(at("exp", 100) + at("iat", 61)), "issued in the future");
  for (const char* time : {R"("tomorrow")", "null", "-5", "1e300", "true", "[]"}) {
    expect_refused(with(fmt::format(R"(,"exp":{})", time)), "`exp`");
    expect_refused(with(at("exp", 100) + fmt::format(R"(,"nbf":{})", time)), "`nbf`");
  }
}

TEST_F(TokenTest, SubjectsAndScopesAreBounded) {
  const auto subject = [](std::string_view json) {
    return claims(
        fmt::format(R"({{"iss":"https://login.example","aud":"ratchet","exp":{}{}}})", now_s + 300, json));
  };
  EXPECT_EQ(verify(subject(R"(,"sub":"Zoë | 7")")).value().id, "Zoë | 7");
  for (const auto& sub : {std::string(),
                          std::string(R"(,"sub":"")"),
                          std::string(R"(,"sub":7)"),
                          R"(,"sub":")" + std::string(limits::user_id_bytes_max + 1, 'a') + "\"",
                          std::string(R"(,"sub":"a\nb")"),
                          std::string(R"(,"sub":"a\u0000b")")})
    expect_refused(subject(sub), "subject");

  EXPECT_TRUE(verify(claims(payload()))->scopes.empty());
  EXPECT_TRUE(verify(claims(payload(R"(,"scope":"")")))->scopes.empty());
  EXPECT_EQ(verify(claims(payload(R"(,"scope":"a","scp":["b"])")))->scopes, (std::vector<std::string>{"a"}));
  std::string many;
  for (std::size_t i = 0; i <= limits::scopes_max; ++i)
    many += "s" + std::to_string(i) + " ";
  for (const auto& scope : {many,
                            std::string(limits::scope_bytes_max + 1, 's'),
                            std::string(R"(a\"b)"),
                            std::string(R"(a\nb)"),
                            std::string("zoë")})
    expect_refused(claims(payload(R"(,"scope":")" + scope + "\"")), "scope");
  for (const char* scope : {"7", "null", "{}", R"(["a"])"})
    expect_refused(claims(payload(fmt::format(R"(,"scope":{})", scope))), "`scope`");
  expect_refused(claims(payload(R"(,"scp":["a",7])")), "scope");
  expect_refused(claims(payload(R"(,"scp":["a b"])")), "scope");
}

TEST_F(TokenTest, RefusesPayloadsThatAreNoClaims) {
  for (const char* text : {"", "null", "[]", "\"alice\"", "{", R"({"sub":"a","sub":"b"})", "\xff\xfe"})
    expect_refused(claims(text), "payload");
  expect_refused(claims(std::string(5'000, '[')), "payload");
}

TEST_F(TokenTest, DevTokensAreTakenByDevelopmentServersOnly) {
  expect_refused("dev:alice:read", "three parts");
  const auto user = verify("dev:alice:read", trusted_keys(), true);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->id, "alice");
  EXPECT_TRUE(verify(rsa_key().token("RS256", payload()), trusted_keys(), true));
}

TEST_F(TokenTest, KeysThatMayNotVerifyAreIgnored) {
  const auto weak = SigningKey::rsa("weak", 1'024);
  const auto token = rsa_key().token("RS256", payload());
  for (const auto& jwk : {rsa_key().private_jwk(),
                          rsa_key().jwk(R"(,"use":"enc")"),
                          rsa_key().jwk(R"(,"use":7)"),
                          rsa_key().jwk(R"(,"key_ops":["sign"])"),
                          rsa_key().jwk(R"(,"key_ops":"verify")"),
                          rsa_key().jwk(R"(,"alg":"PS256")"),
                          rsa_key().jwk(R"(,"alg":"HS256")")})
    expect_refused(token, "no key", key_set({jwk, ec_key().jwk()}));
  for (const char* more : {R"(,"use":"sig","alg":"RS256","key_ops":["verify"],"x5c":["x"])", ""})
    EXPECT_TRUE(verify(token, key_set({R"({"kty":"OKP","crv":"Ed25519"})", "7", rsa_key().jwk(more)})))
        << more;
  expect_refused(weak.token("RS256", payload()), "no key", key_set({weak.jwk(), ec_key().jwk()}));
  EXPECT_TRUE(verify(ec_key().token("ES256", payload()), key_set({weak.jwk(), ec_key().jwk()})));
}

TEST_F(TokenTest, AKeyThatIsNotOnItsCurveVerifiesNothing) {
  const std::string coordinate = testing::base64url(std::string(32, 'x'));
  const std::string jwk =
      fmt::format(R"({{"kty":"EC","crv":"P-256","kid":"e1","x":"{0}","y":"{0}"}})", coordinate);
  expect_refused(ec_key().token("ES256", payload()), "key", key_set({jwk}));
  expect_refused(ec_key().token_with_header("ES256", R"({"alg":"ES256","kid":"e1"})", payload()) + "AAAA",
                 "");
}

}  // namespace
}  // namespace ratchet
