// What a killed node leaves, and the nodes beside it.

#include "sandbox/launch/sweep.hpp"

#include <csignal>
#include <sys/wait.h>

#include <gmock/gmock.h>

#include "tests/fakes/not_tested.hpp"
#include "tests/live/launch/fixture.hpp"

namespace ratchet::sandbox {

namespace {

using testing::IsEmpty;

/// A node in a process of its own, with two sandboxes of a runtime: one at work, one frozen. It says so with
/// one byte, and then waits to be killed.
[[noreturn]] void be_a_node(const std::string& data_dir,
                            const std::string& label,
                            const TierOptions& options,
                            int ready) {
  LiveNode node(data_dir, label, enter_namespaces());
  if (!node.set_up()) ::_exit(1);
  const auto launcher = node.launcher(options.runtime == "runsc" ? 3 : 2, options);
  auto working = launcher->start(node.name(1)), resting = launcher->start(node.name(2));
  if (!working || !resting || !resting->sandbox->freeze()) ::_exit(1);
  Shell shell(*std::move(working));
  if (shell.ask("sleep 1000 & echo at work") != "at work") ::_exit(1);
  (void)!::write(ready, "1", 1);
  for (;;)
    ::pause();
}

class Sweep : public testing::TestWithParam<TierOptions> {};

INSTANTIATE_TEST_SUITE_P(,
                         Sweep,
                         testing::Values(TierOptions{TierOptions::Kind::oci, "crun"},
                                         TierOptions{TierOptions::Kind::oci, "runc"},
                                         TierOptions{TierOptions::Kind::oci, "runsc"},
                                         TierOptions{TierOptions::Kind::bwrap, "bwrap"}),
                         [](const auto& info) { return info.param.runtime; });

TEST_P(Sweep, RemovesWhatAKilledNodeLeftAndNothingOfItsNeighbour) {
  if (find_cgroups().version == CgroupLayout::Version::none)
    return skip_not_tested("what a killed node leaves", "no control group can be written");
  const TemporaryDirectory dead_directory, living_directory;
  const auto dead_label = random_label();
  auto ready = make_pipe();
  ASSERT_TRUE(ready);
  const pid_t dead = ::fork();
  if (dead == 0) be_a_node(dead_directory.path(), dead_label, GetParam(), ready->write.get());
  ready->write.reset();
  char byte = 0;
  const bool started = ::read(ready->read.get(), &byte, 1) == 1;

  LiveNode neighbour(living_directory.path());
  const auto set_up = neighbour.set_up();
  const auto launcher =
      set_up ? neighbour.launcher(GetParam().runtime == "runsc" ? 3 : 2, GetParam()) : nullptr;
  const bool can = started && set_up && launcher->status().available;
  std::optional<Shell> living;
  if (can) living.emplace(*launcher->start(neighbour.name(1)));

  ::kill(dead, SIGKILL);
  ::waitpid(dead, nullptr, 0);
  if (!can) {
    const std::string why = !set_up ? set_up.error().text : launcher ? launcher->status().why : std::string();
    return skip_not_tested("what a killed node leaves of " + GetParam().runtime,
                           why.empty() ? "the node to be killed could not start it" : why);
  }
  const Places places(dead_directory.path() + "/sandbox");
  const auto cgroups = find_cgroups();
  EXPECT_EQ(cgroups_named(cgroups, dead_label + "-").size(), 2u);

  const auto swept = sweep(places, cgroups, dead_label);
  ASSERT_TRUE(swept) << swept.error().text;
  EXPECT_EQ(*swept, 2u);
  EXPECT_THAT(cgroups_named(cgroups, dead_label), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(places.slots()));
  EXPECT_TRUE(std::filesystem::is_empty(places.bundles()));
  EXPECT_EQ(sweep(places, cgroups, dead_label).value_or(9), 0u);

  EXPECT_EQ(living->ask("echo alive"), "alive");
  EXPECT_TRUE(living->sandbox().destroy());
}

TEST(SweepOfNotes, TakesThoseOfOneSandboxAndNotOfAnother) {
  const TemporaryDirectory state;
  const auto at = [&](const std::string& name) { return state.path() + "/" + name; };
  for (const auto* name : {"ratchet-a-1", "ratchet-a-10", "ratchet-a-11"})
    ASSERT_TRUE(make_directory(at(name), 0700));
  for (const auto* name :
       {"ratchet-a-1_sandbox:ratchet-a-1.state", "ratchet-a-12_sandbox:ratchet-a-12.state"})
    ASSERT_TRUE(write_new(at(name), "", 0600));
  ASSERT_TRUE(remove_notes_of(state.path(), "ratchet-a-1"));
  std::vector<std::string> left;
  for (const auto& each : std::filesystem::directory_iterator(state.path()))
    left.push_back(each.path().filename().string());
  EXPECT_THAT(left,
              testing::UnorderedElementsAre(
                  "ratchet-a-10", "ratchet-a-11", "ratchet-a-12_sandbox:ratchet-a-12.state"));
}

}  // namespace

}  // namespace ratchet::sandbox
