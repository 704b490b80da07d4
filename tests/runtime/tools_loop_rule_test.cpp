#include <gtest/gtest.h>

#include "runtime/event/fields.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"
#include "runtime/tools/loop_rule.hpp"

namespace ratchet {
namespace {

const Hash first = sha256("{\"a\":1}");
const Hash other = sha256("{\"a\":2}");

using Word = LoopRule::Word;

TEST(LoopRule, RunsThenNotesThenStops) {
  LoopRule rule;
  std::vector<Word> words;
  for (int i = 0; i < 4; ++i) {
    words.push_back(LoopRule::judge(rule.repeats("read", first), false));
    rule.called("read", first);
    rule.returned("read", first, "ok");
  }
  EXPECT_EQ(words, (std::vector{Word::run, Word::run_with_note, Word::stop, Word::stop}));
}

TEST(LoopRule, CountsThroughCallsOfOtherTools) {
  LoopRule rule;
  rule.called("read", first);
  rule.called("write", first);
  rule.called("read", first);
  rule.called("search", other);
  EXPECT_EQ(rule.repeats("read", first), 2u);
}

TEST(LoopRule, StartsAgainAfterOtherArguments) {
  LoopRule rule;
  rule.called("read", first);
  rule.called("read", first);
  rule.called("read", other);
  EXPECT_EQ(rule.repeats("read", first), 0u);
  EXPECT_EQ(rule.repeats("read", other), 1u);
}

TEST(LoopRule, ExemptsRepeatableTools) {
  EXPECT_EQ(LoopRule::judge(1'000, true), Word::run);
}

TEST(LoopRule, SaysWhatTheCallReturnedFromTheSecondOn) {
  LoopRule rule;
  EXPECT_EQ(rule.note("read", first), "");
  rule.called("read", first);
  EXPECT_EQ(rule.note("read", first), "") << "the first in a row";
  rule.returned("read", first, "42 lines");
  rule.called("read", first);
  EXPECT_EQ(rule.note("read", first),
            "Note: read has been called 2 times in a row with the same arguments. The same call once more "
            "would not be "
            "executed and would end the run: use what you have, or call differently. Before, it returned: 42 "
            "lines");
  EXPECT_EQ(rule.note("read", other), "");
}

TEST(LoopRule, SaysNothingOfAResultThatIsNotThere) {
  LoopRule rule;
  rule.called("read", first);
  rule.called("read", first);
  EXPECT_NE(rule.note("read", first), "");
  EXPECT_EQ(rule.note("read", first).find("Before, it returned"), std::string::npos);
}

TEST(LoopRule, CutsTheHeadBetweenCodePoints) {
  std::string result = "x";
  while (result.size() < 2 * limits::loop_head_bytes_max)
    result += "\xF0\x9F\x94\xA5";
  LoopRule rule;
  rule.called("read", first);
  rule.returned("read", first, result);
  rule.called("read", first);
  const std::string note = rule.note("read", first);
  EXPECT_TRUE(is_valid_utf8(note));
  EXPECT_TRUE(note.ends_with("…"));
  EXPECT_LT(note.size(), limits::loop_head_bytes_max + 350);
}

TEST(LoopRule, IgnoresAResultOfArgumentsThatAreNotTheLast) {
  LoopRule rule;
  rule.called("read", first);
  rule.called("read", other);
  rule.called("read", other);
  rule.returned("read", first, "late");
  EXPECT_NE(rule.note("read", other), "");
  EXPECT_EQ(rule.note("read", other).find("late"), std::string::npos);
}

TEST(LoopRule, ForgetsTheNameCalledLongestAgo) {
  LoopRule rule;
  rule.called("read", first);
  for (std::size_t i = 0; i + 1 < limits::loop_tools_max; ++i) {
    rule.called("invented_" + std::to_string(i), first);
    if (i == 5) rule.called("read", first);
  }
  rule.called("one_more", first);
  EXPECT_EQ(rule.repeats("invented_0", first), 0u);
  EXPECT_EQ(rule.repeats("invented_1", first), 1u);
  EXPECT_EQ(rule.repeats("read", first), 2u) << "was called since";
  rule.called(std::string(1u << 20, 'x'), first);
  EXPECT_EQ(rule.repeats(std::string(1u << 20, 'x'), first), 1u);
}

TEST(LoopRule, SurvivesTheCodec) {
  LoopRule rule;
  rule.called("read", first);
  rule.returned("read", first, "ok");
  rule.called("write", other);
  std::string bytes;
  fields::write(rule, bytes);
  LoopRule read;
  ASSERT_EQ(fields::read(bytes, read), nullptr);
  EXPECT_EQ(read, rule);
}

}  // namespace
}  // namespace ratchet
