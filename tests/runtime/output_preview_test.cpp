#include "runtime/tools/output_preview.hpp"

#include <gtest/gtest.h>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"

namespace ratchet {
namespace {

std::string shown(OutputPreview& preview, std::string_view bytes) {
  const auto output = preview.feed(bytes);
  return output ? output->text : "";
}

TEST(OutputPreview, SaysWhoseItIsAndWhereItGoesOn) {
  OutputPreview preview("call_2_1", 3);
  ASSERT_EQ(preview.feed("one\n")->index, 0u);
  const auto output = preview.feed("two\n");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->call_id, "call_2_1");
  EXPECT_EQ(output->attempt, 3u);
  EXPECT_EQ(output->index, 4u);
  EXPECT_EQ(output->text, "two\n");
}

TEST(OutputPreview, HoldsBackACodePointThatIsNotWhole) {
  for (const std::string whole : {"é", "€", "😀"})
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
      OutputPreview preview("c", 1);
      EXPECT_EQ(shown(preview, "a" + whole.substr(0, cut)), "a") << whole << cut;
      EXPECT_EQ(shown(preview, whole.substr(cut) + "b"), whole + "b") << whole << cut;
    }
}

TEST(OutputPreview, ShowsWhatIsNotTextAsSuch) {
  OutputPreview preview("c", 1);
  const std::string text = shown(preview, "a\xFF\x80z\xC3(");
  EXPECT_TRUE(is_valid_utf8(text));
  EXPECT_TRUE(text.starts_with("a\xEF\xBF\xBD") && text.ends_with("(")) << text;
}

TEST(OutputPreview, ShowsNoMoreThanItsBoundCutBetweenCodePoints) {
  OutputPreview preview("c", 1);
  std::string all;
  for (std::size_t i = 0; i < limits::output_preview_bytes_max; ++i)
    all += shown(preview, "€");
  EXPECT_EQ(all.size(), limits::output_preview_bytes_max / 3 * 3);
  EXPECT_TRUE(is_valid_utf8(all));
  EXPECT_FALSE(preview.feed("more"));
}

}  // namespace
}  // namespace ratchet
