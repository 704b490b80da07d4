#include "runtime/run/prompt_filter.hpp"

#include <gtest/gtest.h>

namespace ratchet {
namespace {

Hash prompt(int n) {
  return sha256("prompt " + std::to_string(n));
}

TEST(PromptFilter, NeverSaysNoToWhatWasAdded) {
  PromptFilter filter;
  for (int n = 0; n < 300; ++n)
    filter.add(prompt(n));
  for (int n = 0; n < 300; ++n)
    EXPECT_TRUE(filter.may_have(prompt(n))) << n;
}

TEST(PromptFilter, SaysNoToNearlyAllOthersOfAnOrdinaryRun) {
  PromptFilter filter;
  for (int n = 0; n < 12; ++n)
    filter.add(prompt(n));
  int wrong = 0;
  for (int n = 12; n < 100'000; ++n)
    wrong += filter.may_have(prompt(n)) ? 1 : 0;
  EXPECT_LT(wrong, 40) << "six in a hundred thousand are expected";
}

TEST(PromptFilter, OfAnOlderBuildMayHaveEveryPrompt) {
  EXPECT_TRUE(PromptFilter().may_have(prompt(1)));
}

}  // namespace
}  // namespace ratchet
