// A guest that is not ours any more, runtimes that die or are missing.

#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "tests/live/attacks/fixture.hpp"

namespace ratchet::attacks {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Lifecycle : public Attack {
 protected:
  /// In the place of the guest: what somebody would run who has taken it over.
  void replace_guest(const std::string& script) {
    const auto path = data_dir() + "/sandbox/guest";
    ASSERT_TRUE(std::filesystem::exists(path));
    std::filesystem::remove(path);
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms(0755));
  }
};

RATCHET_ATTACKS(Lifecycle);

TEST_P(Lifecycle, AGuestThatLiesIsGivenUp) {
  // Too long, of no known type, half, not in its place, without an end; and then it does not go away.
  for (const char* said : {R"(printf '\377\377\377\377\020\0\0\0\0'; exec sleep 1000)",
                           R"(printf '\0\0\0\0\143\0\0\0\0'; exec sleep 1000)",
                           R"(printf '\004\0\0\0\020\0'; exit 0)",
                           R"(printf '\001\0\0\0\022\001\0\0\0x'; exec sleep 1000)",
                           "exec yes",
                           "exec cat /dev/zero",
                           "exit 1"}) {
    replace_guest(said);
    const auto id = create();
    ASSERT_FALSE(id) << said;
    EXPECT_EQ(id.error().code, ErrorCode::sandbox_unavailable) << said;
  }
  EXPECT_THAT(processes(), IsEmpty());
}

TEST_P(Lifecycle, AGuestThatIsKilledIsTold) {
  const auto id = leased();
  const auto neighbour = leased({.run = 2});
  const auto ended = begun(id, "exec sleep 1000");
  for (const int pid : processes(id))
    ::kill(pid, SIGKILL);
  const auto end = ended->get_future().get();
  EXPECT_EQ(end.kind, Kind::lost);
  EXPECT_FALSE(end.why.empty());
  EXPECT_TRUE(destroy(id));
  expect_usable(neighbour);
}

TEST_P(Lifecycle, WithoutItsRuntimeATierIsNotThere) {
  machine_.reset();
  auto& tier = own_kernel() ? options_.tier3 : options_.tier2;
  const std::pair<std::string, const char*> runtimes[] = {
      {data_dir() + "/runsc", "is not installed"},
      // A kernel of its own is not to be had from this one.
      {own_kernel() ? "crun" : "runsc", "cannot be had"}};
  for (const auto& [runtime, why] : runtimes) {
    tier->runtime = runtime;
    machine_ = std::make_unique<SandboxMachine>(options_);
    machine_->wait_until_tried();
    EXPECT_FALSE(host().tier(GetParam()).available);
    EXPECT_THAT(host().tier(GetParam()).why, HasSubstr(why));
    const auto id = create();
    ASSERT_FALSE(id);
    EXPECT_EQ(id.error().code, ErrorCode::sandbox_unavailable);
    machine_.reset();
  }
}

}  // namespace
}  // namespace ratchet::attacks
