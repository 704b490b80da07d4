// What holds for every request: who may call, what is refused, and how.

#include <fmt/format.h>

#include "runtime/hash.hpp"
#include "tests/http/api_fixture.hpp"

namespace ratchet {

namespace {

using testing::agent_json;
using testing::ApiTest;

TEST_F(ApiTest, AnUnknownPathIsNotFoundAndAnotherMethodIsNamed) {
  const auto missing = get("/v1/nothing");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.code(), "not_found");
  EXPECT_EQ(missing.raw.header("content-type"), "application/problem+json");
  const auto other = ask("DELETE", "/v1/runs");
  EXPECT_EQ(other.status, 405);
  EXPECT_EQ(other.raw.header("allow"), "POST, GET");
}

TEST_F(ApiTest, AnUnknownParameterIsNamed) {
  const auto reply = get("/v1/runs?statos=queued");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.text("detail").find("'statos'"), std::string::npos) << reply.raw.body;
  EXPECT_EQ(get("/v1/runs?limit=1&limit=2").status, 400);
}

TEST_F(ApiTest, ABadLimitIsRefused) {
  for (const char* limit : {"0", "201", "-1", "x", "", "1e2", "99999999999999999999"}) {
    const auto reply = get(fmt::format("/v1/runs?limit={}", limit));
    EXPECT_EQ(reply.status, 400) << limit;
    EXPECT_NE(reply.text("detail").find("limit"), std::string::npos) << reply.raw.body;
  }
}

TEST_F(ApiTest, WhatIsNotBuiltSaysSo) {
  for (const char* path : {"/"}) {
    const auto reply = get(path);
    EXPECT_EQ(reply.status, 400) << path;
    EXPECT_EQ(reply.code(), "not_supported") << path;
  }
}

TEST_F(ApiTest, AnIdOfTheWrongFormIsRefused) {
  for (const char* path : {"/v1/runs/x",
                           "/v1/runs/run_x",
                           "/v1/runs/run_01ARZ3NDEKTSV4RRFFQ69G5FAVX/events",
                           "/v1/runs/art_01ARZ3NDEKTSV4RRFFQ69G5FAV",
                           "/v1/artifacts/run_01ARZ3NDEKTSV4RRFFQ69G5FAV",
                           "/v1/agents/Support",
                           "/v1/agents/support/versions/0",
                           "/v1/agents/support/versions/one",
                           "/v1/tools/a%20b",
                           "/v1/runs/%"}) {
    const auto reply = get(path);
    EXPECT_EQ(reply.status, 400) << path << reply.raw.body;
  }
  EXPECT_EQ(get("/v1/runs/run_x").code(), "invalid_id");
}

TEST_F(ApiTest, TheRequestIdOfTheClientComesBackIfItIsSane) {
  EXPECT_EQ(get("/healthz", {{"X-Request-Id", "abc-1.2_3"}}).raw.header("x-request-id"), "abc-1.2_3");
  const auto made = get("/healthz", {{"X-Request-Id", "a b"}}).raw.header("x-request-id");
  EXPECT_TRUE(made.starts_with("req_")) << made;
  const auto problem = get("/v1/nothing", {{"X-Request-Id", "abc"}});
  EXPECT_EQ(problem.text("request_id"), "abc");
}

TEST_F(ApiTest, ARequestThatNeverWasOneIsAProblemToo) {
  testing::RawClient client(port());
  client.send("nonsense\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  EXPECT_TRUE(
      description().check_answer("GET", "/nowhere", 400, answer.header("content-type"), answer.body).empty())
      << answer.body;
}

TEST_F(ApiTest, ATooLargeBodyIsRefused) {
  const auto reply = post("/v1/runs", std::string(limits::request_bytes_max + 1, 'x'));
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.code(), "too_large");
}

TEST_F(ApiTest, ADevelopmentServerRefusesForeignPages) {
  EXPECT_EQ(get("/healthz", {{"Host", "evil.example"}}).code(), "foreign_origin");
  EXPECT_EQ(get("/v1/runs", {{"Host", "evil.example:8080"}}).status, 403);
  EXPECT_EQ(get("/v1/runs", {{"Host", "localhost.evil.example"}}).status, 403);
  EXPECT_EQ(get("/v1/runs", {{"Origin", "https://evil.example"}}).status, 403);
  EXPECT_EQ(get("/v1/runs", {{"Origin", "null"}}).status, 403);
  const auto own = fmt::format("localhost:{}", port());
  EXPECT_EQ(get("/v1/runs", {{"Host", own}, {"Origin", "http://localhost:1"}}).status, 403);
  EXPECT_EQ(get("/v1/runs", {{"Host", own}, {"Origin", "http://" + own}}).status, 200);
  EXPECT_EQ(get("/v1/runs", {{"Host", "127.0.0.1"}}).status, 200);
  EXPECT_EQ(get("/v1/runs", {{"Host", "[::1]:80"}}).status, 200);
}

class KeyedApiTest : public ApiTest {
 protected:
  KeyedApiTest() {
    options.dev = false;
    add("reader", "default", {Role::read});
    add("launcher", "default", {Role::read, Role::launch});
    add("admin", "default", {Role::read, Role::launch, Role::approve, Role::audit, Role::admin});
    add("decider", "default", {Role::approve});
    add("auditor", "default", {Role::audit});
    add("stranger", "other", {Role::read, Role::launch, Role::approve, Role::audit, Role::admin});
  }

  void add(std::string id, std::string team, std::vector<Role> roles) {
    options.keys.push_back({id, std::move(team), std::move(roles), sha256("key-of-" + id)});
  }

  static HeaderList as(std::string_view id) {
    return {{"Authorization", fmt::format("Bearer key-of-{}", id)}};
  }
};

TEST_F(KeyedApiTest, WithoutAValidKeyNothingIsTold) {
  for (const HeaderList& headers : {HeaderList{},
                                    HeaderList{{"Authorization", "Bearer wrong"}},
                                    HeaderList{{"Authorization", "Bearer "}},
                                    HeaderList{{"Authorization", "Basic a2V5"}},
                                    HeaderList{{"Authorization", "key-of-reader"}}}) {
    const auto reply = get("/v1/runs", headers);
    EXPECT_EQ(reply.status, 401);
    EXPECT_EQ(reply.code(), "unauthenticated");
    EXPECT_EQ(reply.raw.header("www-authenticate"), "Bearer realm=\"ratchet\"");
  }
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/openapi.json").status, 200);
}

TEST_F(KeyedApiTest, ARoleIsNeededAndNamed) {
  EXPECT_EQ(get("/v1/runs", as("reader")).status, 200);
  const auto reply = post("/v1/runs", "{}", as("reader"));
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.code(), "forbidden");
  EXPECT_NE(reply.text("detail").find("launch"), std::string::npos);
  EXPECT_EQ(post("/v1/agents/support/versions", agent_json(), as("launcher")).status, 403);
  EXPECT_EQ(post("/v1/agents/support/versions", agent_json(), as("admin")).status, 201);
  const std::string run = "/v1/runs/run_01ARZ3NDEKTSV4RRFFQ69G5FAV";
  EXPECT_EQ(get(run + "/steps/1/request", as("launcher")).status, 403);
  EXPECT_EQ(post(run + "/resume", "", as("launcher")).status, 403);
  EXPECT_EQ(post(run + "/cancel", "", as("reader")).status, 403);
}

TEST_F(KeyedApiTest, WhoDecidesAndWhoAuditsNeedNoOtherRole) {
  const std::string run = "/v1/runs/run_01ARZ3NDEKTSV4RRFFQ69G5FAV";
  EXPECT_EQ(get("/v1/approvals", as("decider")).status, 200);
  EXPECT_EQ(get(run + "/approvals/apr_01ARZ3NDEKTSV4RRFFQ69G5FAV", as("decider")).status, 404);
  EXPECT_EQ(get("/v1/runs", as("decider")).status, 403);
  EXPECT_EQ(get(run + "/export?full=true", as("auditor")).code(), "unknown_run");
  const auto reply = get("/v1/approvals", as("auditor"));
  EXPECT_EQ(reply.code(), "forbidden");
  EXPECT_NE(reply.text("detail").find("read or approve"), std::string::npos) << reply.raw.body;
}

TEST_F(KeyedApiTest, AnotherTeamsThingsAreNotThereOnAnyVerb) {
  ASSERT_EQ(post("/v1/agents/support/versions", agent_json(), as("admin")).status, 201);
  const std::string body = R"({"agent_id":"support","input":"hi","user_token":"dev:alice"})";
  const auto started = post("/v1/runs", body, as("launcher"));
  ASSERT_EQ(started.status, 202) << started.raw.body;
  const std::string run = "/v1/runs/" + started.text("run_id");
  const auto artifact = node.keep(parse_id<RunKind>(started.text("run_id")).value(), "bytes");
  const std::string missing = "/v1/runs/run_01ARZ3NDEKTSV4RRFFQ69G5FAV";

  const std::vector<std::pair<const char*, const char*>> verbs = {{"GET", ""},
                                                                  {"GET", "/events"},
                                                                  {"GET", "/steps"},
                                                                  {"GET", "/steps/1/request"},
                                                                  {"GET", "/steps/1/response"},
                                                                  {"GET", "/verify"},
                                                                  {"POST", "/messages"},
                                                                  {"POST", "/cancel"},
                                                                  {"POST", "/calls/c1/resolve"},
                                                                  {"POST", "/user_token"},
                                                                  {"POST", "/resume"}};
  const std::map<std::string, std::string> bodies = {{"/messages", R"({"content":"x"})"},
                                                     {"/calls/c1/resolve", R"({"outcome":"did_not_happen"})"},
                                                     {"/user_token", R"({"user_token":"dev:alice"})"}};
  for (const auto& [method, path] : verbs) {
    const auto at = bodies.find(path);
    const std::string sent = at == bodies.end() ? "" : at->second;
    const auto foreign = ask(method, run + path, sent, as("stranger"));
    const auto absent = ask(method, missing + path, sent, as("stranger"));
    EXPECT_EQ(foreign.status, 404) << method << path << foreign.raw.body;
    EXPECT_EQ(foreign.code(), absent.code()) << method << path;
  }
  EXPECT_TRUE(node.cancels.empty() && node.messages.empty() && node.resumes.empty());
  EXPECT_EQ(get("/v1/artifacts/" + to_string(artifact), as("stranger")).code(), "unknown_artifact");
  EXPECT_EQ(get("/v1/artifacts/" + to_string(artifact), as("reader")).status, 200);
  EXPECT_EQ(get("/v1/agents/support", as("stranger")).code(), "unknown_agent");
  EXPECT_EQ(post("/v1/runs", body, as("stranger")).code(), "unknown_agent");
  EXPECT_EQ(get("/v1/runs", as("stranger")).text("items"), "[]");
  EXPECT_EQ(get("/v1/usage", as("stranger")).text("items"), "[]");
}

TEST_F(KeyedApiTest, AServerWithoutKeysStaysOnLoopback) {
  options.listen = "0.0.0.0:0";
  options.keys.clear();
  Service exposed(parts(journal), options);
  const auto started = exposed.start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().text.find("loopback"), std::string::npos);
}

}  // namespace

}  // namespace ratchet
