// The program with everything that identity touches around it: an issuer, a token endpoint, a decision point
// and a service. What each of them gets, and that the user's token shows up nowhere else.

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/hash.hpp"
#include "runtime/time.hpp"
#include "tests/fakes/directory.hpp"
#include "tests/fakes/process.hpp"
#include "tests/http/client_recorder.hpp"
#include "tests/http/identity_issuer.hpp"

namespace ratchet {
namespace {

namespace fs = std::filesystem;
using fakes::ByteServer;
using fakes::Process;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SigningKey;
using tests::reply_with_length;

const std::string binary = std::string(RATCHET_BINARY_DIR) + "/http/ratchet";
constexpr const char* client_key = "the-clients-key";

class IdentityProgram : public ::testing::Test {
 protected:
  IdentityProgram() {
    write("config.yaml",
          fmt::format(
              R"(models: {{m: {{providers: [{{protocol: scripted, file: scenario.yaml}}]}}}}
keys: [{{id: c, team: shop, roles: [read, launch, admin], sha256: "{}"}}]
identity:
  mode: jwt
  issuer: https://login.example
  audience: ratchet
  jwks_url: "{}"
  exchange: {{token_url: "{}", client_id: ratchet, client_secret_file: secret}}
authorizer: {{kind: authzen, url: "{}", timeout_ms: 60000, api_key_env: RATCHET_TEST_PDP_KEY}}
)",
              to_string(sha256(client_key)),
              issuer.url("/jwks"),
              endpoint.url("/token"),
              point.url("")));
    write("secret", "the-clients-secret\n");
    write("scenario.yaml", "steps: [{call: [{tool: mail, args: {to: bob}}]}, {say: \"{{last_result}}\"}]\n");
    write("agents.yaml",
          fmt::format(R"(name: mail
description: Sends a mail.
kind: http
side_effects: external
idempotency: key
input_schema: {{type: object, required: [to], properties: {{to: {{type: string}}}}}}
network: {{allow: ["{0}"]}}
http: {{url: "http://{0}/send"}}
auth: {{mode: on_behalf_of_user, scopes: ["mail:send"], audience: mail}}
---
agent_id: mailer
model: {{name: m}}
tools: [mail]
policy: [{{tool: mail, then: allow}}]
)",
                      service.host_port()));
  }

  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::unique_ptr<Process> start(std::vector<std::string> words,
                                 const std::vector<std::string>& environment = {}) {
    words.insert(words.begin(), binary);
    return std::make_unique<Process>(std::move(words), path("errors"), environment);
  }

  /// Runs the agent as the user of a token; the exit status, and everything that was printed.
  std::pair<int, std::string> run_as(const std::string& token) {
    std::string address;
    std::getline(std::ifstream(path("data/listen")), address);
    auto client = start({"run", "mailer", "--input", "go", "--url", "http://" + address},
                        {std::string("RATCHET_KEY=") + client_key, "RATCHET_USER_TOKEN=" + token});
    auto printed = client->rest();
    return {client->wait(), printed};
  }

  static std::string claims(std::string_view scope) {
    const auto now_s = SystemClock().now().us / 1'000'000;
    return fmt::format(
        R"({{"iss":"https://login.example","aud":"ratchet","sub":"alice","exp":{},"scope":"{}"}})",
        now_s + 3'600,
        scope);
  }

  const SigningKey key = SigningKey::p256("k1");
  ByteServer issuer{{ByteServer::answering(reply_with_length(testing::key_set({key.jwk()})))}};
  ByteServer endpoint{{ByteServer::answering(
      reply_with_length(R"({"access_token":"alices-mail-token","token_type":"Bearer","expires_in":600})"))}};
  ByteServer point{{ByteServer::answering(reply_with_length(R"({"decision":true})"))}};
  ByteServer service{{ByteServer::answering(reply_with_length("the mail is sent"))}};
  TemporaryDirectory directory_;
  const fs::path folder_ = directory_.path();
};

TEST_F(IdentityProgram, ACallLeavesAsTheUserAndTheTokenIsNowhereToBeSeen) {
  auto server = start({"serve",
                       "--listen",
                       "127.0.0.1:0",
                       "--data-dir",
                       path("data"),
                       "--config",
                       path("config.yaml"),
                       "--agents",
                       path("agents.yaml")},
                      {"RATCHET_TEST_PDP_KEY=the-points-key"});
  ASSERT_TRUE(server->line()) << server->errors();
  const std::string token = key.token("ES256", claims("mail:send"));

  const auto [status, printed] = run_as(token);
  EXPECT_EQ(status, 0) << printed << server->errors();
  EXPECT_THAT(printed, HasSubstr("the mail is sent"));
  EXPECT_THAT(issuer.requests().at(0).head, HasSubstr("GET /jwks HTTP/1.1"));
  EXPECT_THAT(endpoint.requests().at(0).body, HasSubstr("subject_token=" + token + "&"));
  EXPECT_THAT(service.requests().at(0).head, HasSubstr("\r\nAuthorization: Bearer alices-mail-token\r\n"));
  EXPECT_EQ(service.requests().at(0).body, R"({"to":"bob"})");
  const auto asked = point.requests().back();
  EXPECT_THAT(asked.head, HasSubstr("POST /access/v1/evaluation HTTP/1.1"));
  EXPECT_THAT(asked.head, HasSubstr("\r\nAuthorization: Bearer the-points-key\r\n"));
  EXPECT_THAT(asked.body, HasSubstr(R"("id":"alice","properties":{"scopes":["mail:send"],"team":"shop"})"));

  const auto stranger = SigningKey::p256("k1").token("ES256", claims("mail:send"));
  EXPECT_EQ(run_as(stranger).first, 3);
  EXPECT_EQ(run_as("dev:alice:mail:send").first, 3);
  const auto [narrow_status, narrow] = run_as(key.token("ES256", claims("mail:read")));
  EXPECT_EQ(narrow_status, 0);
  EXPECT_THAT(narrow, HasSubstr("the user's token lacks the scope mail:send"));
  EXPECT_EQ(service.requests().size(), 1u);

  server->signal(SIGTERM);
  EXPECT_EQ(server->wait(), 0) << server->errors();
  auto dump = start({"journal", "dump", "--data-dir", path("data")});
  const std::string seen = printed + narrow + dump->rest() + server->errors();
  EXPECT_THAT(seen, HasSubstr("alice"));
  const std::string signature = token.substr(token.rfind('.') + 1),
                    payload = token.substr(token.find('.') + 1, 40);
  for (const std::string& secret : {signature,
                                    payload,
                                    std::string("alices-mail-token"),
                                    std::string("the-points-key"),
                                    std::string("the-clients-secret"),
                                    std::string(client_key)})
    EXPECT_THAT(seen, Not(HasSubstr(secret)));
}

}  // namespace
}  // namespace ratchet
