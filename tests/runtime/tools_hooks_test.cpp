#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/hooks.hpp"
#include "tests/fakes/connector.hpp"

namespace ratchet {
namespace {

using testing::HasSubstr;

JudgeQuestion question() {
  auto tool = std::make_shared<ToolManifest>();
  tool->name = "pay";
  tool->input_schema.text =
      R"({"type":"object","required":["to"],"properties":{"to":{"type":"string"}},"additionalProperties":false})";
  JudgeQuestion question;
  question.run_id = *parse_id<RunKind>("run_01JZZZZZZZZZZZZZZZZZZZZZZZ");
  question.agent_id = "shop";
  question.user_id = "ada \"x\"";
  question.step = 3;
  question.call_id = "call_3_1";
  question.args = R"({"to":"bob"})";
  question.tool = std::move(tool);
  question.hooks = true;
  return question;
}

HookAnswer read(std::string body, int status = 200) {
  return read_hook_answer(HookPoint::pre_tool, answered(status, std::move(body)));
}

TEST(Hooks, AreAskedAboutTheCallAtTheirOwnAddressOnly) {
  const HookRule hook{HookPoint::pre_tool, "http://127.0.0.1:9000/hook?x=1", HookKind::security};
  const ConnectorCall call = hook_call(hook, question());
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.url, hook.url);
  EXPECT_EQ(call.network_allow, std::vector<std::string>{"127.0.0.1:9000"});
  EXPECT_EQ(call.timeout_ms, limits::hook_timeout_ms);
  EXPECT_EQ(call.reply_bytes_max, limits::hook_reply_bytes_max);
  EXPECT_EQ(call.body,
            R"({"at":"pre_tool","run_id":"run_01JZZZZZZZZZZZZZZZZZZZZZZZ","step":3,"agent_id":"shop",)"
            R"("user_id":"ada \"x\"","call":{"call_id":"call_3_1","tool":"pay","args":{"to":"bob"}},)"
            R"("replay":false})");
}

TEST(Hooks, SayAllowDenyOrRewrite) {
  EXPECT_EQ(read(R"({"verdict":"allow"})").outcome, HookOutcome::allow);
  const auto denied = read(R"({"verdict":"deny","reason":"too\nmuch"})");
  EXPECT_EQ(denied.outcome, HookOutcome::deny);
  EXPECT_EQ(denied.reason, "too much") << "one line";
  const auto rewritten = read(R"({"args":{"b":1.0,"a":2},"verdict":"rewrite"})");
  EXPECT_EQ(rewritten.outcome, HookOutcome::rewrite);
  EXPECT_EQ(rewritten.rewrite, R"({"a":2,"b":1})") << "canonical";
}

TEST(Hooks, GiveNoVerdictByAnythingElse) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "cannot be read"},
      {"allow", "cannot be read"},
      {R"({"verdict":"allow")", "cannot be read"},
      {R"({"verdict":"allow"} {})", "cannot be read"},
      {R"({"verdict":"deny","verdict":"allow"})", "cannot be read"},
      {std::string("{\"verdict\":\"allow\",\"reason\":\"\xFF\"}"), "cannot be read"},
      {R"("allow")", "a string"},
      {"null", "null"},
      {R"([{"verdict":"allow"}])", "an array"},
      {"{}", "no verdict"},
      {R"({"verdict":true})", "verdict is not a string"},
      {R"({"verdict":"Allow"})", "unknown verdict 'Allow'"},
      {R"({"verdict":"failed"})", "unknown verdict"},
      {R"({"verdict":"ask"})", "unknown verdict"},
      {R"({"verdict":"allow","reason":1})", "reason is not a string"},
      {R"({"verdict":"allow","result":"x"})", "unknown member result"},
      {R"({"verdict":"allow","args":{}})", "is no rewrite"},
      {R"({"verdict":"rewrite"})", "no object of args"},
      {R"({"verdict":"rewrite","args":null})", "no object of args"},
      {R"({"verdict":"rewrite","args":"{}"})", "no object of args"},
  };
  for (const auto& [body, why] : cases) {
    const auto answer = read(body);
    EXPECT_EQ(answer.outcome, HookOutcome::failed) << body;
    EXPECT_THAT(answer.reason, HasSubstr(why)) << body;
  }
  for (const int status : {201, 204, 302, 400, 500, 0})
    EXPECT_EQ(read(R"({"verdict":"allow"})", status).outcome, HookOutcome::failed) << status;
  for (const auto kind : {ConnectorOutcome::Kind::not_sent, ConnectorOutcome::Kind::unknown}) {
    ConnectorOutcome outcome = answered(200, R"({"verdict":"allow"})");
    outcome.kind = kind;
    outcome.text = "timed out after 200 ms";
    const auto answer = read_hook_answer(HookPoint::pre_tool, outcome);
    EXPECT_EQ(answer.outcome, HookOutcome::failed);
    EXPECT_THAT(answer.reason, HasSubstr("timed out after 200 ms"));
  }
}

TEST(Hooks, AtPreModelAreAskedAboutTheStepAndMayTellTheModelSomething) {
  JudgeQuestion asked = question();
  asked.tool = nullptr;
  const HookRule hook{HookPoint::pre_model, "http://h", HookKind::security};
  EXPECT_EQ(hook_call(hook, asked).body,
            R"({"at":"pre_model","run_id":"run_01JZZZZZZZZZZZZZZZZZZZZZZZ","step":3,"agent_id":"shop",)"
            R"("user_id":"ada \"x\"","replay":false})");
  const auto said = [](std::string body) {
    return read_hook_answer(HookPoint::pre_model, answered(200, std::move(body)));
  };
  ModelFacts facts;
  EXPECT_TRUE(take_answer(facts, 1, said(R"({"verdict":"allow","context":"It is\nraining."})")));
  EXPECT_TRUE(take_answer(facts, 2, said(R"({"verdict":"allow"})")));
  EXPECT_TRUE(take_answer(facts, 3, said(R"({"verdict":"allow","context":"Be brief."})")));
  EXPECT_EQ(facts.context, "It is\nraining.\nBe brief.");
  EXPECT_EQ(facts.outcome, ModelFacts::Outcome::clear);
  EXPECT_FALSE(take_answer(facts, 4, said(R"({"verdict":"deny","reason":"not today"})")));
  EXPECT_EQ(facts.outcome, ModelFacts::Outcome::denied);
  EXPECT_EQ(facts.word, "hook 4: not today");
  EXPECT_EQ(facts.context, "");

  const std::string full(limits::hook_context_bytes_max, 'x');
  EXPECT_EQ(said(R"({"verdict":"allow","context":")" + full + "\"}").context, full);
  for (const std::string& body : {R"({"verdict":"allow","context":")" + full + "x\"}",
                                  std::string(R"({"verdict":"allow","context":7})"),
                                  std::string(R"({"verdict":"deny","context":"x"})"),
                                  std::string(R"({"verdict":"rewrite","context":"x"})"),
                                  std::string(R"({"verdict":"allow","args":{}})"),
                                  std::string("{}")}) {
    EXPECT_EQ(said(body).outcome, HookOutcome::failed) << body.substr(0, 60);
    ModelFacts none;
    EXPECT_FALSE(take_answer(none, 1, said(body)));
    EXPECT_EQ(none.outcome, ModelFacts::Outcome::unanswered);
  }
}

TEST(Hooks, ReasonsAreCutBetweenCodePoints) {
  std::string reason = "x";
  while (reason.size() < 2 * limits::hook_reason_bytes_max)
    reason += "\xE2\x82\xAC";
  const auto answer = read(R"({"verdict":"deny","reason":")" + reason + "\"}");
  EXPECT_LE(answer.reason.size(), limits::hook_reason_bytes_max);
  EXPECT_GT(answer.reason.size(), limits::hook_reason_bytes_max - 3);
  EXPECT_TRUE(is_valid_utf8(answer.reason));
}

TEST(Hooks, EachSeesWhatTheOneBeforeMadeOfTheArguments) {
  JudgeQuestion asked = question();
  HookFacts facts;
  take_answer(facts, asked, 1, read(R"({"verdict":"allow","reason":"fine"})"));
  EXPECT_EQ(facts.word, "ok");
  take_answer(facts, asked, 2, read(R"({"verdict":"rewrite","args":{"to":"carol"},"reason":"moved"})"));
  EXPECT_EQ(facts.word, "rewritten by hook 2: moved");
  EXPECT_EQ(facts.args, R"({"to":"carol"})");
  EXPECT_THAT(hook_call({HookPoint::pre_tool, "http://h", HookKind::security}, asked).body,
              HasSubstr(R"("args":{"to":"carol"})"));
  take_answer(facts, asked, 4, read(R"({"verdict":"rewrite","args":{"to":"dave"}})"));
  EXPECT_EQ(facts.word, "rewritten by hook 2: moved; then by hook 4");
  EXPECT_EQ(facts.args, R"({"to":"dave"})");
  EXPECT_FALSE(facts.denied);
  take_answer(facts, asked, 5, read(R"({"verdict":"deny"})"));
  EXPECT_TRUE(facts.denied);
  EXPECT_EQ(facts.word, "hook 5: no reason given");
  EXPECT_FALSE(facts.args) << "what was refused is what the model asked for";
}

TEST(Hooks, ARewriteThatChangesNothingIsNone) {
  JudgeQuestion asked = question();
  HookFacts facts;
  take_answer(facts, asked, 1, read(R"({"verdict":"rewrite","args":{ "to" : "bob" }})"));
  EXPECT_EQ(facts.word, "ok");
  EXPECT_FALSE(facts.args);
}

TEST(Hooks, ARewriteThatBreaksTheSchemaRefusesTheCall) {
  JudgeQuestion asked = question();
  HookFacts facts;
  take_answer(facts, asked, 1, read(R"({"verdict":"rewrite","args":{"to":1}})"));
  EXPECT_TRUE(facts.denied);
  EXPECT_THAT(facts.word, HasSubstr("hook 1: its rewrite does not fit the tool: "));
  EXPECT_FALSE(facts.args);
  EXPECT_EQ(asked.args, R"({"to":"bob"})");
}

TEST(Hooks, ASecurityHookWithoutAVerdictRefusesTheCall) {
  JudgeQuestion asked = question();
  HookFacts facts;
  take_answer(facts, asked, 3, read("", 500));
  EXPECT_TRUE(facts.denied);
  EXPECT_EQ(facts.word, "hook 3: it answered 500");
}

// --- at post_tool

HookAnswer read_review(std::string body) {
  return read_hook_answer(HookPoint::post_tool, answered(200, std::move(body)));
}

CallEnd ended(ToolStatus status, std::string text) {
  CallEnd end;
  end.status = status;
  end.text = std::move(text);
  return end;
}

TEST(ResultHooks, SeeTheResult) {
  const CallEnd end = ended(ToolStatus::ok, "card \"4111\"");
  const ConnectorCall call =
      hook_call({HookPoint::post_tool, "http://h", HookKind::security}, question(), &end);
  EXPECT_THAT(call.body, HasSubstr(R"({"at":"post_tool",)"));
  EXPECT_THAT(call.body, HasSubstr(R"(,"status":"ok","result":"card \"4111\"","replay":false})"));
  EXPECT_EQ(call.reply_bytes_max, limits::hook_result_bytes_max);
}

TEST(ResultHooks, LetItPassChangeItOrWithholdIt) {
  CallEnd end = ended(ToolStatus::ok, "card 4111");
  EXPECT_TRUE(take_answer(end, 1, read_review(R"({"verdict":"allow"})")));
  EXPECT_EQ(end.text, "card 4111");
  EXPECT_TRUE(take_answer(end, 1, read_review(R"({"verdict":"rewrite","result":"card ****"})")));
  EXPECT_EQ(end.text, "card ****");
  EXPECT_FALSE(take_answer(end, 2, read_review(R"({"verdict":"deny","reason":"too private"})")));
  EXPECT_EQ(
      end.text,
      "The call was carried out, but what it returned is withheld (hook 2: too private). Do not call it "
      "again for its result.");
  EXPECT_EQ(end.status, ToolStatus::ok) << "it has happened";
}

TEST(ResultHooks, WithholdItWithoutAVerdict) {
  for (const char* body : {"",
                           R"({"verdict":"rewrite"})",
                           R"({"verdict":"rewrite","result":{}})",
                           R"({"verdict":"rewrite","args":{}})",
                           R"({"verdict":"allow","result":"x"})",
                           R"({"verdict":"allow","args":{}})"}) {
    CallEnd end = ended(ToolStatus::error, "card 4111");
    EXPECT_FALSE(take_answer(end, 1, read_review(body))) << body;
    EXPECT_THAT(end.text, HasSubstr("ended with an error, and what it said is withheld (hook 1: ")) << body;
    EXPECT_EQ(end.status, ToolStatus::error);
  }
}

TEST(ResultHooks, OnlyWhatTheToolSaidIsAResult) {
  EXPECT_TRUE(has_result(ended(ToolStatus::ok, "")));
  EXPECT_TRUE(has_result(ended(ToolStatus::error, "")));
  EXPECT_FALSE(has_result(ended(ToolStatus::invalid, "")));
  CallEnd unknown = ended(ToolStatus::ok, "");
  unknown.kind = CallEnd::Kind::unknown;
  EXPECT_FALSE(has_result(unknown));
}

}  // namespace
}  // namespace ratchet
