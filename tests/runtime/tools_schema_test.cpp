#include <gtest/gtest.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/schema.hpp"

namespace ratchet {
namespace {

/// The schema of arguments with one property `a` of the given schema.
ArgumentSchema about(std::string_view schema) {
  auto compiled =
      ArgumentSchema::compile("{\"type\":\"object\",\"properties\":{\"a\":" + std::string(schema) + "}}");
  EXPECT_TRUE(compiled) << schema << ": " << (compiled ? "" : compiled.error().text);
  return compiled ? *compiled : ArgumentSchema();
}

std::string verdict(const ArgumentSchema& schema, std::string_view args) {
  return schema.check(args).value_or("ok");
}

struct Case {
  std::string_view schema, value, expected;
};

TEST(Schema, ChecksEveryKeyword) {
  const Case cases[] = {
      {"true", "1", "ok"},
      {"false", "1", "/a: is not allowed here"},
      {"{}", "null", "ok"},
      {R"({"type":"string"})", R"("x")", "ok"},
      {R"({"type":"string"})", "1", "/a: expected a string, found 1"},
      {R"({"type":"array"})", R"("[1]")", R"(/a: expected an array, found the string "[1]")"},
      {R"({"type":["string","null"]})", "null", "ok"},
      {R"({"type":["string","null"]})", "[]", "/a: expected null or a string, found an array"},
      {R"({"type":"integer"})", "1.0", "ok"},
      {R"({"type":"integer"})", "1e20", "ok"},
      {R"({"type":"integer"})", "1.5", "/a: expected an integer, found 1.5"},
      {R"({"type":"integer"})", "true", "/a: expected an integer, found true"},
      {R"({"type":"number"})", "1", "ok"},
      {R"({"type":"boolean"})", "0", "/a: expected a boolean, found 0"},
      {R"({"enum":["x",1,{"b":[1]}]})", R"({"b":[1.0]})", "ok"},
      {R"({"enum":["x",1,{"b":[1]}]})",
       R"("X")",
       R"(/a: expected one of "x", 1, {"b":[1]}, found the string "X")"},
      {R"({"const":1.0})", "1", "ok"},
      {R"({"const":1})", "2", "/a: expected 1, found 2"},
      {R"({"minimum":1,"maximum":3})", "1", "ok"},
      {R"({"minimum":1,"maximum":3})", "3", "ok"},
      {R"({"minimum":1,"maximum":3})", "0.99", "/a: expected a number of at least 1, found 0.99"},
      {R"({"minimum":1,"maximum":3})", "4", "/a: expected a number of at most 3, found 4"},
      {R"({"minimum":1,"maximum":3})", R"("4")", "ok"},
      {R"({"exclusiveMinimum":1,"exclusiveMaximum":3})", "2", "ok"},
      {R"({"exclusiveMinimum":1})", "1", "/a: expected a number above 1, found 1"},
      {R"({"exclusiveMaximum":3})", "3", "/a: expected a number below 3, found 3"},
      {R"({"maximum":9007199254740991})",
       "9007199254740992",
       "/a: expected a number of at most 9007199254740991, found 9007199254740992"},
      {R"({"minLength":2,"maxLength":2})", "\"\xF0\x9F\x94\xA5\xC3\xBC\"", "ok"},
      {R"({"minLength":2})", "\"\xF0\x9F\x94\xA5\"", "/a: expected at least 2 characters, found 1"},
      {R"({"maxLength":1})", R"("ab")", "/a: expected at most 1 characters, found 2"},
      {R"({"minItems":1})", "[]", "/a: expected at least 1 items, found 0"},
      {R"({"maxItems":1})", "[1,2]", "/a: expected at most 1 items, found 2"},
      {R"({"items":{"type":"string"}})", R"(["x",1])", "/a/1: expected a string, found 1"},
      {R"({"pattern":"^[a-z]+$"})", R"("abc")", "ok"},
      {R"({"pattern":"b"})", R"("abc")", "ok"},
      {R"({"pattern":"^[a-z]+$"})", R"("a1")", "/a: expected a match of the pattern ^[a-z]+$"},
      {R"({"required":["b"]})", "{}", "/a: the property b is required (a value)"},
      {R"({"required":["b"],"properties":{"b":{"type":"array"}}})",
       "{}",
       "/a: the property b is required (an array)"},
      {R"({"required":["b"]})", "[]", "ok"},
      {R"({"properties":{"b":{}},"additionalProperties":false})", R"({"b":1})", "ok"},
      {R"({"properties":{"b":{},"c":{}},"additionalProperties":false})",
       R"({"d":1})",
       "/a: there is no property d; known are b, c"},
      {R"({"additionalProperties":{"type":"string"}})",
       R"({"x/y":1})",
       "/a/x~1y: expected a string, found 1"},
      {R"({"title":"t","description":"d","default":[],"examples":[1],"format":"email","$comment":"c"})",
       R"("no e-mail")",
       "ok"},
  };
  for (const auto& [schema, value, expected] : cases)
    EXPECT_EQ(verdict(about(schema), "{\"a\":" + std::string(value) + "}"), expected)
        << schema << " with " << value;
}

TEST(Schema, ChecksTheArgumentsAsAWhole) {
  const auto schema = *ArgumentSchema::compile(
      R"({"type":"object","required":["to"],"properties":{"to":{"type":"string"}},"additionalProperties":false})");
  EXPECT_EQ(verdict(schema, R"({"to":"x"})"), "ok");
  EXPECT_EQ(verdict(schema, "{}"), "the arguments: the property to is required (a string)");
  EXPECT_EQ(verdict(schema, "[]"), "the arguments: expected an object, found an array");
  EXPECT_EQ(verdict(schema, R"({"To":"x"})"),
            "the arguments: the property to is required (a string); the arguments: there is no property To; "
            "known are "
            "to");
  EXPECT_TRUE(
      verdict(schema, R"({"to":"x")").starts_with("the arguments are not valid JSON: line 1, column"));
  EXPECT_EQ(verdict(ArgumentSchema(), "{}"), "ok");
  EXPECT_EQ(verdict(ArgumentSchema(), "1"), "the arguments: expected an object, found a number");
}

TEST(Schema, NamesThreeFaultsAndStaysShort) {
  const auto schema = about(R"({"items":{"type":"string"}})");
  EXPECT_EQ(
      verdict(schema, R"({"a":[1,2,3]})"),
      "/a/0: expected a string, found 1; /a/1: expected a string, found 2; /a/2: expected a string, found 3");
  EXPECT_EQ(verdict(schema, R"({"a":[1,2,3,4]})"),
            "/a/0: expected a string, found 1; /a/1: expected a string, found 2; /a/2: expected a string, "
            "found 3; and "
            "more");
  std::string fire;
  for (int i = 0; i < 5'000; ++i)
    fire += "\xF0\x9F\x94\xA5";
  const auto closed = *ArgumentSchema::compile(R"({"type":"object","additionalProperties":false})");
  const auto typed = *ArgumentSchema::compile(R"({"type":"object","additionalProperties":{"type":"null"}})");
  for (const auto& message :
       {verdict(closed, "{\"" + fire + "\":1,\"x" + fire + "\":2,\"xx" + fire + "\":3}"),
        verdict(typed, "{\"" + fire + "\":\"" + fire + "\"}")}) {
    EXPECT_LE(message.size(), limits::schema_message_bytes_max);
    EXPECT_TRUE(is_valid_utf8(message));
  }
}

TEST(Schema, RefusesAtRegistrationWhatItDoesNotCheck) {
  const std::tuple<std::string_view, ErrorCode, std::string_view> cases[] = {
      {R"({"type":"object","anyOf":[]})", ErrorCode::invalid_definition, "/anyOf"},
      {R"({"type":"object","maxlength":2})", ErrorCode::not_supported, "/maxlength"},
      {R"({"type":"object","properties":{"x/y":{"nullable":true}}})",
       ErrorCode::not_supported,
       "/properties/x~1y/nullable"},
      {R"({"type":"object","properties":{"x":{"multipleOf":0}}})",
       ErrorCode::invalid_definition,
       "/properties/x/multipleOf"},
      {R"({"type":"object","$vocabulary":{}})", ErrorCode::not_supported, "/$vocabulary"},
      {R"({"type":"object","dependencies":{}})", ErrorCode::not_supported, "/dependencies"},
      {R"({"type":"object","uniqueItems":1})", ErrorCode::invalid_definition, "/uniqueItems"},
      {R"({"type":"object","minProperties":1.5})", ErrorCode::invalid_definition, "/minProperties"},
      {R"({"type":"object","patternProperties":{"(":{}}})", ErrorCode::not_supported, "/patternProperties/("},
      {R"({"type":"object","dependentRequired":{"a":"b"}})",
       ErrorCode::invalid_definition,
       "/dependentRequired/a"},
      {R"j({"type":"object","properties":{"x":{"pattern":"(?=a)"}}})j",
       ErrorCode::not_supported,
       "/properties/x/pattern"},
      {R"j({"type":"object","properties":{"x":{"pattern":"(((a{100}){100}){100})"}}})j",
       ErrorCode::not_supported,
       "/properties/x/pattern"},
      {R"({"type":"object","properties":{"x":{"type":"str"}}})",
       ErrorCode::invalid_definition,
       "/properties/x/type"},
      {R"({"type":"object","properties":{"x":{"type":[]}}})",
       ErrorCode::invalid_definition,
       "/properties/x/type"},
      {R"({"type":"object","properties":{"x":{"minLength":-1}}})",
       ErrorCode::invalid_definition,
       "/properties/x/minLength"},
      {R"({"type":"object","properties":{"x":{"enum":[]}}})",
       ErrorCode::invalid_definition,
       "/properties/x/enum"},
      {R"({"type":"object","properties":{"x":{"items":[{}]}}})",
       ErrorCode::invalid_definition,
       "/properties/x/items"},
      {R"({"type":"object","properties":{"x":1}})", ErrorCode::invalid_definition, "/properties/x"},
      {R"({"type":"object","properties":[]})", ErrorCode::invalid_definition, "/properties"},
      {R"({"type":"object","required":[1]})", ErrorCode::invalid_definition, "/required/0"},
      {R"({"type":"object","description":1})", ErrorCode::invalid_definition, "/description"},
      {R"({"type":"array"})", ErrorCode::invalid_definition, "/type"},
      {R"({"type":["object","null"]})", ErrorCode::invalid_definition, "/type"},
      {"{}", ErrorCode::invalid_definition, "/type"},
      {"true", ErrorCode::invalid_definition, "/type"},
      {"{", ErrorCode::invalid_json, ""},
  };
  for (const auto& [schema, code, pointer] : cases) {
    const auto compiled = ArgumentSchema::compile(schema);
    ASSERT_FALSE(compiled) << schema;
    EXPECT_EQ(name(compiled.error().code), name(code)) << schema << ": " << compiled.error().text;
    EXPECT_EQ(compiled.error().pointer, pointer) << schema;
  }
}

TEST(Schema, BoundsSchemas) {
  const std::string large =
      R"({"type":"object","description":")" + std::string(limits::schema_bytes_max, 'x') + "\"}";
  EXPECT_EQ(ArgumentSchema::compile(large).error().code, ErrorCode::invalid_definition);
  std::string many = R"({"type":"object","properties":{)";
  for (std::size_t i = 0; i <= limits::schema_patterns_max; ++i)
    many += (i ? ",\"p" : "\"p") + std::to_string(i) + R"(":{"pattern":"a"})";
  EXPECT_EQ(ArgumentSchema::compile(many + "}}").error().code, ErrorCode::invalid_definition);
  std::string deep = "{}";
  for (int i = 0; i < 100; ++i)
    deep = R"({"items":)" + deep + "}";
  EXPECT_EQ(ArgumentSchema::compile(R"({"type":"object","properties":{"a":)" + deep + "}}").error().code,
            ErrorCode::invalid_json);
}

TEST(Schema, RefusesArgumentsThatTakeTooLongToCheck) {
  std::string items;
  for (int i = 0; i < 100'000; ++i)
    items += i ? ",5999" : "5999";
  const auto schema =
      about(R"({"items":{"allOf":[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]}})");
  EXPECT_EQ(verdict(schema, "{\"a\":[5999]}"), "ok");
  EXPECT_EQ(verdict(schema, "{\"a\":[" + items + "]}"), "the arguments are too large to be checked");
  const auto pattern = about(R"j({"pattern":"(a|aa|aaa){400}b"})j");
  EXPECT_EQ(verdict(pattern, "{\"a\":\"" + std::string(4u << 20, 'a') + "\"}"),
            "the arguments are too large to be checked");
}

TEST(Schema, PromisesOnlyWhatEveryObjectHas) {
  const auto schema = *ArgumentSchema::compile(R"({"type":"object","required":["a","o","any"],"properties":{
      "a":{"type":"string"},"b":{"type":"string"},
      "o":{"type":"object","required":["x/y"]},
      "p":{"type":"object","required":["x"]},
      "n":{"type":["object","null"],"required":["x"]}}})");
  for (const std::string_view pointer : {"", "/a", "/o", "/o/x~1y", "/any"})
    EXPECT_TRUE(schema.promises(pointer)) << pointer;
  for (const std::string_view pointer : {"a", "/b", "/p/x", "/n/x", "/a/b", "/any/x", "/o/x~1y/z", "/~2"})
    EXPECT_FALSE(schema.promises(pointer)) << pointer;
}

TEST(Schema, KnowsOnlyWhatItNames) {
  const auto schema = *ArgumentSchema::compile(R"({"type":"object","properties":{
      "a":{"type":"string"},"l":{"items":{"properties":{"x":true}}}}})");
  for (const std::string_view pointer : {"", "/a", "/l", "/l/0", "/l/12/x"})
    EXPECT_TRUE(schema.knows(pointer)) << pointer;
  for (const std::string_view pointer : {"a", "/b", "/a/0", "/l/x", "/l/0/y", "/~2"})
    EXPECT_FALSE(schema.knows(pointer)) << pointer;
}

}  // namespace
}  // namespace ratchet
