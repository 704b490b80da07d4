// When freed memory is given back: not at every end of a run, and not only when thousands end together.

#include "actors/freed_memory.hpp"

#include <gtest/gtest.h>

#include "runtime/limits.hpp"

namespace ratchet {
namespace {

TEST(FreedMemory, IsGivenBackOnceWhenHalfOfManyRunsAreGone) {
  FreedMemory freed;
  const std::size_t many = limits::give_back_runs_min;
  EXPECT_FALSE(freed.pays(many));
  EXPECT_FALSE(freed.pays(many / 2 + 1));
  EXPECT_TRUE(freed.pays(many / 2));
  EXPECT_FALSE(freed.pays(0)) << "it is about to be";
  freed.give_back();
  EXPECT_FALSE(freed.pays(many / 2)) << "a few runs leave little behind";
  EXPECT_FALSE(freed.pays(0));
}

TEST(FreedMemory, IsGivenBackWhenManyHaveComeAndGoneOneByOne) {
  FreedMemory freed;
  int runs = 0;
  bool pays = false;
  for (; !pays && runs < 1'000'000; ++runs) {
    freed.pays(1);
    pays = freed.pays(0);
  }
  EXPECT_TRUE(pays);
  EXPECT_GT(runs, 1'000) << "each time costs tens of milliseconds";
}

}  // namespace
}  // namespace ratchet
