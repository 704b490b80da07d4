// The recorded runs in the tree, decided again by this build.

#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/cli/verbs.hpp"

namespace ratchet::cli {
namespace {

TEST(RecordedRuns, AreDecidedAgainTheSame) {
  std::ostringstream out;
  const auto done = verify_replays(out, {RATCHET_SOURCE_DIR "/tests/golden/runs"});
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(*done, ExitStatus::done) << out.str();
}

TEST(RecordedRuns, ADamagedFileIsNoDifferenceAndNotPassedOver) {
  const auto directory = std::filesystem::path(testing::TempDir()) / "recorded_runs";
  std::filesystem::create_directories(directory);
  const auto any = std::filesystem::directory_iterator(RATCHET_SOURCE_DIR "/tests/golden/runs")->path();
  std::filesystem::copy_file(
      any, directory / "cut.ratchet", std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(directory / "cut.ratchet", 500);
  std::ostringstream out;
  const auto done = verify_replays(out, {directory.string()});
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(*done, ExitStatus::usage);
  EXPECT_THAT(out.str(), testing::HasSubstr("not a whole export"));
  EXPECT_THAT(out.str(), testing::EndsWith("0 runs, 0 would be written otherwise; 1 files hold no run\n"));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace ratchet::cli
