// Comparing two runs over the API.

#include <set>

#include <fmt/format.h>

#include "tests/http/api_fixture.hpp"

namespace ratchet {

namespace {

using testing::ApiTest;
using testing::asked;
using testing::replied;

class DiffTest : public ApiTest {
 protected:
  void SetUp() override { register_agent(); }

  /// A run of one step that answers so.
  RunId run_that_says(const std::string& text) {
    const RunId run = start_run();
    node.happen(run, {asked()});
    node.happen(run, {replied(text)});
    node.finish(run, text);
    return run;
  }

  testing::Reply diff(const RunId& run, const RunId& against) {
    return get(fmt::format("/v1/runs/{}/diff?against={}", to_string(run), to_string(against)));
  }
};

TEST_F(DiffTest, SaysWhereTwoRunsPart) {
  const RunId one = run_that_says("yes"), other = run_that_says("no");
  const auto reply = diff(one, other);
  EXPECT_EQ(reply.status, 200) << reply.raw.body;
  EXPECT_EQ(reply.text("first_divergent_step"), "1");
  EXPECT_EQ(reply.text("steps/0/request/same"), "true");
  EXPECT_EQ(reply.text("steps/0/reply/run/text"), "yes");
  EXPECT_EQ(reply.text("steps/0/reply/against/text"), "no");
  EXPECT_EQ(reply.text("cost_delta_usd"), "0.000000");
  EXPECT_EQ(diff(one, one).text("first_divergent_step"), "null");
}

TEST_F(DiffTest, ACostCanBeLower) {
  const RunId longer = run_that_says("yes"), shorter = start_run();
  node.finish(shorter);
  const auto reply = diff(shorter, longer);
  EXPECT_EQ(reply.text("cost_delta_usd"), "-0.023100");
  EXPECT_EQ(reply.text("steps/0/reply/run"), "null");
}

TEST_F(DiffTest, APromptIsFoundAcrossRuns) {
  const RunId one = run_that_says("yes"), other = run_that_says("no");
  const std::string hash = get("/v1/runs/" + to_string(one) + "/steps").text("items/0/prompt_hash");
  const auto found = get("/v1/search/prompts?limit=1&hash=" + hash);
  const auto more = get("/v1/search/prompts?limit=1&hash=" + hash + "&cursor=" + found.text("next_cursor"));
  EXPECT_EQ(found.text("items/0/step"), "1");
  const std::set<std::string> runs = {found.text("items/0/run_id"), more.text("items/0/run_id")};
  EXPECT_EQ(runs, (std::set<std::string>{to_string(one), to_string(other)})) << more.raw.body;
  EXPECT_EQ(more.text("next_cursor"), "null");
  EXPECT_EQ(get("/v1/search/prompts").code(), "invalid_request");
  EXPECT_EQ(get("/v1/search/prompts?hash=12").code(), "invalid_request");
}

TEST_F(DiffTest, OnlyRunsThatAreThereAreCompared) {
  const RunId run = run_that_says("yes");
  const std::string path = "/v1/runs/" + to_string(run) + "/diff";
  EXPECT_EQ(get(path).code(), "invalid_request");
  EXPECT_EQ(get(path + "?against=run_1").code(), "invalid_id");
  EXPECT_EQ(get(path + "?against=run_00000000000000000000000000").code(), "unknown_run");
}

}  // namespace

}  // namespace ratchet
