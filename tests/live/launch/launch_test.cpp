// Sandboxes from their start to their end, with every launcher that this machine has.

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "tests/live/launch/fixture.hpp"

namespace ratchet::sandbox {

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

struct Case {
  std::string name;
  std::uint32_t tier;
  TierOptions options;
};

const Case cases[] = {{"crun", 2, {TierOptions::Kind::oci, "crun"}},
                      {"runc", 2, {TierOptions::Kind::oci, "runc"}},
                      {"runsc", 3, {TierOptions::Kind::oci, "runsc"}}};

class Launch : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const auto set_up = node_.set_up();
    if (!set_up) return skip(set_up.error().text);
    launcher_ = node_.launcher(GetParam().tier, GetParam().options);
    if (!launcher_->status().available) skip(launcher_->status().why);
  }

  void TearDown() override {
    if (launcher_ == nullptr || HasFailure()) return;
    EXPECT_THAT(what_is_left(), IsEmpty());
  }

  static void skip(const std::string& why) {
    fprintf(stderr, "\n*** NOT TESTED: %s: %s ***\n\n", GetParam().name.c_str(), why.c_str());
    GTEST_SKIP() << why;
  }

  Shell start(int number = 1) {
    auto started = launcher_->start(node_.name(number));
    RATCHET_ENSURE(started.has_value(), started ? "" : started.error().text);
    return Shell(*std::move(started));
  }

  /// Everything of this node that can be seen from outside.
  std::vector<std::string> what_is_left() const {
    auto out = cgroups_named(node_.machine().cgroups, node_.label());
    const auto& places = node_.machine().places;
    for (const auto& folder : {places.bundles(),
                               places.slots(),
                               places.state("crun"),
                               places.state("runc"),
                               places.state("runsc")}) {
      std::error_code ignored;
      for (fs::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored))
        out.push_back(at->path().string());
    }
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);)
      if (line.find(node_.label()) != std::string::npos) out.push_back(line);
    return out;
  }

  TemporaryDirectory directory_;
  LiveNode node_{directory_.path()};
  std::unique_ptr<Launcher> launcher_;
};

INSTANTIATE_TEST_SUITE_P(, Launch, testing::ValuesIn(cases), [](const auto& info) {
  return info.param.name;
});

TEST_P(Launch, SpeaksOverItsPipesAndLeavesNothing) {
  auto shell = start();
  EXPECT_EQ(shell.ask("echo hello"), "hello");
  const auto destroyed = shell.sandbox().destroy();
  EXPECT_TRUE(destroyed) << destroyed.error().text;
  EXPECT_EQ(shell.line(), std::nullopt);
}

}  // namespace

}  // namespace ratchet::sandbox
