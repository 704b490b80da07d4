#include <string>

#include <gtest/gtest.h>

#include "runtime/model/estimate.hpp"

namespace ratchet {
namespace {

std::string repeated(std::string_view piece, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += piece;
  return out;
}

// Tokens of o200k_base, measured: English 4.5 bytes a token, German 4.2, Chinese 4.2, JSON 2.6, ids 2.1.
TEST(Estimate, IsNotFarFromWhatWasMeasured) {
  const struct {
    const char* what;
    std::string text;
    double bytes_per_token;
  } table[] = {
      {"English", repeated("The quick brown fox jumps over the lazy dog, and then it rests. ", 50), 4.5},
      {"German", repeated("Über den Wolken muss die Freiheit wohl grenzenlos sein. ", 50), 4.2},
      {"Chinese", repeated("敏捷的棕色狐狸跳过了懒狗", 50), 4.2},
      {"JSON", repeated(R"({"id":17,"name":"x","tags":["a","b"],"ok":true},)", 50), 2.6},
      {"ids", repeated("f81d4fae-7dec-11d0-a765-00a0c91e6bf6 ", 50), 2.1},
  };

  for (const auto& [what, text, bytes_per_token] : table) {
    const double real = static_cast<double>(text.size()) / bytes_per_token;
    EXPECT_GE(estimate_tokens(text), real * 0.8) << what;
    EXPECT_LE(estimate_tokens(text), real * 1.75) << what;
  }
  EXPECT_EQ(estimate_tokens(""), 0);
  EXPECT_EQ(estimate_tokens("a"), 1);
}

TEST(Estimate, IsCalibratedByWhatIsReported) {
  EXPECT_EQ(calibrate(1'000, 1'000, 1'000), 1'000u);
  EXPECT_EQ(calibrate(1'000, 1'000, 2'000), 1'250u);
  EXPECT_EQ(calibrate(1'000, 1'000, 200), 813u) << "a quarter of the way to 250, the least";
  EXPECT_EQ(calibrate(1'000, 0, 2'000), 1'000u);
  EXPECT_EQ(calibrate(1'000, 1'000, 0), 1'000u) << "nothing was reported";
}

TEST(Estimate, CalibrationComesCloseWithinSomeSteps) {
  std::uint32_t ratio = 1'000;
  for (int step = 0; step < 12; ++step)
    ratio = calibrate(ratio, 10'000 * ratio / 1'000, 15'000);  // the provider counts half as much again
  EXPECT_NEAR(ratio, 1'500, 30);
}

}  // namespace
}  // namespace ratchet
