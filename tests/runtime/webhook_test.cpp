#include "runtime/webhook.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratchet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

/// The example of the specification's own libraries.
constexpr auto reference_secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr auto reference_signature = "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

Timestamp second(std::int64_t number) {
  return {number * 1'000'000};
}

TEST(Webhook, SignsLikeTheReference) {
  const auto secret = WebhookSecret::parse(reference_secret);
  ASSERT_TRUE(secret) << secret.error().text;
  EXPECT_EQ(secret->sign("msg_p5jXN8AQM9LWM0D4loKWxJek", second(1'614'265'330), R"({"test": 2432232314})"),
            reference_signature);
}

TEST(Webhook, SignsWithEachSecretInOneHeader) {
  // The second was computed with another implementation of HMAC.
  std::string bytes;
  for (char c = 0; c < 32; ++c)
    bytes += c;
  const auto text = webhook_secret_text(bytes);
  EXPECT_EQ(text, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
  const std::vector secrets = {*WebhookSecret::parse(text), *WebhookSecret::parse(reference_secret)};
  const auto headers = webhook_headers(secrets, "run_x_1_0", {1'700'000'000'999'999}, "{}");
  EXPECT_THAT(headers,
              ElementsAre(Pair("webhook-id", "run_x_1_0"),
                          Pair("webhook-timestamp", "1700000000"),
                          Pair("webhook-signature",
                               "v1,u6N+RaI/1KYJJxaDGxkNsfmuCRt60etP7DU26z2+DIo= v1," +
                                   secrets[1].sign("run_x_1_0", second(1'700'000'000), "{}"))));
}

TEST(Webhook, IsNotSignedWithoutASecret) {
  EXPECT_THAT(webhook_headers({}, "id", second(5), "{}"),
              ElementsAre(Pair("webhook-id", "id"), Pair("webhook-timestamp", "5")));
}

TEST(Webhook, RefusesWhatIsNoSecretAndDoesNotShowIt) {
  const std::string cases[] = {"",
                               "whsec_",
                               "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                               "whsec_c2hvcnQ=",
                               "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
                               "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa_-",
                               "whsec_ MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                               "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n",
                               "whsec_" + std::string(88, 'A'),
                               "whsec_" + std::string(1'000'000, 'A')};
  for (const std::string& text : cases) {
    const auto secret = WebhookSecret::parse(text);
    ASSERT_FALSE(secret) << text.substr(0, 100);
    EXPECT_THAT(secret.error().text, Not(HasSubstr("MfKQ"))) << text.substr(0, 100);
  }
  EXPECT_TRUE(WebhookSecret::parse(webhook_secret_text(std::string(64, 'x'))));
}

}  // namespace
}  // namespace ratchet
