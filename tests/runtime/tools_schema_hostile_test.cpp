// Schemas and arguments that want more than their share: each is refused or judged within its bounds, and
// never crashes. Sanitizers watch.

#include <functional>

#include <gtest/gtest.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/schema.hpp"

namespace ratchet {
namespace {

std::string repeat(int times, const std::function<std::string(int)>& make) {
  std::string text;
  for (int i = 0; i < times; ++i)
    text += (i ? "," : "") + make(i);
  return text;
}

std::string nested(int times, const std::string& open, const std::string& inside, const std::string& close) {
  std::string text;
  for (int i = 0; i < times; ++i)
    text += open;
  text += inside;
  for (int i = 0; i < times; ++i)
    text += close;
  return text;
}

/// The text of the refusal.
std::string refusal(const std::string& members) {
  const auto compiled = ArgumentSchema::compile(R"({"type":"object",)" + members + "}");
  return compiled ? "taken" : compiled.error().text;
}

std::string verdict(const std::string& members, const std::string& args) {
  const auto compiled = ArgumentSchema::compile(R"({"type":"object",)" + members + "}");
  EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().text);
  return compiled ? compiled->check(args).value_or("ok") : "";
}

std::string reference(int to) {
  return R"({"$ref":"#/$defs/)" + std::to_string(to) + "\"}";
}

TEST(HostileSchema, IsRefusedBeforeItIsUsed) {
  const auto definitions = [](int count, const std::function<std::string(int)>& make) {
    return R"("$defs":{)" + repeat(count, [&](int i) { return "\"" + std::to_string(i) + "\":" + make(i); }) +
           "}";
  };
  // Each definition applies the next one twice: 2^30 evaluations of one value.
  EXPECT_EQ(refusal(definitions(31,
                                [](int i) {
                                  return i == 30 ? "true"
                                                 : R"({"allOf":[)" + reference(i + 1) + "," +
                                                       reference(i + 1) + "]}";
                                })),
            "one value would be checked against more than 10000 schemas");
  EXPECT_EQ(refusal(definitions(100, [](int i) { return i == 99 ? "true" : reference(i + 1); })),
            "more than 64 schemas in a row refer to each other for the same value");
  EXPECT_EQ(refusal(definitions(500, [](int i) { return reference((i + 1) % 500); })),
            "a schema refers to itself for the same value, without end");
  EXPECT_EQ(refusal(R"("anyOf":[)" + repeat(11'000, [](int) { return "true"; }) + "]"),
            "more than 10000 schemas");
  EXPECT_EQ(refusal(R"("patternProperties":{)" +
                    repeat(40, [](int i) { return "\"" + std::to_string(i) + "\":true"; }) + "}"),
            "more than 32 patterns");
  EXPECT_TRUE(refusal(R"("properties":{"a":{"pattern":")" + std::string(1'001, 'a') + "\"}}")
                  .starts_with("the pattern has"));
  EXPECT_TRUE(refusal(R"("not":)" + nested(70, R"({"not":)", "true", "}")).find("nested deeper") !=
              std::string::npos);
}

TEST(HostileSchema, KeepsItsErrorsShort) {
  const std::string key(60'000, 'k');
  for (const auto& members : {"\"" + key + "\":1",
                              R"("$schema":")" + key + "\"",
                              R"("$ref":")" + key + "\"",
                              R"("$ref":"#/)" + key + "\"",
                              R"("$anchor":")" + key + R"(","$dynamicAnchor":")" + "x\""}) {
    const auto text = refusal(members);
    EXPECT_LT(text.size(), 300u);
    EXPECT_TRUE(is_valid_utf8(text));
  }
}

TEST(HostileSchema, MeetsItsStepsNotAnExponent) {
  // Items double at every level of the arguments; the schema alone does not tell.
  const std::string doubling =
      R"("properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"allOf":[{"items":{"$ref":"#/$defs/d"}},{"items":{"$ref":"#/$defs/d"}}]}})";
  EXPECT_EQ(verdict(doubling, R"({"a":[[[1]]]})"), "ok");
  EXPECT_EQ(verdict(doubling, "{\"a\":" + nested(60, "[", "1", "]") + "}"),
            "the arguments are too large to be checked");
  const std::string refusing =
      R"("properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"anyOf":[{"items":{"$ref":"#/$defs/d"},"minItems":1},
         {"items":{"$ref":"#/$defs/d"},"maxItems":0,"type":"array"}]}})";
  EXPECT_EQ(verdict(refusing, "{\"a\":" + nested(60, "[", "", "]") + "}"), "ok");
}

TEST(HostileSchema, HasADeepestCheck) {
  // 60 references at each of 60 levels.
  std::string definitions;
  for (int i = 0; i < 60; ++i)
    definitions += "\"" + std::to_string(i) + "\":" + reference(i + 1) + ",";
  const std::string deep = R"("properties":{"a":{"$ref":"#/$defs/0"}},"$defs":{)" + definitions +
                           R"("60":{"items":{"$ref":"#/$defs/0"}}})";
  EXPECT_EQ(verdict(deep, R"({"a":[[1]]})"), "ok");
  EXPECT_EQ(verdict(deep, "{\"a\":" + nested(60, "[", "1", "]") + "}"),
            "the arguments are too large to be checked");
}

TEST(HostileSchema, FindsItsChoiceAmongMany) {
  const std::string choices = R"("properties":{"a":{"items":{"enum":[)" +
                              repeat(6'000, [](int i) { return std::to_string(i); }) + "]}}}";
  const auto items = [](int last) {
    return "{\"a\":[" + repeat(20'000, [&](int i) { return i == 19'999 ? std::to_string(last) : "5999"; }) +
           "]}";
  };
  EXPECT_EQ(verdict(choices, items(0)), "ok");
  EXPECT_TRUE(verdict(choices, items(6'000)).starts_with("/a/19999: expected one of 0, 1, 2"));
}

TEST(HostileSchema, ComparesManyItemsInOrder) {
  const std::string unique = R"("properties":{"a":{"uniqueItems":true}})";
  const auto items = [](int count, const std::function<std::string(int)>& make) {
    return "{\"a\":[" + repeat(count, make) + "]}";
  };
  EXPECT_EQ(verdict(unique, items(20'000, [](int i) { return std::to_string(i); })), "ok");
  EXPECT_EQ(verdict(unique, items(20'000, [](int i) { return std::to_string(i % 19'999); })),
            "/a: expected items that all differ; number 0 and number 19999 are equal");
  EXPECT_EQ(verdict(unique, items(200'000, [](int i) { return std::to_string(i); })),
            "the arguments are too large to be checked");
}

TEST(HostileSchema, WordsItsFaultsBriefly) {
  // Forms within forms, with long names, on long arguments.
  std::string fire;
  for (int i = 0; i < 2'000; ++i)
    fire += "🔥";
  std::string forms = R"({"required":[")" + fire + "\"]}";
  for (int i = 0; i < 6; ++i)
    forms = R"({"properties":{"a":{"anyOf":[)" + forms + R"(,{"type":"null"},{"const":")" +
            fire.substr(0, 400) + "\"}]}}}";
  std::string args = "{\"" + fire + fire + "\":1}";
  for (int i = 0; i < 6; ++i)
    args = R"({"a":)" + args + R"(,")" + fire + "\":[]}";
  const auto message = verdict(forms.substr(1, forms.size() - 2), args);
  EXPECT_NE(message, "ok");
  EXPECT_LE(message.size(), limits::schema_message_bytes_max);
  EXPECT_TRUE(is_valid_utf8(message));
}

}  // namespace
}  // namespace ratchet
