#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include "runtime/json/canonical.hpp"
#include "runtime/json/dom.hpp"
#include "runtime/json/writer.hpp"
#include "runtime/limits.hpp"

namespace ratchet {
namespace {

std::string canonical(std::string_view text) {
  const auto result = canonical_json(text);
  return result ? *result : "refused: " + result.error().text;
}

std::string es6(double value) {
  std::string out;
  append_json_number(out, value);
  return out;
}

// RFC 8785 section 3.2.2 and 3.2.3.
TEST(CanonicalJson, GivesTheFormOfTheStandardsExample) {
  EXPECT_EQ(canonical(R"({
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    })"),
            "{\"literals\":[null,true,false],"
            "\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
            "\"string\":\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

TEST(CanonicalJson, SortsKeysByUtf16CodeUnits) {
  EXPECT_EQ(canonical(R"({"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7})"),
            "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"\u00f6\":7,\"\u20ac\":1,\"\U0001F600\":5,\"\uFB33\":3}");
}

TEST(CanonicalJson, SortsNestedObjectsAndKeepsTheOrderOfArrays) {
  EXPECT_EQ(canonical(R"( {"b" : [ {"d":1,"c":[ ]} , 2 ] , "a" : { } , "aa":{"z":{"y":0,"x":0},"w":0}} )"),
            R"({"a":{},"aa":{"w":0,"z":{"x":0,"y":0}},"b":[{"c":[],"d":1},2]})");
}

// RFC 8785 appendix B.
TEST(CanonicalJson, WritesNumbersAsTheStandardsTableDoes) {
  const struct {
    std::uint64_t bits;
    const char* text;
  } table[] = {
      {0x0000000000000000, "0"},
      {0x8000000000000000, "0"},
      {0x0000000000000001, "5e-324"},
      {0x8000000000000001, "-5e-324"},
      {0x7fefffffffffffff, "1.7976931348623157e+308"},
      {0xffefffffffffffff, "-1.7976931348623157e+308"},
      {0x4340000000000000, "9007199254740992"},
      {0xc340000000000000, "-9007199254740992"},
      {0x4430000000000000, "295147905179352830000"},
      {0x44b52d02c7e14af5, "9.999999999999997e+22"},
      {0x44b52d02c7e14af6, "1e+23"},
      {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
      {0x444b1ae4d6e2ef4e, "999999999999999700000"},
      {0x444b1ae4d6e2ef4f, "999999999999999900000"},
      {0x444b1ae4d6e2ef50, "1e+21"},
      {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
      {0x3eb0c6f7a0b5ed8d, "0.000001"},
      {0x41b3de4355555553, "333333333.3333332"},
      {0x41b3de4355555554, "333333333.33333325"},
      {0x41b3de4355555555, "333333333.3333333"},
      {0x41b3de4355555556, "333333333.3333334"},
      {0x41b3de4355555557, "333333333.33333343"},
      {0xbecbf647612f3696, "-0.0000033333333333333333"},
      {0x43143ff3c1cb0959, "1424953923781206.2"},
  };

  for (const auto& [bits, text] : table)
    EXPECT_EQ(es6(std::bit_cast<double>(bits)), text);
}

TEST(CanonicalJson, NumbersReadBackTheSame) {
  std::mt19937_64 random(8785);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const auto text = es6(value);
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
    EXPECT_EQ(canonical(text).find("refused") == std::string::npos
                  ? std::strtod(canonical(text).c_str(), nullptr)
                  : value,
              value)
        << text;
  }
}

TEST(CanonicalJson, IsAFixedPoint) {
  for (const char* text :
       {R"({"b":1.50,"a":"\u00e9\ud83d\ude00\t"})", "[1e3,-0,-0.0,10000000000000000,1.0]", "\"\\u007f\""})
    EXPECT_EQ(canonical(canonical(text)), canonical(text));
}

TEST(CanonicalJson, RefusesWhatIsNotOneValueAndSaysWhere) {
  const struct {
    std::string text;
    const char* problem;
  } table[] = {
      {"", "line 1, column 1: expected a value, found the end of the text"},
      {"  \n ", "line 2, column 2: expected a value, found the end of the text"},
      {"{\"a\":NaN}", "line 1, column 6: expected a value, found \"NaN\""},
      {"{\"a\":Infinity}", "line 1, column 6: expected a value, found \"Infinity\""},
      {"{\"a\":-Infinity}", "line 1, column 7: expected a number, found \"Infinity\""},
      {"{'a':1}", "line 1, column 2: expected a key in double quotes, found \"'a'\""},
      {"{\"a\":1,}", "line 1, column 8: expected a key in double quotes, found \"}\""},
      {"[1,]", "line 1, column 4: expected a value, found \"]\""},
      {"[1 2]", "line 1, column 4: expected ',' or ']' in the array, found \"2\""},
      {"{\"a\" 1}", "line 1, column 6: expected ':' after the key, found \"1\""},
      {"{\"a\":1", "line 1, column 7: expected ',' or '}' in the object, found the end of the text"},
      {"{\"a\":\"b", "line 1, column 8: the text ends inside of a string"},
      {"{\"a\":\"b\\", "line 1, column 9: the text ends inside of a string"},
      {"{} {}", "line 1, column 4: expected nothing after the value, found \"{\""},
      {"{}x", "line 1, column 3: expected nothing after the value, found \"x\""},
      {"{\n  \"a\": 1,\n  \"\u00e9\": tru\n}", "line 3, column 8: expected a value, found \"tru\""},
      {"{\"a\":1,\"b\":2,\"a\":3}", "line 1, column 19: the object that ends here has the key \"a\" twice"},
      {"{\"a\":1,\"\\u0061\":3}", "line 1, column 18: the object that ends here has the key \"a\" twice"},
      {"[01]", "line 1, column 3: a number cannot begin with 0, found \"1\""},
      {"[1.]", "line 1, column 4: expected digits after the decimal point, found \"]\""},
      {"[.5]", "line 1, column 2: expected a value, found \".5\""},
      {"[+1]", "line 1, column 2: expected a value, found \"+1\""},
      {"[1e]", "line 1, column 4: expected digits of an exponent, found \"]\""},
      {"[1e400]", "line 1, column 7: the number 1e400 is out of range"},
      {"[9007199254740993]",
       "line 1, column 18: the integer 9007199254740993 has too many digits: write it as a string"},
      {"[\"\\x\"]", "line 1, column 3: JSON has no escape \"\\\\x\\\"\""},
      {"[\"\\u12g4\"]", "line 1, column 3: JSON has no escape \"\\\\u12g4\\\"\""},
      {"[\"a\nb\"]", "line 1, column 4: a control character inside of a string has to be escaped"},
      {std::string("[\"a\0\"]", 6),
       "line 1, column 4: a control character inside of a string has to be escaped"},
      {"[\"\xC3\"]", "line 1, column 3: the string is not valid UTF-8"},
      {"[\"\xED\xA0\x80\"]", "line 1, column 3: the string is not valid UTF-8"},
      {"\xEF\xBB\xBF{}", "line 1, column 1: expected a value, found \"\xEF\xBB\xBF{\""},
      {"// no\n{}", "line 1, column 1: expected a value, found \"//\""},
  };

  for (const auto& [text, problem] : table) {
    const auto result = canonical_json(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().text, problem);
    EXPECT_EQ(result.error().code, ErrorCode::invalid_json);
  }
}

TEST(CanonicalJson, RefusesEveryTruncationOfAnObject) {
  const std::string text = R"({"a":[1,-2.5e3,"x\u00e9\n"],"b":{"c":null,"d":true}})";
  for (std::size_t n = 0; n < text.size(); ++n)
    EXPECT_FALSE(canonical_json(text.substr(0, n))) << text.substr(0, n);
  EXPECT_TRUE(canonical_json(text));
}

TEST(CanonicalJson, KeepsLargeIntegersOnlyDigitByDigit) {
  EXPECT_EQ(canonical("[9007199254740992,-9007199254740994,295147905179352830000,1e21]"),
            "[9007199254740992,-9007199254740994,295147905179352830000,1e+21]");
  // A double holds it exactly, and its shortest form is another integer (found by the fuzzer).
  EXPECT_FALSE(canonical_json("888888888888888896"));
  EXPECT_FALSE(canonical_json("1000000000000000000000"));
}

TEST(CanonicalJson, TurnsALoneSurrogateIntoTheReplacementCharacter) {
  EXPECT_EQ(canonical(R"(["\ud83d","\ude00x","\ud83dx\ude00","\ude00\ud83d","\ud83d\ud83d\ude00"])"),
            "[\"\uFFFD\",\"\uFFFDx\",\"\uFFFDx\uFFFD\",\"\uFFFD\uFFFD\",\"\uFFFD\U0001F600\"]");
}

TEST(CanonicalJson, BoundsTheDepth) {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(canonical_json(nested(limits::json_depth_max)));
  EXPECT_EQ(canonical(nested(limits::json_depth_max + 1)),
            "refused: line 1, column 65: nested deeper than 64 levels");
  EXPECT_FALSE(canonical_json(std::string(1'000'000, '[')));
}

TEST(CanonicalJson, AnObjectIsInsistedOnWhereAskedFor) {
  EXPECT_EQ(*canonical_object(" {\"b\":1, \"a\":2} "), R"({"a":2,"b":1})");
  for (const auto& [text, kind] : {std::pair{"null", "null"},
                                   {"[{}]", "an array"},
                                   {"\"{}\"", "a string"},
                                   {"1", "a number"},
                                   {"true", "a boolean"}})
    EXPECT_EQ(canonical_object(text).error().text, std::string("expected an object, found ") + kind);
}

TEST(JsonDom, ReadsUnderTheSameRules) {
  const auto value = parse_json(R"({"n": 1.0, "s": "\ud83d\ude00", "big": 1e300})");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->at("n").as_int64(), 1);
  EXPECT_EQ(value->at("s").as_string(), "\U0001F600");
  EXPECT_EQ(value->at("big").as_double(), 1e300);
  EXPECT_EQ(parse_json("{\"a\":1,\n\"a\":2}").error().text,
            "line 2, column 6: the object that ends here has the key \"a\" twice");
  const auto deepest = std::string(limits::json_depth_max, '[') + std::string(limits::json_depth_max, ']');
  EXPECT_TRUE(parse_json(deepest));
}

}  // namespace
}  // namespace ratchet
