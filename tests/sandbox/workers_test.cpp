// Work that blocks: in order within a key, side by side without.

#include "sandbox/workers.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratchet::sandbox {
namespace {

TEST(Workers, DoWorkOfOneKeyInItsOrder) {
  std::vector<int> done;  // by one at a time: a race would be seen by the sanitizer
  {
    Workers workers(4);
    for (int i = 0; i < 100; ++i)
      workers.submit("one", [&, i] { done.push_back(i); });
  }
  ASSERT_EQ(done.size(), 100u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
}

TEST(Workers, LetNoKeyHoldUpTheOthers) {
  std::promise<void> go;
  const auto gone = go.get_future().share();
  std::promise<void> other, without;
  Workers workers(2);
  for (int i = 0; i < 10; ++i)
    workers.submit("slow", [gone] { gone.wait(); });
  workers.submit("other", [&] { other.set_value(); });
  workers.submit([&] { without.set_value(); });
  for (auto* each : {&other, &without})
    EXPECT_EQ(each->get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready);
  go.set_value();
}

TEST(Workers, DoAllBeforeTheyEndAlsoWhatWorkSubmits) {
  std::vector<int> done;
  {
    Workers workers(1);
    workers.submit("key", [&] {
      done.push_back(1);
      workers.submit("key", [&] { done.push_back(3); });
      workers.submit([&] { done.push_back(4); });
    });
    workers.submit("key", [&] { done.push_back(2); });
  }
  EXPECT_THAT(done, testing::UnorderedElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace ratchet::sandbox
