#include "runtime/descriptors.hpp"

#include <gtest/gtest.h>

#include "runtime/limits.hpp"

namespace ratchet {
namespace {

TEST(Descriptors, KeepAReserveAndAQuarterForEachSide) {
  Descriptors files(limits::other_descriptors + 4'000);
  files.clients = 2'999;
  EXPECT_TRUE(files.client_fits());
  files.clients = 3'000;
  EXPECT_FALSE(files.client_fits());  // the last quarter is for calls
  files.call_sockets = files.calls = 700;
  EXPECT_TRUE(files.call_fits());
  files.calls = 800;  // and 200 idle connections for calls like them
  EXPECT_FALSE(files.call_fits());
  files.clients = 100;
  files.call_sockets = 3'900;
  EXPECT_FALSE(files.client_fits());  // idle connections of calls are open, too
}

TEST(Descriptors, OfVeryFewFilesThreeQuartersAreSharedOut) {
  Descriptors files(16);
  files.clients = 8;
  EXPECT_TRUE(files.client_fits());
  files.clients = 9;
  EXPECT_FALSE(files.client_fits());
  EXPECT_TRUE(files.call_fits());
}

TEST(Descriptors, AreSharedOutWithoutABoundWhereTheSystemHasNone) {
  Descriptors files(SIZE_MAX);
  files.clients = files.calls = files.call_sockets = std::size_t{1} << 40;
  EXPECT_TRUE(files.client_fits());
  EXPECT_TRUE(files.call_fits());
}

TEST(Descriptors, TheLimitIsRaisedOnce) {
  const auto raised = raise_descriptor_limit();
  EXPECT_GE(raised, 64u);
  EXPECT_EQ(raise_descriptor_limit(), raised);
}

}  // namespace
}  // namespace ratchet
