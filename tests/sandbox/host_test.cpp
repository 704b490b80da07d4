// The host of sandboxes over a launcher without walls: honest guests, guests that lie, and guests that die.

#include "sandbox/host.hpp"

#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/channel/frame.hpp"
#include "tests/sandbox/plain_launcher.hpp"
#include "tests/sandbox/refuse_all.hpp"

namespace ratchet::sandbox {
namespace {

using testing::HasSubstr;

/// What a callback was given; waits for it for at most a minute.
template <class T>
T wait_for(std::future<T>& future) {
  RATCHET_ENSURE(future.wait_for(std::chrono::minutes(1)) == std::future_status::ready, "no callback came");
  return future.get();
}

SandboxCommand shell(std::string script) {
  SandboxCommand command;
  command.argv = {"/bin/sh", "-c", std::move(script)};
  command.directory = "/tmp";
  command.output_bytes_max = 1u << 20;
  command.timeout_ms = 60'000;
  return command;
}

/// A guest that says what it is told to: `printf` words, one after each frame that it waits for.
std::vector<std::string> liar(const std::string& after_start) {
  return {"/bin/sh",
          "-c",
          "printf '\\004\\0\\0\\0\\020\\0\\0\\0\\0\\001\\0\\0\\0';"  // ready
          "head -c 14 > /dev/null;"                                  // set_up
          "printf '\\0\\0\\0\\0\\021\\0\\0\\0\\0';"                  // set_up_done
          "head -c 1 > /dev/null;" +                                 // start
              after_start +
              "; cat > /dev/null"};
}

class Host {
 public:
  explicit Host(std::vector<std::string> words = plain_guest(),
                std::int64_t kill_grace_ms = 60'000,
                std::int64_t idle_freeze_ms = 600'000)
      : launcher(std::make_shared<PlainLauncher>(std::move(words))) {
    SandboxHostOptions options;
    options.node = "0badcafe";
    options.egress = std::make_shared<RefuseAll>();
    options.launchers[2] = launcher;
    options.kill_grace_ms = kill_grace_ms;
    options.idle_freeze_ms = idle_freeze_ms;
    options.workspace_of = [this](const RunId&) { return workspace; };
    host = std::make_unique<LocalSandboxHost>(std::move(options));
  }

  Result<SandboxId> create(std::uint32_t tier = 2) {
    std::promise<Result<SandboxId>> told;
    auto future = told.get_future();
    host->create(tier, [&](Result<SandboxId> result) { told.set_value(std::move(result)); });
    return wait_for(future);
  }

  Result<void> lease(SandboxId id, SandboxLease lease = {}) {
    std::promise<Result<void>> told;
    auto future = told.get_future();
    host->lease(id, std::move(lease), [&](Result<void> result) { told.set_value(std::move(result)); });
    return wait_for(future);
  }

  SandboxId leased(SandboxLease lease = {}) {
    const auto id = create();
    RATCHET_ENSURE(id.has_value(), "no sandbox");
    RATCHET_ENSURE(this->lease(*id, std::move(lease)).has_value(), "no lease");
    return *id;
  }

  SandboxEnd run(SandboxId id, SandboxCommand command, SandboxHost::OnOutput on_output = {}) {
    std::promise<SandboxEnd> told;
    auto future = told.get_future();
    host->run(id, std::move(command), std::move(on_output), [&](SandboxEnd end) {
      told.set_value(std::move(end));
    });
    return wait_for(future);
  }

  Result<void> destroy(SandboxId id) {
    std::promise<Result<void>> told;
    auto future = told.get_future();
    host->destroy(id, [&](Result<void> result) { told.set_value(std::move(result)); });
    return wait_for(future);
  }

  std::string workspace;
  std::shared_ptr<PlainLauncher> launcher;
  std::unique_ptr<LocalSandboxHost> host;
};

using Kind = SandboxEnd::Kind;

void wait_until_frozen(const PlainState& state) {
  while (!state.frozen)
    std::this_thread::yield();
}

TEST(SandboxHostTest, RestsBetweenTwoCommands) {
  Host host(plain_guest(), 60'000, 0);
  const auto id = host.leased();
  for (int i = 0; i < 3; ++i) {
    wait_until_frozen(*host.launcher->last());
    EXPECT_EQ(host.run(id, shell("echo awake")).out, "awake\n");
  }
  wait_until_frozen(*host.launcher->last());
  EXPECT_TRUE(host.destroy(id).has_value()) << "also while it is frozen";
}

TEST(SandboxHostTest, MakesASandboxThatRestsUntilItIsLeased) {
  Host host;
  const auto id = host.create();
  ASSERT_TRUE(id.has_value());
  EXPECT_TRUE(host.launcher->last()->frozen);
  EXPECT_EQ(host.launcher->last()->name, "ratchet-0badcafe-1");
  EXPECT_THAT(host.run(*id, shell("true")).why, HasSubstr("not leased"));
  SandboxLease lease;
  lease.limits.memory_mb = 77;
  EXPECT_TRUE(host.lease(*id, lease).has_value());
  EXPECT_FALSE(host.launcher->last()->frozen);
  EXPECT_EQ(host.launcher->last()->limits.memory_mb, 77u);
  EXPECT_FALSE(host.lease(*id, lease).has_value());
}

TEST(SandboxHostTest, RunsCommandsOneAfterTheOther) {
  Host host;
  const auto id = host.leased();
  std::string previewed;
  auto command = shell("cat; echo err >&2; exit 3");
  command.input = "input";
  const auto end = host.run(id, command, [&](std::string_view bytes) { previewed += bytes; });
  EXPECT_EQ(end.kind, Kind::exited);
  EXPECT_EQ(end.code, 3);
  EXPECT_EQ(end.out, "input");
  EXPECT_EQ(end.err, "err\n");
  EXPECT_THAT(previewed, testing::AllOf(HasSubstr("input"), HasSubstr("err\n")));
  EXPECT_EQ(host.run(id, shell("echo next")).out, "next\n");
}

TEST(SandboxHostTest, TellsWhatCannotBeStarted) {
  Host host;
  const auto id = host.leased();
  auto command = shell("");
  command.argv = {"/no/such/program"};
  auto end = host.run(id, command);
  EXPECT_EQ(end.kind, Kind::not_started);
  EXPECT_EQ(end.code, ENOENT);
  command.argv = {"relative"};
  EXPECT_EQ(host.run(id, command).code, EINVAL);
  command.argv = {"/bin/echo", std::string("a\0b", 3)};
  EXPECT_EQ(host.run(id, command).code, EINVAL);
  command.argv = std::vector<std::string>(limits::sandbox_argv_max + 1, "/bin/echo");
  EXPECT_EQ(host.run(id, command).code, E2BIG);
  EXPECT_EQ(host.run(id, shell("echo next")).out, "next\n");
}

TEST(SandboxHostTest, TakesNothingMoreAfterATimeout) {
  Host host;
  const auto id = host.leased();
  auto command = shell("echo before; sleep 1000");
  command.timeout_ms = 300;
  const auto end = host.run(id, command);
  EXPECT_EQ(end.kind, Kind::timed_out);
  EXPECT_EQ(end.out, "before\n");
  EXPECT_EQ(host.run(id, shell("true")).kind, Kind::lost);
  EXPECT_TRUE(host.destroy(id).has_value());
  EXPECT_TRUE(host.launcher->last()->destroyed);
}

TEST(SandboxHostTest, TellsTooMuchOutputAndKeepsWhatCame) {
  Host host;
  const auto end = host.run(host.leased(), shell("yes"));
  EXPECT_EQ(end.kind, Kind::too_much_output);
  EXPECT_EQ(end.out.size(), 1u << 20);
}

TEST(SandboxHostTest, KillsACommandWhenTold) {
  Host host;
  const auto id = host.leased();
  const auto end =
      host.run(id, shell("echo started; sleep 1000"), [&](std::string_view) { host.host->kill(id); });
  EXPECT_EQ(end.kind, Kind::killed);
  EXPECT_EQ(end.out, "started\n");
}

TEST(SandboxHostTest, TellsADeathByMemoryWhateverTheGuestSays) {
  Host host;
  const auto id = host.leased();
  const auto state = host.launcher->last();
  const auto end =
      host.run(id, shell("echo started; exit 1"), [&](std::string_view) { state->memory_deaths = 1; });
  EXPECT_EQ(end.kind, Kind::out_of_memory);
  EXPECT_EQ(host.run(id, shell("true")).kind, Kind::lost);
}

TEST(SandboxHostTest, TellsASandboxThatIsLostUnderItsCommand) {
  Host host;
  const auto id = host.leased();
  const auto state = host.launcher->last();
  const auto end =
      host.run(id, shell("echo started; cat"), [&](std::string_view) { state->process.signal(SIGKILL); });
  EXPECT_EQ(end.kind, Kind::lost);
  EXPECT_THAT(end.why, HasSubstr("ended"));
  EXPECT_TRUE(state->killed);
}

TEST(SandboxHostTest, TellsASandboxThatIsLostForMemory) {
  Host host;
  const auto id = host.leased();
  const auto state = host.launcher->last();
  const auto end = host.run(id, shell("echo started; cat"), [&](std::string_view) {
    state->memory_deaths = 1;
    state->process.signal(SIGKILL);
  });
  EXPECT_EQ(end.kind, Kind::out_of_memory);
}

TEST(SandboxHostTest, DoesNotLeaseASandboxThatDiedAtRest) {
  Host host;
  const auto id = host.create();
  ASSERT_TRUE(id.has_value());
  host.launcher->last()->process.signal(SIGKILL);
  EXPECT_FALSE(host.lease(*id).has_value());
  EXPECT_TRUE(host.destroy(*id).has_value());
}

TEST(SandboxHostTest, EndsACommandWhoseGuestDoesNot) {
  // It hears the command and says nothing any more.
  Host host(liar(":"), 0);
  const auto id = host.leased();
  auto command = shell("true");
  command.timeout_ms = 50;
  const auto end = host.run(id, command);
  EXPECT_EQ(end.kind, Kind::timed_out);
  EXPECT_TRUE(host.launcher->last()->killed);
  EXPECT_EQ(host.run(id, shell("true")).kind, Kind::lost);
}

TEST(SandboxHostTest, KillsACommandWhoseGuestDoesNot) {
  Host host(liar("printf '\\001\\0\\0\\0\\022\\001\\0\\0\\0x'"), 0);  // output "x"
  const auto id = host.leased();
  const auto end = host.run(id, shell("true"), [&](std::string_view) { host.host->kill(id); });
  EXPECT_EQ(end.kind, Kind::killed);
  EXPECT_EQ(end.out, "x");
}

TEST(SandboxHostTest, CondemnsAGuestThatLies) {
  const std::vector<std::pair<const char*, std::string>> lies = {
      {"an endless frame", "printf '\\377\\377\\377\\377\\022\\001\\0\\0\\0'"},
      {"an unknown type", "printf '\\0\\0\\0\\0\\143\\001\\0\\0\\0'"},
      {"another command's output", "printf '\\001\\0\\0\\0\\022\\002\\0\\0\\0x'"},
      {"a connection that was not granted", "printf '\\0\\0\\0\\0\\026\\001\\0\\0\\0'"},
      {"more output than allowed", "printf '\\001\\001\\0\\0\\022\\001\\0\\0\\0'; head -c 257 /dev/zero"}};
  for (const auto& [name, lie] : lies) {
    Host host(liar(lie));
    const auto id = host.leased();
    auto command = shell("true");
    command.output_bytes_max = 256;
    const auto end = host.run(id, command);
    EXPECT_EQ(end.kind, Kind::lost) << name;
    EXPECT_THAT(end.why, HasSubstr("the guest sent")) << name;
    EXPECT_TRUE(host.launcher->last()->killed) << name;
    EXPECT_TRUE(host.destroy(id).has_value()) << name;
  }
}

TEST(SandboxHostTest, TellsASandboxThatCannotBeMade) {
  Host dead({"/bin/true"});
  const auto none = dead.create();
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::sandbox_unavailable);
  EXPECT_TRUE(dead.launcher->last()->destroyed);

  Host failing;
  failing.launcher->fail_start = "the runtime said no";
  EXPECT_THAT(failing.create().error().text, HasSubstr("the runtime said no"));
  EXPECT_THAT(failing.create(3).error().text, HasSubstr("tier 3"));
}

TEST(SandboxHostTest, RefusesALeaseThatCannotBeGiven) {
  Host host;
  SandboxLease lease;
  lease.filesystem = Filesystem::workspace;
  const auto id = host.create();
  ASSERT_TRUE(id.has_value());
  const auto refused = host.lease(*id, lease);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().text, HasSubstr("not open"));
  EXPECT_TRUE(host.destroy(*id).has_value());

  host.workspace = "/some/where";
  const auto other = host.create();
  ASSERT_TRUE(other.has_value());
  EXPECT_TRUE(host.lease(*other, lease).has_value());
  EXPECT_EQ(host.launcher->last()->workspace_directory, "/some/where");

  host.launcher->fail_lease = "no mount";
  const auto third = host.create();
  ASSERT_TRUE(third.has_value());
  EXPECT_THAT(host.lease(*third).error().text, HasSubstr("no mount"));
}

TEST(SandboxHostTest, EndsWhatIsUnderWayBeforeItDestroys) {
  Host host;
  const auto id = host.leased();
  std::vector<std::string> order;
  std::promise<void> destroyed;
  host.host->run(
      id,
      shell("echo started; cat"),
      [&](std::string_view) {
        host.host->destroy(id, [&](Result<void>) {
          order.emplace_back("destroyed");
          destroyed.set_value();
        });
      },
      [&](SandboxEnd end) { order.emplace_back(end.kind == Kind::lost ? "lost" : "ended"); });
  auto future = destroyed.get_future();
  wait_for(future);
  EXPECT_THAT(order, testing::ElementsAre("lost", "destroyed"));
  EXPECT_EQ(host.run(id, shell("true")).kind, Kind::lost);
  EXPECT_FALSE(host.destroy(id).has_value());
}

TEST(SandboxHostTest, LeavesNothingWhenItEnds) {
  Host host;
  const auto id = host.leased();
  std::promise<void> started;
  std::promise<SandboxEnd> ended;
  host.host->run(
      id,
      shell("echo started; sleep 1000"),
      [&](std::string_view) { started.set_value(); },
      [&](SandboxEnd end) { ended.set_value(std::move(end)); });
  auto future = started.get_future();
  wait_for(future);
  host.host.reset();
  auto end = ended.get_future();
  EXPECT_EQ(wait_for(end).kind, Kind::lost);
  EXPECT_TRUE(host.launcher->last()->destroyed);
}

TEST(SandboxHostTest, WaitsForNoGuestWhenItEnds) {
  Host host({"/bin/cat"});  // which says nothing
  std::promise<Result<SandboxId>> told;
  host.host->create(2, [&](Result<SandboxId> result) { told.set_value(std::move(result)); });
  host.host.reset();
  auto future = told.get_future();
  const auto created = wait_for(future);
  ASSERT_FALSE(created.has_value());
  EXPECT_THAT(created.error().text, HasSubstr("shutting down"));
}

TEST(SandboxHostTest, PassesOnTheEvidenceOfACommand) {
  Host host;
  const auto id = host.leased();
  host.launcher->last()->evidence.refused_syscalls = 2;
  host.launcher->last()->evidence.syscalls = {"mount", "bpf"};
  EXPECT_EQ(host.run(id, shell("true")).evidence.refused_syscalls, 2u);
  EXPECT_EQ(host.run(id, shell("true")).evidence.refused_syscalls, 0u);
}

}  // namespace
}  // namespace ratchet::sandbox
