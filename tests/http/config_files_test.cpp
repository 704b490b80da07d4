// What the configuration draws from outside: files, the environment, addresses.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/config/listen.hpp"
#include "http/config/parse.hpp"
#include "http/config/secrets.hpp"
#include "tests/fakes/directory.hpp"

namespace ratchet {
namespace {

using testing::HasSubstr;
using testing::Not;

class ConfigFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    const auto path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }

  TemporaryDirectory directory_;
  const std::filesystem::path folder_ = directory_.path();
};

TEST_F(ConfigFiles, PathsInAFileAreMeantFromWhereTheFileIs) {
  const auto path = write("ratchet.yaml", R"(
models:
  m:
    providers:
      - {protocol: scripted, file: scenarios/triage.yaml}
      - {protocol: openai, model: x, api_key_file: /etc/key}
      - {protocol: openai, model: x, api_key_file: ../key}
)");
  const auto config = load_config(path);
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_EQ(config->models[0].model.providers[0].scenario_file, (folder_ / "scenarios/triage.yaml").string());
  EXPECT_EQ(config->models[0].api_keys[1].file, "/etc/key");
  EXPECT_EQ(config->models[0].api_keys[2].file, (folder_.parent_path() / "key").string());
}

TEST_F(ConfigFiles, AnErrorNamesTheFile) {
  const auto path = write("ratchet.yaml", "listen: 127.0.0.1:0\nlisten_on: 1\n");
  const auto config = load_config(path);
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().text, HasSubstr(path + ":2:1: there is no key 'listen_on'"));
  EXPECT_FALSE(load_config(path + ".missing"));
  EXPECT_FALSE(load_config(folder_.string())) << "a folder is not a file";
}

TEST_F(ConfigFiles, KeysComeFromFilesCredentialsAndTheEnvironment) {
  const KeySource file{.file = write("key", "  sk-1\n"), .env = {}, .credential = {}};
  EXPECT_EQ(read_key(file).value(), "sk-1");

  const KeySource credential{.file = {}, .env = {}, .credential = "key"};
  EXPECT_FALSE(read_key(credential));
  setenv("CREDENTIALS_DIRECTORY", folder_.c_str(), 1);
  EXPECT_EQ(read_key(credential).value(), "sk-1");
  EXPECT_FALSE(read_key({.file = {}, .env = {}, .credential = "../key"}));
  unsetenv("CREDENTIALS_DIRECTORY");

  ModelEntry entry;
  entry.model.name = "m";
  entry.api_keys = {KeySource{.file = {}, .env = "RATCHET_TEST_KEY", .credential = {}}, file, KeySource{}};
  ServerConfig config;
  config.models = {entry, entry};
  config.identity.exchange.client_secret.env = "RATCHET_TEST_KEY";
  config.authorizer.api_key = file;
  EXPECT_FALSE(read_keys(config));
  setenv("RATCHET_TEST_KEY", "sk-2", 1);
  // The same variable several times: it is removed only when all have been read.
  const auto keys = read_keys(config);
  ASSERT_TRUE(keys) << keys.error().text;
  EXPECT_EQ(keys->exchange, "sk-2");
  EXPECT_EQ(keys->authorizer, "sk-1");
  EXPECT_EQ(keys->models,
            (std::vector<std::vector<std::string>>{{"sk-2", "sk-1", ""}, {"sk-2", "sk-1", ""}}));
  EXPECT_EQ(std::getenv("RATCHET_TEST_KEY"), nullptr) << "a child process would inherit the key";
}

TEST_F(ConfigFiles, AKeyThatCannotStandInAHeaderIsRefusedAndNotShown) {
  for (const std::string bytes : {"", " \n", "sk-secret\r\nx-evil: 1", "sk secret", "sk-\xC3\xA4secret"}) {
    const auto key = read_key({.file = write("key", bytes), .env = {}, .credential = {}});
    ASSERT_FALSE(key) << bytes;
    EXPECT_THAT(key.error().text, Not(HasSubstr("secret"))) << bytes;
  }
  EXPECT_FALSE(read_key({.file = write("key", std::string(100'000, 'x')), .env = {}, .credential = {}}));
  EXPECT_FALSE(read_key({.file = folder_.string(), .env = {}, .credential = {}}));
  EXPECT_FALSE(read_key({.file = (folder_ / "none").string(), .env = {}, .credential = {}}));
}

TEST(Listen, KnowsLoopbackFromTheRest) {
  for (const char* text : {"127.0.0.1:0", "127.8.9.1:80", "[::1]:8080", "localhost:65535"})
    EXPECT_TRUE(parse_listen(text) && parse_listen(text)->loopback) << text;
  for (const char* text : {"0.0.0.0:80", "[::]:80", "10.0.0.1:1", "[::ffff:127.0.0.1]:1"})
    EXPECT_TRUE(parse_listen(text) && !parse_listen(text)->loopback) << text;
  for (const char* text : {"",
                           ":80",
                           "127.0.0.1",
                           "127.0.0.1:",
                           "127.0.0.1:65536",
                           "127.0.0.1:8x",
                           "127.1:80",
                           "::1:80",
                           "[::1]",
                           "[127.0.0.1]:80",
                           "example.com:80",
                           "127.0.0.1:-1"})
    EXPECT_FALSE(parse_listen(text)) << text;
  EXPECT_EQ(to_string(*parse_listen("[::1]:80")), "[::1]:80");
  EXPECT_EQ(to_string(*parse_listen("127.0.0.1:80")), "127.0.0.1:80");
}

TEST(Listen, NothingButLoopbackIsServedWithoutKeys) {
  ServerConfig config;
  EXPECT_TRUE(check_exposure(config, true));
  EXPECT_TRUE(check_exposure(config, false));
  config.listen = "0.0.0.0:80";
  EXPECT_FALSE(check_exposure(config, false));
  config.keys.push_back({"ci", "payments", {Role::read}, {}});
  EXPECT_TRUE(check_exposure(config, false));
  EXPECT_FALSE(check_exposure(config, true)) << "--dev asks for no key";
}

}  // namespace
}  // namespace ratchet
