#include "runtime/yaml.hpp"

#include <gtest/gtest.h>

#include "runtime/limits.hpp"

namespace ratchet {
namespace {

std::string json(std::string_view yaml) {
  const auto document = parse_yaml(yaml);
  return document ? document->json : "error: " + document.error().text;
}

TEST(Yaml, TypesUnquotedScalarsAsJsonDoes) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"true", "true"},
      {"false", "false"},
      {"True", R"("True")"},
      {"yes", R"("yes")"},
      {"no", R"("no")"},
      {"on", R"("on")"},
      {"off", R"("off")"},
      {"null", "null"},
      {"~", "null"},
      {"", "null"},
      {"12", "12"},
      {"-12", "-12"},
      {"1.50", "1.5"},
      {"1e3", "1000"},
      {"007", R"("007")"},
      {"+1", R"("+1")"},
      {".5", R"(".5")"},
      {"5.", R"("5.")"},
      {"0x1F", R"("0x1F")"},
      {"1_000", R"("1_000")"},
      {".inf", R"(".inf")"},
      {".nan", R"(".nan")"},
      {"2026-11-30", R"("2026-11-30")"},
      {"12:30", R"("12:30")"},
      {"'true'", R"("true")"},
      {"\"12\"", R"("12")"},
      {"! 12", R"("12")"},
  };
  for (const auto& [yaml, expected] : cases)
    EXPECT_EQ(json("a: " + std::string(yaml)), "{\"a\":" + std::string(expected) + "}") << yaml;
}

TEST(Yaml, ReadsBlockTextAndNesting) {
  EXPECT_EQ(json("a: |\n  x\n  y\nb: >-\n  p\n  q\nc: [1, {d: e}]\n"),
            R"({"a":"x\ny\n","b":"p q","c":[1,{"d":"e"}]})");
  EXPECT_EQ(json("a: |\r\n  x\r\n  y\r\n"), R"({"a":"x\ny\n"})");
  EXPECT_EQ(json("\xEF\xBB\xBF\xC3\xA9: \xF0\x9F\x94\xA5"), "{\"\xC3\xA9\":\"\xF0\x9F\x94\xA5\"}");
  EXPECT_EQ(json("true: 1\n1: 2"), R"({"true":1,"1":2})");
  EXPECT_EQ(json("# nothing\n"), "null");
}

TEST(Yaml, TakesJsonAsItIs) {
  EXPECT_EQ(json(R"({"a": [1, "x\ty", null, true], "b": {"c": "{{/d}}"}})"),
            R"({"a":[1,"x\ty",null,true],"b":{"c":"{{/d}}"}})");
}

TEST(Yaml, RefusesWithLineAndColumn) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"a: &x 1\nb: *x", "line 1, column 4: anchors are not supported"},
      {"a: *x", "line 1, column 4: the referenced anchor is not defined"},
      {"a: !!str 1", "line 1, column 4: tags are not supported: tag:yaml.org,2002:str"},
      {"a: 1\nb: 2\na: 3", "line 3, column 1: the key 'a' comes a second time"},
      {"<<: {a: 1}", "line 1, column 1: merge keys are not supported"},
      {"a: 1\n---\nb: 2", "line 2, column 1: the document ends before this, and there can be only one"},
      {"- a\nb: 1", "line 2, column 1: the document ends before this, and there can be only one"},
      {"%YAML 1.1\n---\na: yes", "line 1, column 1: directives (%) are not supported"},
      {"? [1]\n: 2", "line 1, column 3: expected a key, which is text; is a bracket or a quote left open?"},
      {"~: 2", "line 1, column 1: expected a key, which is text; is a bracket or a quote left open?"},
      {"a: b: c", "line 1, column 5: illegal map value"},
      {"a: 1\n b: 2", "line 2, column 3: illegal map value"},
      {"x: 1\na: [1,2", "line 2, column 1: end of sequence flow not found"},
      {"a: 12345678901234567890",
       "line 1, column 4: the integer 12345678901234567890 has too many digits: write it as a string"},
      {"a: 1e999", "line 1, column 4: the number 1e999 is out of range"},
      {"a: \"\\ud83d\"", "line 1, column 11: invalid unicode: 55357"},
      {"a: 1\nb: \x04 c", "line 2, column 4: the control character U+0004 has to be escaped"},
      {"a: \xFF", "line 1, column 4: the text is not valid UTF-8"},
  };
  for (const auto& [yaml, expected] : cases) {
    const auto document = parse_yaml(yaml);
    ASSERT_FALSE(document) << yaml << " gave " << document->json;
    EXPECT_EQ(document.error().code, ErrorCode::invalid_yaml);
    EXPECT_EQ(document.error().text, expected) << yaml;
  }
}

TEST(Yaml, BoundsDepthAndSize) {
  std::string deep;
  for (std::size_t i = 0; i <= limits::json_depth_max; ++i)
    deep += "- ";
  EXPECT_EQ(json(deep + "a"), "error: line 1, column 129: nested deeper than 64 levels");
  EXPECT_EQ(json(deep.substr(2) + "a"), std::string(64, '[') + "\"a\"" + std::string(64, ']'));
  const auto large = parse_yaml(std::string(limits::yaml_bytes_max + 1, ' '));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::too_large);
}

/// A large document that consists of one piece, again and again: none may crash or hang the
/// parser.
TEST(Yaml, SurvivesRepetition) {
  for (const std::string_view piece :
       {"[",    "{",     "{a: ",  "- ",   "? ", "a: ", "a:\n ", "&a ", "*a ", "!",  "!a ",
        "'",    "\"",    "\n",    "[]\n", "#",  "|\n", ": ",    "-\n", "[a,", "[?", "{? ",
        "%a\n", "---\n", "...\n", ", ",   "]",  "}",   "\"\\x", "\t",  "\\"}) {
    std::string yaml;
    while (yaml.size() < limits::yaml_bytes_max / 4)
      yaml += piece;
    const auto document = parse_yaml(yaml);
    EXPECT_TRUE(document || document.error().code == ErrorCode::invalid_yaml) << piece;
  }
}

TEST(Yaml, LocatesPointersInTheFile) {
  const auto document = parse_yaml("a: 1\nb:\n  - x\n  - {c/d: 2,\n     e: 3}\n");
  ASSERT_TRUE(document);
  const auto at = [&](std::string_view pointer) {
    const auto position = document->locate(pointer);
    return std::pair(position.line, position.column);
  };
  EXPECT_EQ(at(""), std::pair(1u, 1u));
  EXPECT_EQ(at("/a"), std::pair(1u, 1u));
  EXPECT_EQ(at("/b/0"), std::pair(3u, 5u));
  EXPECT_EQ(at("/b/1/c~1d"), std::pair(4u, 6u));
  EXPECT_EQ(at("/b/1/e"), std::pair(5u, 6u));
  EXPECT_EQ(at("/b/1/missing/deeper"), at("/b/1")) << "the nearest thing around it";
  EXPECT_EQ(at("no pointer"), at(""));
  EXPECT_EQ(document->at_line({ErrorCode::unknown_field, "there is no field 'e'", "/b/1/e"}).text,
            "line 5, column 6: there is no field 'e'");
}

}  // namespace
}  // namespace ratchet
