// Ordering a replay over the API: what is handed to the node, and what is refused before.

#include <gmock/gmock.h>

#include "tests/http/api_fixture.hpp"

namespace ratchet {

namespace {

using testing::ApiTest;
using testing::asked;
using ::testing::HasSubstr;
using testing::replied;

class ReplayTest : public ApiTest {
 protected:
  void SetUp() override {
    register_agent();
    run = start_run();
    node.happen(run, {asked()});
    node.happen(run, {replied("yes")});
    node.finish(run, "yes");
    path = "/v1/runs/" + to_string(run) + "/replay";
  }

  testing::Reply replay(const std::string& more) {
    return post(path,
                R"({"from_step":1,"tools":"recorded","nondeterminism":"accept_divergence")" + more + "}");
  }

  RunId run;
  std::string path;
};

TEST_F(ReplayTest, IsAcceptedAsANewRun) {
  const auto reply = replay("");
  EXPECT_EQ(reply.status, 202) << reply.raw.body;
  EXPECT_EQ(reply.text("replay_of"), to_string(run));
  EXPECT_EQ(reply.text("from_step"), "1");
  EXPECT_EQ(reply.raw.header("location"), "/v1/runs/" + reply.text("run_id"));
  ASSERT_EQ(node.replays.size(), 1u);
  EXPECT_EQ(node.replays[0].run_id, run);
  EXPECT_EQ(node.replays[0].user_id, "");
  EXPECT_EQ(node.replays[0].patch.text, "{}");
}

TEST_F(ReplayTest, HandsOnWhatIsAskedFor) {
  const auto reply = post(
      path,
      R"({"from_step":2,"tools":"live","nondeterminism":"pin_seed","user_token":"dev:ada:mail","idempotency_key":"k",)"
      R"("patch":{"system_prompt":"Other.","model":"opus","budgets":{"max_steps":3},"input":"Do that.",)"
      R"("mocks":{"search":{"a":1}}}})");
  EXPECT_EQ(reply.status, 202) << reply.raw.body;
  const ReplayRun& command = node.replays.at(0);
  EXPECT_EQ(command.from_step, 2u);
  EXPECT_EQ(command.tools, ReplayTools::live);
  EXPECT_EQ(command.nondeterminism, Nondeterminism::pin_seed);
  EXPECT_EQ(command.user_id, "ada");
  EXPECT_EQ(command.idempotency_key, "k");
  ASSERT_TRUE(command.input);
  EXPECT_EQ(command.input->front().text, "Do that.");
  EXPECT_THAT(command.patch.text, HasSubstr(R"("system_prompt":"Other.")"));
  EXPECT_THAT(command.patch.text, Not(HasSubstr("dev:ada")));
}

TEST_F(ReplayTest, PinsToolsThatTheVersionDoesNotHave) {
  ASSERT_EQ(post("/v1/tools", testing::tool_json("search")).status, 201);
  ASSERT_EQ(replay(R"(,"patch":{"tools":["search","notes_read"]})").status, 202);
  EXPECT_THAT(node.replays.at(0).patch.text, HasSubstr(R"("manifests":[)"));
  EXPECT_THAT(node.replays.at(0).patch.text, HasSubstr(R"("name":"search")"));
  EXPECT_EQ(replay(R"(,"patch":{"tools":["nowhere"]})").code(), "invalid_definition");
}

TEST_F(ReplayTest, RefusesWhatItCannotRead) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"tools":"recorded","nondeterminism":"accept_divergence"})", "invalid_request"},
      {R"({"from_step":0,"tools":"recorded","nondeterminism":"accept_divergence"})", "invalid_request"},
      {R"({"from_step":1,"nondeterminism":"accept_divergence"})", "invalid_request"},
      {R"({"from_step":1,"tools":"recorded"})", "invalid_request"},
      {R"({"from_step":1,"tools":"dry","nondeterminism":"accept_divergence"})", "invalid_request"},
      {R"({"from_step":1,"tools":"recorded","nondeterminism":"hope"})", "invalid_request"},
      {R"({"from_step":1,"tools":"recorded","nondeterminism":"pin_seed","patch":{"hooks":[]}})",
       "unknown_field"},
      {R"({"from_step":1,"tools":"recorded","nondeterminism":"pin_seed","patch":{"manifests":[]}})",
       "unknown_field"},
      {R"({"from_step":1,"tools":"recorded","nondeterminism":"pin_seed","patch":[]})", "invalid_request"},
      {R"({"from_step":1,"tools":"live","nondeterminism":"pin_seed","user_token":"nonsense"})",
       "invalid_user_token"}};
  for (const auto& [body, code] : cases)
    EXPECT_EQ(post(path, body).code(), code) << body;
  EXPECT_EQ(post("/v1/runs/run_00000000000000000000000000/replay", "{}").code(), "unknown_run");
  EXPECT_TRUE(node.replays.empty());
}

TEST_F(ReplayTest, ARunIsExportedAndAnUnsoundOneIsNotImported) {
  const auto redacted = get("/v1/runs/" + to_string(run) + "/export");
  EXPECT_EQ(redacted.text("format"), "ratchet export, redacted") << redacted.raw.body;
  EXPECT_EQ(redacted.text("events/0/type"), "run.started");
  EXPECT_EQ(redacted.raw.body.find("SECRET-THOUGHT"), std::string::npos);
  const auto full = get("/v1/runs/" + to_string(run) + "/export?full=true");
  ASSERT_EQ(full.status, 200);
  EXPECT_EQ(full.raw.body.find("SECRET-THOUGHT"), std::string::npos);
  const HeaderList octets = {{"Content-Type", "application/octet-stream"}};
  // What this test's node wrote is whole, and no run of a real one: its costs do not add up.
  const auto reply = post("/v1/runs/import", full.raw.body, octets);
  EXPECT_EQ(reply.code(), "import_refused") << reply.raw.body;
  EXPECT_THAT(reply.text("detail"), HasSubstr("breaks a rule"));
  EXPECT_EQ(post("/v1/runs/import", "nonsense", octets).code(), "import_refused");
  std::string damaged = full.raw.body;
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_EQ(post("/v1/runs/import", damaged, octets).code(), "import_refused");
}

}  // namespace

}  // namespace ratchet
