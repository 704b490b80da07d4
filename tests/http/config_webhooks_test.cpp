// What webhooks are signed with, and where it comes from.

#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/config/parse.hpp"
#include "http/config/webhook_secrets.hpp"
#include "tests/fakes/directory.hpp"

namespace ratchet {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string one = webhook_secret_text(std::string(32, '1'));
const std::string two = webhook_secret_text(std::string(32, '2'));

class WebhookSecrets : public testing::Test {
 protected:
  KeySource file(const std::string& bytes) {
    KeySource source;
    source.file = folder_ + "/secret";
    std::ofstream(source.file, std::ios::binary) << bytes;
    return source;
  }

  static std::string sign(const WebhookSecret& secret) { return secret.sign("id", {}, "{}"); }

  TemporaryDirectory directory_;
  const std::string folder_ = directory_.path();
};

TEST_F(WebhookSecrets, AreReadFromAFileOrTheEnvironment) {
  const auto both = read_webhook_secrets(file(one + "," + two + "\n"));
  ASSERT_TRUE(both) << both.error().text;
  ASSERT_EQ(both->size(), 2u);
  EXPECT_EQ(sign(both->at(1)), sign(*WebhookSecret::parse(two)));

  setenv("RATCHET_TEST_WEBHOOK", one.c_str(), 1);
  KeySource variable;
  variable.env = "RATCHET_TEST_WEBHOOK";
  ASSERT_TRUE(read_webhook_secrets(variable));
  EXPECT_EQ(std::getenv("RATCHET_TEST_WEBHOOK"), nullptr);
  EXPECT_TRUE(read_webhook_secrets({})->empty());
}

TEST_F(WebhookSecrets, WhatIsNoSecretIsRefusedAndNotShown) {
  const std::string many = one + "," + one + "," + one + "," + one + "," + one;
  for (const std::string& bytes : {std::string(), std::string("whsec_abc"), one + ",", "," + one, many}) {
    const auto secrets = read_webhook_secrets(file(bytes));
    ASSERT_FALSE(secrets) << bytes;
    EXPECT_EQ(secrets.error().code, ErrorCode::invalid_request);
    EXPECT_THAT(secrets.error().text, Not(HasSubstr(one.substr(10)))) << bytes;
  }
  KeySource missing;
  missing.file = folder_ + "/nope";
  EXPECT_THAT(read_webhook_secrets(missing).error().text, HasSubstr("nope"));
}

TEST_F(WebhookSecrets, AServerWithoutOneMakesItsOwnAndKeepsIt) {
  const auto made = own_webhook_secret(folder_);
  ASSERT_TRUE(made) << made.error().text;
  const auto again = own_webhook_secret(folder_);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(sign(*made), sign(*again));
  struct stat status{};
  ASSERT_EQ(stat((folder_ + "/webhook.secret").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_FALSE(own_webhook_secret(folder_ + "/nowhere"));
}

TEST(WebhookKeys, NameOneSource) {
  const auto config = parse_config("webhooks: {secret_file: keys/webhook}\n");
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->webhook_secret.file, "keys/webhook");
  const auto two_sources = parse_config("webhooks: {secret_file: a, secret_env: B}\n");
  ASSERT_FALSE(two_sources);
  EXPECT_THAT(two_sources.error().text, HasSubstr("only one of"));
}

}  // namespace
}  // namespace ratchet
