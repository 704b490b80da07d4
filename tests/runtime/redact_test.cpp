#include <gtest/gtest.h>

#include "runtime/json/canonical.hpp"
#include "runtime/limits.hpp"
#include "runtime/redact/redactor.hpp"
#include "runtime/redact/rules_file.hpp"
#include "runtime/redact/stream_redactor.hpp"
#include "runtime/redact/tool_redaction.hpp"

namespace ratchet {
namespace {

// Put together here, so that no file of ours holds what a scanner takes for a secret.
const std::string letters = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY";
const std::string github = "ghp_" + letters + "zZ99";
const std::string anthropic = "sk-ant-api03-" + letters;
const std::string aws = std::string("AKIA") + "IOSFODNN7EXAMPLQ";
const std::string jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0." + letters;
const std::string pem =
    "-----BEGIN RSA PRIVATE " + std::string("KEY-----\nMIIEabc\n/+x==\n-----END RSA PRIVATE ") + "KEY-----";

std::string shown(std::string_view text) {
  return Redactor::standard()->text(text).value_or(std::string(text));
}

std::string shown_json(std::string_view json) {
  return Redactor::standard()->json(json).value_or(std::string(json));
}

TEST(Redact, HidesWhatHasTheFormOfASecret) {
  const std::pair<std::string, std::string> cases[] = {
      {"my key " + github + ".", "my key [redacted:github-token]."},
      {anthropic, "[redacted:anthropic-key]"},
      {"sk-proj-" + letters, "[redacted:openai-key]"},
      {"a sk-" + letters + letters, "a [redacted:sk-key]"},
      {"id=" + aws, "id=[redacted:aws-access-key-id]"},
      {"aws_secret_access_key = " + letters + "/+345678",
       "aws_secret_access_key = [redacted:aws-secret-access-key]"},
      {"xox" + std::string("b-123456789012-") + letters, "[redacted:slack-token]"},
      {"sk_" + std::string("live_") + letters, "[redacted:stripe-key]"},
      {"AIza" + letters + "abc", "[redacted:google-api-key]"},
      {"t " + jwt + " u", "t [redacted:json-web-token] u"},
      {pem, "[redacted:private-key]"},
      {"x\n" + pem + "\ny", "x\n[redacted:private-key]\ny"},
      {pem.substr(0, 50), "[redacted:private-key]"},
      {"postgres://app:hunter2@db/x", "postgres://app:[redacted:url-credentials]@db/x"},
      {"Authorization: Bearer abcdef123456", "Authorization: Bearer [redacted:authorization-header]"},
      {"curl -H 'authorization: Basic dXNlcjpwYXNz'",
       "curl -H 'authorization: Basic [redacted:authorization-header]'"},
      {"use bearer " + letters, "use bearer [redacted:bearer-token]"},
      {"Cookie: sid=abc; b=c", "Cookie: [redacted:cookie-header]"},
      {"password=hunter2!", "password=[redacted:assigned-secret]"},
      {"DB_PASSWORD: \"hunter2!\"", "DB_PASSWORD: \"[redacted:assigned-secret]\""},
      {"{\\\"api_key\\\":\\\"abcdef12\\\"}", "{\\\"api_key\\\":\\\"[redacted:assigned-secret]\\\"}"},
      {"{\\\\\\\"client_secret\\\\\\\": \\\\\\\"abcdef12\\\\\\\"}",
       "{\\\\\\\"client_secret\\\\\\\": \\\\\\\"[redacted:assigned-secret]\\\\\\\"}"},
      {github + " " + aws, "[redacted:github-token] [redacted:aws-access-key-id]"},
      {"\xff\xfe " + github, "\xff\xfe [redacted:github-token]"},
      {"é" + github.substr(0, 0) + " " + github + "é", "é [redacted:github-token]é"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(shown(text), expected) << text;
}

TEST(Redact, ShowsWhatIsNone) {
  for (const std::string text : {"",
                                 "I used 200 tokens; the password is not here.",
                                 "task-"
                                 "123456789012345678901234567890123456",
                                 "https://example.com:8080/a@b",
                                 "ghp_short",
                                 "Asia and Acca",
                                 "max_tokens: 200000",
                                 "a cookie, a secret and a private key",
                                 "run_01HZX3J5K6M7N8P9Q0R1S2T3V4"})
    EXPECT_EQ(Redactor::standard()->text(text), std::nullopt) << text;
}

TEST(Redact, HidesInJsonWithoutTouchingTheRest) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"a": 1.50,"b":[true,null,"x"]})", R"({"a": 1.50,"b":[true,null,"x"]})"},
      {R"({"text":"key )" + github + R"(","z":1e5})", R"({"text":"key [redacted:github-token]","z":1e5})"},
      {R"({"password":"x"})", R"({"password":"[redacted:key]"})"},
      {R"({"Password":12,"b":12})", R"({"Password":"[redacted:key]","b":12})"},
      {R"({"X-Api-Key":"x","github_token":"y","dbPassword":"z","tokens":3,"token_count":4})",
       R"({"X-Api-Key":"[redacted:key]","github_token":"[redacted:key]","dbPassword":"[redacted:key]","tokens":3,"token_count":4})"},
      {R"({"secret":{"value":"x","n":[1,true,null,""]},"b":"y"})",
       R"({"secret":{"value":"[redacted:key]","n":["[redacted:key]",true,null,""]},"b":"y"})"},
      {R"({"pass\u0077ord":"x"})", R"({"pass\u0077ord":"x"})"},
      {R"([{"a":{"cookie":["x","y"]}}])", R"([{"a":{"cookie":["[redacted:key]","[redacted:key]"]}}])"},
      {R"({"password":null,"secret":false})", R"({"password":null,"secret":false})"},
      {R"({")" + github + R"(":1})", R"({"[redacted:github-token]":1})"},
      {R"({"a":"{\"password\":\"hunter2\"}"})", R"({"a":"{\"password\":\"[redacted:assigned-secret]\"}"})"},
      {R"({"a":"line\n)" + github + R"(\n\u00e9\"q\""})", R"({"a":"line\n[redacted:github-token]\né\"q\""})"},
      {R"({"a":"-----BEGIN PRIVATE KEY-----\nabc"})", R"({"a":"[redacted:private-key]"})"},
      {R"({"a":"\ud83d\ude00 )" + github + R"("})", R"({"a":"😀 [redacted:github-token]"})"},
      {R"("password: hunter2")", R"("password: [redacted:assigned-secret]")"},
      {"[1,2", "[1,2"},
      {"{\"password\":\"hunter2", "{\"password\":\"[redacted:assigned-secret]"},
  };
  for (const auto& [json, expected] : cases)
    EXPECT_EQ(shown_json(json), expected) << json;
  EXPECT_EQ(Redactor::standard()->json(R"({"password":{"type":"string"}})", Redactor::Keys::shown),
            std::nullopt);
}

TEST(Redact, WhatItMakesOfJsonIsJson) {
  const std::string json =
      R"({"a":["x )" + github + R"("],"token":{"b":{"c":[1,{"d":"e"}]}},"f":")" + jwt + R"("})";
  const auto redacted = Redactor::standard()->json(json);
  ASSERT_TRUE(redacted);
  EXPECT_TRUE(canonical_json(*redacted)) << *redacted;
}

TEST(Redact, KeepsTheLengthOfWhatIsMasked) {
  const auto text = "a " + github + " b password=abcdef";
  const auto masked = Redactor::standard()->masked(text);
  ASSERT_TRUE(masked);
  EXPECT_EQ(masked->size(), text.size());
  EXPECT_EQ(*masked,
            "a [redacted:github-token]" + std::string(github.size() - 23, '*') + " b password=[redac");
}

/// The stream cut into pieces of `bytes`, put together again.
std::string streamed(std::string_view text, std::size_t bytes) {
  StreamRedactor stream(Redactor::standard());
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += bytes)
    out += stream.feed(text.substr(at, bytes));
  return out + stream.finish();
}

TEST(Redact, FindsSecretsAcrossThePiecesOfAStream) {
  const std::string texts[] = {
      "plain text, nothing in it at all",
      "key " + github + " and " + anthropic + " end",
      github,
      "Authorization: Bearer   " + letters + "\nnext line",
      "the password = hunter2! and more",
      "url postgres://app:hunter2@db/x done",
      "a\n" + pem + "\nb",
      "x " + jwt + "\n",
      "é " + github + "é ü",
      "the api key: abcdef123 and Api Key = xyzxyzxyz.",
  };
  for (const std::string& text : texts)
    for (const std::size_t bytes : {1, 2, 3, 7, 16, 1'000})
      EXPECT_EQ(streamed(text, bytes), shown(text)) << text << " in pieces of " << bytes;
}

TEST(Redact, HoldsBackOnlyWhatMayStillBecomeASecret) {
  StreamRedactor stream(Redactor::standard());
  EXPECT_EQ(stream.feed("Hello wor"), "Hello ");
  EXPECT_EQ(stream.feed("ld, "), "world, ");
  EXPECT_EQ(stream.feed("password"), "");
  EXPECT_EQ(stream.feed(" is "), "");
  EXPECT_EQ(stream.feed(std::string(Redactor::reach_bytes, 'x') + " end"),
            "password is " + std::string(Redactor::reach_bytes, 'x') + " ");
  EXPECT_EQ(stream.finish(), "end");
}

TEST(Redact, HoldsBackNoMoreThanItsBound) {
  StreamRedactor stream(Redactor::standard());
  std::string out;
  for (std::size_t i = 0; i < 4 * limits::redact_held_bytes_max / 1'024; ++i)
    out += stream.feed(std::string(1'024, 'a'));
  EXPECT_GT(out.size(), 2 * limits::redact_held_bytes_max);
  out += stream.finish();
  EXPECT_EQ(out, std::string(4 * limits::redact_held_bytes_max, 'a'));
}

TEST(Redact, GoesOnWithASecretThatIsLongerThanItsBound) {
  StreamRedactor stream(Redactor::standard());
  std::string out = stream.feed("x " + anthropic);
  for (std::size_t i = 0; i < 4 * limits::redact_held_bytes_max / 1'024; ++i)
    out += stream.feed(std::string(1'024, 'k'));
  out += stream.feed(" end");
  out += stream.finish();
  EXPECT_EQ(out, "x [redacted:anthropic-key] end");
}

std::shared_ptr<const Redactor> with_rules(std::string_view toml) {
  const auto rules = parse_redaction_rules(toml);
  EXPECT_TRUE(rules) << rules.error().text;
  const auto made = Redactor::make(*rules);
  EXPECT_TRUE(made) << made.error().text;
  return *made;
}

TEST(Redact, TakesRulesInTheFormOfGitleaks) {
  const auto redactor = with_rules(R"toml(
title = "ours"   # a comment
minVersion = "v8.25.0"
[[allowlists]]
description = "for all"
regexes = ['''^EXAMPLE''', ]
[[rules]]
id = "acme"
description = """Acme's
token"""
regex = '''(?i)\bacme_([a-z0-9]{8,})(?:\s|$)'''
entropy = 2.5
keywords = [
  "acme_",  # one
]
tags = ["a", 'b']
[[rules.allowlists]]
condition = "AND"
regexTarget = "line"
regexes = ["# test"]
stopwords = ["Test"]
[[rules]]
id = "group-2"
regex = "g(\\d+)-(\\d+)"
secretGroup = 2
[[rules]]
id = "files-only"
path = '''\.p12$'''
)toml");
  const auto text = [&](std::string_view text) { return redactor->text(text).value_or(std::string(text)); };
  EXPECT_EQ(text("ACME_a1b2c3d4e5 x"), "ACME_[redacted:acme] x");
  EXPECT_EQ(text("acme_aaaaaaaaaa"), "acme_aaaaaaaaaa") << "too little entropy";
  EXPECT_EQ(text("acme_test12345 # test"), "acme_test12345 # test");
  EXPECT_EQ(text("acme_test12345 # other"), "acme_[redacted:acme] # other");
  EXPECT_EQ(text("g12-34"), "g12-[redacted:group-2]") << "a rule without keywords";
  EXPECT_EQ(text(github), github) << "our own rules are not in it";
  const auto extended = with_rules(
      "[extend]\nuseDefault = true\ndisabledRules = [\"github-token\"]\n"
      "[[rules]]\nid = \"jwt\"\nregex = 'zzz+'\nkeywords = ['zzz']\n"
      "[[rules.allowlists]]\ncondition='AND'\nregexes=['z']\npaths=['x']");
  EXPECT_EQ(extended->text("zzzz " + aws), "[redacted:jwt] [redacted:aws-access-key-id]");
  EXPECT_EQ(extended->text(github), std::nullopt);
}

TEST(Redact, RefusesRulesThatItDoesNotUnderstand) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"x = ", "line 1"},
      {"[[rules]]\nid = 'a'\nregex = 'x'\nregx = 'y'", "/rules/0/regx"},
      {"[[rules]]\nregex = 'x'", "/rules/0"},
      {"[[rules]]\nid = 'a b'\nregex = 'x'", "/rules/0/id"},
      {"[[rules]]\nid = 'a'", "/rules/0"},
      {"[[rules]]\nid = 'a'\nregex = 'x'\nentropy = 'high'", "/rules/0/entropy"},
      {"[[rules]]\nid = 'a'\nregex = 'x'\n[[rules.allowlists]]\nregexTarget = 'commit'",
       "/rules/0/allowlists/0/regexTarget"},
      {"[extend]\npath = 'x'", "/extend/path"},
      {"a = 1\na = 2", "line 2"},
      {"a = 'x", "line 1"},
      {"a = \"\\q\"", "line 1"},
      {"a = 2024-01-01", "line 1"},
      {"a = {b = 1}", "line 1"},
      {"a = [1, 2", "line 1"},
      {"[a\nb = 1", "line 1"},
      {"a = 1 2", "line 1"},
  };
  for (const auto& [toml, place] : cases) {
    const auto rules = parse_redaction_rules(toml);
    ASSERT_FALSE(rules) << toml;
    EXPECT_NE(rules.error().text.find(place), std::string::npos) << toml << ": " << rules.error().text;
  }
  EXPECT_FALSE(parse_redaction_rules(std::string(limits::redact_rules_bytes_max + 1, '#')));
  for (const std::string_view toml :
       {"[[rules]]\nid = 'a'\nregex = '('", "[[rules]]\nid = 'a'\nregex = '(x)'\nsecretGroup = 2"}) {
    const auto made = Redactor::make(*parse_redaction_rules(toml));
    ASSERT_FALSE(made) << toml;
    EXPECT_NE(made.error().text.find("rule a"), std::string::npos) << made.error().text;
  }
}

ToolRedaction tools() {
  ToolManifest mail, other;
  mail.name = "mail";
  mail.redact = {"/body", "/to/*/name"};
  other.name = "other";
  const ToolManifest all[] = {mail, other};
  return ToolRedaction(all);
}

TEST(Redact, HidesWhatAToolHides) {
  const auto redaction = tools();
  EXPECT_EQ(
      redaction.apply(
          R"({"type":"tool.requested","tool":"mail","args":{"body":"x","to":[{"name":"a","n":1},{"n":2}]}})"),
      R"({"args":{"body":"[redacted:tool]","to":[{"n":1,"name":"[redacted:tool]"},{"n":2}]},"tool":"mail","type":"tool.requested"})");
  EXPECT_EQ(redaction.apply(R"({"content":[{"type":"call","tool":"mail","args":{"body":{"a":1}}}]})"),
            R"({"content":[{"args":{"body":"[redacted:tool]"},"tool":"mail","type":"call"}]})");
  EXPECT_EQ(redaction.apply(R"({"tool":"mail","args_text":"{\"body\":"})"),
            R"({"args_text":"[redacted:tool]","tool":"mail"})");
  EXPECT_EQ(redaction.apply(R"({"tool":"other","args":{"body":"x"}})"), std::nullopt);
  EXPECT_EQ(
      redaction.apply(R"({"call_id":"c","content":[{"type":"text","text":"{\"body\":\"x\",\"a\":1}"}]})"),
      R"({"call_id":"c","content":[{"text":"{\"a\":1,\"body\":\"[redacted:tool]\"}","type":"text"}]})");
  EXPECT_EQ(redaction.apply(R"({"call_id":"c","content":[{"type":"text","head":"{\"body\":\"x"}]})"),
            R"({"call_id":"c","content":[{"head":"[redacted:tool]","type":"text"}]})");
  EXPECT_EQ(redaction.apply(R"({"call_id":"c","content":[{"type":"text","text":"all is well"}]})"),
            std::nullopt);
  const auto noted = [](std::string_view args) {
    return R"({"call_id":"c","content":[{"text":")" + std::string(edited_args_note) + std::string(args) +
           R"(","type":"text"}]})";
  };
  EXPECT_EQ(redaction.apply(noted(R"({\"body\":\"x\"})")), noted(R"({\"body\":\"[redacted:tool]\"})"));
  EXPECT_EQ(redaction.apply(noted(R"({\"body\":\"x)")), noted("[redacted:tool]"));  // it was cut
  EXPECT_EQ(redaction.apply(R"({"call_id":"c","edited_args":{"body":"x"}})"),
            R"({"call_id":"c","edited_args":{"body":"[redacted:tool]"}})");
  EXPECT_EQ(redaction.apply("{"), "[redacted:tool]");
  EXPECT_TRUE(ToolRedaction({}).empty());
  EXPECT_EQ(ToolRedaction({}).apply("{"), std::nullopt);
}

}  // namespace
}  // namespace ratchet
