// Nothing that a key without the role audit is answered has a secret in it, wherever one was seeded.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/json/dom.hpp"
#include "tests/http/api_fixture.hpp"
#include "tests/http/event_reader.hpp"

namespace ratchet {
namespace {

using testing::ApiTest;
using testing::asked;
using testing::replied;
using testing::Reply;

// Put together here, so that no file of ours holds what a scanner takes for a secret.
const std::string letters = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY";
const std::string token = "ghp_" + letters + "zZ99";
const std::string key = "sk-ant-api03-" + letters;
const std::string password = "Tr0ub4dor-and-3";
const std::string hidden = "what the tool hides";

class RedactionTest : public ApiTest {
 protected:
  RedactionTest() {
    options.dev = false;
    add("reader", {Role::read, Role::launch});
    add("admin", {Role::read, Role::launch, Role::approve, Role::audit, Role::admin});
  }

  void add(std::string id, std::vector<Role> roles) {
    options.keys.push_back({id, "default", std::move(roles), sha256("key-of-" + id)});
  }

  static HeaderList as(std::string_view id, std::string_view accept = "application/json") {
    return {{"Authorization", fmt::format("Bearer key-of-{}", id)}, {"Accept", std::string(accept)}};
  }

  void begin(bool hides) {
    auto tool = testing::tool_json("search");
    if (hides) tool.insert(1, R"("redact":["/q","/rows/*/q"],)");
    ASSERT_EQ(post("/v1/tools", tool, as("admin")).status, 201);
    ASSERT_EQ(post("/v1/agents/support/versions", testing::agent_json(R"(,"tools":["search"])"), as("admin"))
                  .status,
              201);
    const auto started =
        post("/v1/runs",
             fmt::format(R"({{"agent_id":"support","input":"my key {}","user_token":"dev:alice",)"
                         R"("metadata":{{"token":"{}"}}}})",
                         key,
                         password),
             as("admin"));
    ASSERT_EQ(started.status, 202) << started.raw.body;
    run = *parse_id<RunKind>(started.text("run_id"));
    path = "/v1/runs/" + to_string(run);
  }

  /// One step with a call, each of them with secrets in it.
  void seed() {
    ToolRequested requested;
    requested.call_id = "c1";
    requested.tool = "search";
    requested.args.text =
        fmt::format(R"({{"nested":[{{"password":"{}"}}],"q":"{}","text":"t {}"}})", password, hidden, token);
    auto reply = replied("I found " + token);
    ReplyBlock call;
    call.type = ReplyBlockType::call;
    call.call_id = "c1";
    call.tool = "search";
    call.args = requested.args.text;
    reply.content.push_back(call);
    ToolResult result;
    result.call_id = "c1";
    result.content = text_content(fmt::format(
        R"({{"api_key":"{}","n":"\"password\": \"{}\"","rows":[{{"q":"{}"}}]}})", key, password, hidden));
    node.happen(run, {asked()});
    node.happen(run, {reply, requested});
    node.happen(run, {result});
    node.finish(run, "the key is " + key);
  }

  static void expect_clean(const std::string& body, const std::string& where) {
    for (const auto& secret : {token, key, password})
      EXPECT_EQ(body.find(secret), std::string::npos) << where << ": " << body;
  }

  RunId run;
  std::string path;
};

TEST_F(RedactionTest, NoAnswerToAReaderHasASecret) {
  begin(true);
  seed();
  for (const std::string target :
       {"", "/events", "/steps", "/steps/1/response", "/steps/1/request", "/verify"}) {
    const auto reply = get(path + target, as("reader"));
    expect_clean(reply.raw.body, target);
    EXPECT_EQ(reply.raw.body.find(hidden), std::string::npos) << target << reply.raw.body;
  }
  const auto stream = get(path + "/events", as("reader", "text/event-stream"));
  EXPECT_NE(stream.raw.body.find("[redacted:"), std::string::npos);
  expect_clean(stream.raw.body, "the stream");
  EXPECT_EQ(stream.raw.body.find(hidden), std::string::npos) << stream.raw.body;
  for (const std::string target :
       {"/v1/runs", "/v1/usage", "/v1/tools", "/v1/agents/support", "/metrics", "/healthz"})
    expect_clean(get(target, as("reader")).raw.body, target);
}

TEST_F(RedactionTest, AnAuditorSeesEveryByte) {
  begin(true);
  seed();
  for (const auto& reply :
       {get(path + "/events", as("admin")), get(path + "/events", as("admin", "text/event-stream"))}) {
    for (const auto& secret : {token, key, password, hidden})
      EXPECT_NE(reply.raw.body.find(secret), std::string::npos);
    EXPECT_EQ(reply.raw.body.find("[redacted:"), std::string::npos);
  }
}

TEST_F(RedactionTest, NoErrorHasASecret) {
  begin(false);
  for (const auto& [target, body] : std::initializer_list<std::pair<std::string, std::string>>{
           {"/v1/" + token, ""},
           {path + "?" + key + "=1", ""},
           {"/v1/runs?status=" + token, ""},
           {"/v1/runs", fmt::format(R"({{"agent_id":"support","input":"x","{}":1}})", token)},
           {"/v1/runs", fmt::format(R"({{"agent_id":"{}","input":"x"}})", key)}}) {
    const auto reply = body.empty() ? get(target, as("reader")) : post(target, body, as("reader"));
    EXPECT_GE(reply.status, 400) << target;
    expect_clean(reply.raw.body, target);
  }
}

TEST_F(RedactionTest, DefinitionsKeepTheirShape) {
  auto tool = testing::tool_json("login");
  tool.replace(tool.find("\"q\":{"),
               5,
               "\"password\":{\"description\":\"as " + token + "\",\"type\":\"string\"},\"q\":{");
  const auto made = post("/v1/tools", tool, as("admin"));
  ASSERT_EQ(made.status, 201) << made.raw.body;
  const auto shown = get("/v1/tools/login", as("reader"));
  EXPECT_EQ(shown.status, 200);
  EXPECT_NE(shown.raw.body.find(R"("password":{"description":"as [redacted:github-token]","type":"string"})"),
            std::string::npos)
      << shown.raw.body;
}

TEST_F(RedactionTest, APreviewIsHeldBackWhereASecretMayStand) {
  begin(false);
  testing::Reader reader(port(), path + "/events", {as("reader").front()});
  EXPECT_EQ(reader.next()->event, "run.started");
  feed.wait_for_subscribers(run, 1);
  node.happen(run, {asked()});
  EXPECT_EQ(reader.next()->event, "model.requested");
  feed.preview(run, 1, 1, 0, "see " + token.substr(0, 10));
  EXPECT_EQ(reader.next()->data, R"({"step":1,"attempt":1,"index":0,"text":"see "})");
  feed.preview(run, 1, 1, 14, token.substr(10));
  feed.preview(run, 1, 1, 4 + token.size(), " and more ");
  const std::string expected = "[redacted:github-token] and more ";
  std::string said;
  while (said.size() < expected.size()) {
    const auto frame = reader.next();
    ASSERT_TRUE(frame);
    expect_clean(frame->data, "a preview");
    const auto data = parse_json(frame->data);
    EXPECT_EQ(data->at("index").to_number<std::size_t>(), 4 + said.size());
    said += std::string_view(data->at("text").as_string());
  }
  EXPECT_EQ(said, expected);
}

TEST_F(RedactionTest, OutputIsHeldBackWhereASecretMayStandAndShownWithoutAHoleOnly) {
  begin(false);
  testing::Reader reader(port(), path + "/events?output=true", {as("reader").front()});
  EXPECT_EQ(reader.next()->event, "run.started");
  feed.wait_for_subscribers(run, 1);
  node.happen(run, {asked()});
  EXPECT_EQ(reader.next()->event, "model.requested");
  feed.output(run, {"c1", 1, 0, "see " + token.substr(0, 10)});
  feed.output(run, {"c1", 1, 14, token.substr(10) + " and "});
  // Of this one the beginning was lost: it may end a secret.
  feed.output(run, {"c2", 1, 9, token.substr(10) + " "});
  feed.output(run, {"c3", 1, 0, "last "});
  std::string said;
  while (!said.ends_with("last ")) {
    const auto frame = reader.next();
    ASSERT_TRUE(frame);
    expect_clean(frame->data, "output");
    const auto data = parse_json(frame->data);
    EXPECT_NE(data->at("call_id").as_string(), "c2");
    said += std::string_view(data->at("text").as_string());
  }
  EXPECT_EQ(said, "see [redacted:github-token] and last ");
}

TEST_F(RedactionTest, AnArtifactKeepsItsLengthAndItsOffsets) {
  begin(false);
  std::string bytes(limits::artifact_slice_bytes - 20, '.');
  bytes += " " + token + " " + std::string(limits::artifact_slice_bytes, '.');
  const auto artifact = "/v1/artifacts/" + to_string(node.keep(run, bytes));
  const auto whole = get(artifact, as("reader")).raw.body;
  EXPECT_EQ(whole.size(), bytes.size());
  EXPECT_EQ(whole.find(token), std::string::npos);
  EXPECT_EQ(whole.find(token.substr(0, 15)), std::string::npos) << "across slices";
  EXPECT_EQ(whole.find(token.substr(15)), std::string::npos) << "across slices";
  const auto at = bytes.find(token);
  for (const std::size_t from : {at - 3, at + 1, at + 10, at + 25}) {
    const auto part = get(fmt::format("{}?offset={}&limit=12", artifact, from), as("reader")).raw.body;
    EXPECT_EQ(part, whole.substr(from, 12)) << from;
  }
  EXPECT_TRUE(get(artifact, as("admin")).raw.body == bytes);
}

TEST_F(RedactionTest, ArtifactsOfAToolThatHidesNeedTheRoleAudit) {
  begin(true);
  const auto artifact = "/v1/artifacts/" + to_string(node.keep(run, "{\"q\":\"x\"}"));
  EXPECT_EQ(get(artifact, as("reader")).code(), "forbidden");
  EXPECT_EQ(get(artifact, as("admin")).status, 200);
}

TEST_F(RedactionTest, RulesCanBeGiven) {
  options.redactor =
      *Redactor::make(*parse_redaction_rules("[[rules]]\nid='ours'\nregex='acme[0-9]+'\nkeywords=['acme']"));
  begin(false);
  node.finish(run, "acme42 " + token);
  EXPECT_EQ(get(path, as("reader")).text("result/text"), "[redacted:ours] " + token);
}

}  // namespace
}  // namespace ratchet
