// Rates of tools: bursts up to the limit, then the even rate; keys apart from each other; memory bounded.

#include "actors/rate_limiter.hpp"

#include <gtest/gtest.h>

#include "runtime/limits.hpp"

namespace ratchet {
namespace {

constexpr RateLimit six_a_minute{6, 60'000, RatePer::run};

TEST(RateLimiter, LetsAWholeWindowThroughAtOnceAndThenTheEvenRate) {
  RateLimiter limiter;
  Timestamp now{1'000'000'000};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(limiter.take("a", six_a_minute, now), std::nullopt) << i;
  EXPECT_EQ(limiter.take("a", six_a_minute, now), 10'000);
  EXPECT_EQ(limiter.take("a", six_a_minute, now.plus_ms(9'999)), 1) << "a refused call takes nothing";
  EXPECT_EQ(limiter.take("a", six_a_minute, now.plus_ms(10'000)), std::nullopt);
  EXPECT_EQ(limiter.take("a", six_a_minute, now.plus_ms(10'000)), 10'000);
  now = now.plus_ms(1'000'000);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(limiter.take("a", six_a_minute, now), std::nullopt) << "rest is not saved up beyond a window";
  EXPECT_EQ(limiter.take("a", six_a_minute, now), 10'000);
}

TEST(RateLimiter, CountsKeysApart) {
  RateLimiter limiter;
  const RateLimit one{1, 1'000, RatePer::user};
  EXPECT_EQ(limiter.take("a", one, Timestamp{5}), std::nullopt);
  EXPECT_EQ(limiter.take("b", one, Timestamp{5}), std::nullopt);
  EXPECT_EQ(limiter.take("a", one, Timestamp{5}), 1'000);
}

TEST(RateLimiter, IsNotFooledByAClockThatGoesBack) {
  RateLimiter limiter;
  const RateLimit one{1, 1'000, RatePer::run};
  EXPECT_EQ(limiter.take("a", one, Timestamp{10'000'000}), std::nullopt);
  EXPECT_EQ(limiter.take("a", one, Timestamp{9'000'000}), 2'000);
}

TEST(RateLimiter, ForgetsKeysThatAreAsGoodAsNewAndBoundsTheRest) {
  RateLimiter limiter;
  const RateLimit one{1, 60'000, RatePer::run};
  const Timestamp now{1'000'000'000};
  for (std::size_t i = 0; i < limits::rate_keys_max; ++i)
    ASSERT_EQ(limiter.take(std::to_string(i), one, now), std::nullopt);
  EXPECT_EQ(limiter.take("new", one, now), 1'000) << "no room for another key";
  EXPECT_EQ(limiter.take("0", one, now), 60'000);
  EXPECT_EQ(limiter.take("new", one, now.plus_ms(60'000)), std::nullopt);
  EXPECT_EQ(limiter.size(), 1u);
}

TEST(RateLimiter, NamesWhoseCallsAreCountedTogether) {
  ToolManifest tool;
  tool.name = "send";
  tool.rate_limit = RateLimit{1, 1'000, RatePer::run};
  EXPECT_NE(rate_key(tool, "t", "u", "run_1"), rate_key(tool, "t", "u", "run_2"));
  tool.rate_limit->per = RatePer::user;
  EXPECT_EQ(rate_key(tool, "t", "u", "run_1"), rate_key(tool, "t", "u", "run_2"));
  EXPECT_NE(rate_key(tool, "t", "u", "run_1"), rate_key(tool, "t2", "u", "run_1"));
  tool.rate_limit->per = RatePer::team;
  EXPECT_EQ(rate_key(tool, "t", "u", "run_1"), rate_key(tool, "t", "v", "run_2"));
}

}  // namespace
}  // namespace ratchet
