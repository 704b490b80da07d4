#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "runtime/json/unescape.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/json/writer.hpp"

namespace ratchet {
namespace {

std::string json_of(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(JsonWriter, EscapesWhatMustBeAndNothingElse) {
  EXPECT_EQ(json_of(""), "\"\"");
  EXPECT_EQ(json_of("plain text, longer than one word of eight bytes / with a slash"),
            "\"plain text, longer than one word of eight bytes / with a slash\"");
  EXPECT_EQ(json_of("\"\\\b\f\n\r\t"), R"("\"\\\b\f\n\r\t")");
  EXPECT_EQ(json_of(std::string("\0\x01\x1f\x7f", 4)), "\"\\u0000\\u0001\\u001f\x7f\"");
  EXPECT_EQ(json_of("é€\U0001F600\u2028"), "\"é€\U0001F600\u2028\"");
}

// Every byte that needs care, at every place of a word of eight.
TEST(JsonWriter, FindsASpecialByteAtEveryPlace) {
  for (std::size_t at = 0; at < 20; ++at) {
    for (int byte = 0; byte < 0x80; ++byte) {
      std::string text(20, 'x');
      text[at] = static_cast<char>(byte);
      const auto out = json_of(text);
      std::string back;
      EXPECT_EQ(append_unescaped(back, std::string_view(out).substr(1, out.size() - 2)), out.size() - 2);
      EXPECT_EQ(back, text);
      const bool special = byte < 0x20 || byte == '"' || byte == '\\';
      EXPECT_EQ(out.size() > 22, special) << byte;
    }
  }
}

TEST(JsonWriter, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(json_of("a\xFFz"), "\"a\uFFFDz\"");
  EXPECT_EQ(json_of("a\xC3"), "\"a\uFFFD\"");
  EXPECT_EQ(json_of("\xC3\xA9\xA9"), "\"é\uFFFD\"");
}

TEST(JsonWriter, WritesIntegersAndBooleans) {
  std::string out;
  append_json_number(out, std::numeric_limits<std::int64_t>::min());
  out += ' ';
  append_json_number(out, std::numeric_limits<std::uint64_t>::max());
  out += ' ';
  append_json_bool(out, true);
  append_json_bool(out, false);
  EXPECT_EQ(out, "-9223372036854775808 18446744073709551615 truefalse");
}

TEST(Utf8, KnowsWhatIsValid) {
  const struct {
    std::string text;
    std::size_t length;
  } table[] = {
      {"", 0},
      {"a", 1},
      {"\x7f", 1},
      {"\x80", 0},
      {"\xC1\x80", 0},  // overlong
      {"\xC2\x80", 2},
      {"\xE0\x9F\xBF", 0},  // overlong
      {"\xE0\xA0\x80", 3},
      {"\xED\x9F\xBF", 3},
      {"\xED\xA0\x80", 0},  // a surrogate
      {"\xEF\xBF\xBF", 3},
      {"\xF0\x8F\xBF\xBF", 0},  // overlong
      {"\xF0\x90\x80\x80", 4},
      {"\xF4\x8F\xBF\xBF", 4},
      {"\xF4\x90\x80\x80", 0},  // above U+10FFFF
      {"\xF5\x80\x80\x80", 0},
      {"\xE2\x82", 0},
      {"\xE2\x28\xA1", 0},
  };

  for (const auto& [text, length] : table)
    EXPECT_EQ(utf8_length(text), length) << ::testing::PrintToString(text);
}

TEST(Utf8, CutsBetweenCodePoints) {
  const std::string text = "aé€\U0001F600";  // 1 + 2 + 3 + 4 bytes
  const std::size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (std::size_t max = 0; max < std::size(expected); ++max)
    EXPECT_EQ(utf8_cut(text, max), expected[max]) << max;
}

TEST(Utf8, SanitizeMakesOneReplacementOfEachMistake) {
  EXPECT_EQ(sanitize_utf8("all is well, é€\U0001F600"), "all is well, é€\U0001F600");
  EXPECT_EQ(sanitize_utf8("a\xED\xA0\xBDz"), "a\uFFFDz");
  EXPECT_EQ(sanitize_utf8("a\xE2\x82z"), "a\uFFFDz");
  EXPECT_EQ(sanitize_utf8("\x80\x80"), "\uFFFD\uFFFD");
  EXPECT_EQ(sanitize_utf8("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(sanitize_utf8("\xFF\xC3\xA9"), "\uFFFDé");
  EXPECT_TRUE(is_valid_utf8("long enough for a word of eight: é"));
  EXPECT_FALSE(is_valid_utf8("long enough for a word of eight: \xC3"));
}

TEST(Unescape, JoinsASurrogatePairThatArrivesInTwoPieces) {
  std::string out;
  append_unescaped(out, "x\\ud83d");
  EXPECT_TRUE(ends_with_high_surrogate(out));
  EXPECT_EQ(sanitize_utf8(out), "x\uFFFD");
  append_unescaped(out, "\\uDE00y");
  EXPECT_EQ(out, "x\U0001F600y");
}

TEST(Unescape, StopsAtAnEscapeThatJsonDoesNotHave) {
  std::string out;
  EXPECT_EQ(append_unescaped(out, "ab\\q"), 2u);
  EXPECT_EQ(append_unescaped(out, "ab\\"), 2u);
  EXPECT_EQ(append_unescaped(out, "ab\\u12"), 2u);
  EXPECT_EQ(append_unescaped(out, "ab\\/\\u0041"), 10u);
  EXPECT_EQ(out, "abababab/A");
}

}  // namespace
}  // namespace ratchet
