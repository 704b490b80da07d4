// The host of sandboxes with real walls: the guest is process 1, commands are user 1000 without any power.

#include <chrono>
#include <fcntl.h>
#include <future>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/guest_image.hpp"
#include "sandbox/host.hpp"
#include "tests/fakes/not_tested.hpp"
#include "tests/live/launch/fixture.hpp"
#include "tests/sandbox/refuse_all.hpp"

namespace ratchet::sandbox {
namespace {

using testing::HasSubstr;
using Kind = SandboxEnd::Kind;

struct Case {
  std::string name;
  std::uint32_t tier;
  TierOptions options;
};

class HostLive : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (const auto set_up = node_.set_up(); !set_up) return skip(set_up.error().text);
    put_guest();
    std::shared_ptr<Launcher> launcher = node_.launcher(GetParam().tier, GetParam().options);
    if (!launcher->status().available) return skip(launcher->status().why);
    SandboxHostOptions options;
    options.node = node_.label().substr(std::string("ratchet-").size());
    options.egress = std::make_shared<RefuseAll>();
    options.launchers[GetParam().tier] = std::move(launcher);
    host_ = std::make_unique<LocalSandboxHost>(std::move(options));
  }

  static void skip(const std::string& why) { skip_not_tested(GetParam().name, why); }

  void put_guest() {
    const auto path = node_.machine().places.guest();
    const Fd fd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    const auto image = guest_image();
    RATCHET_ENSURE(::write(fd.get(), image.data(), image.size()) == static_cast<ssize_t>(image.size()),
                   "the guest cannot be written");
  }

  template <class T>
  static T wait_for(std::promise<T>& told) {
    auto future = told.get_future();
    RATCHET_ENSURE(future.wait_for(std::chrono::minutes(1)) == std::future_status::ready, "no callback came");
    return future.get();
  }

  SandboxId leased(SandboxLimits limits = {512, 1'000, 32}) {
    std::promise<Result<SandboxId>> created;
    host_->create(GetParam().tier, [&](Result<SandboxId> id) { created.set_value(std::move(id)); });
    const auto id = wait_for(created);
    RATCHET_ENSURE(id.has_value(), id ? "" : id.error().text);
    SandboxLease lease;
    lease.limits = limits;
    lease.filesystem = Filesystem::ephemeral;
    lease.network_allow = {"example.com:443"};
    std::promise<Result<void>> done;
    host_->lease(*id, lease, [&](Result<void> result) { done.set_value(std::move(result)); });
    const auto result = wait_for(done);
    RATCHET_ENSURE(result.has_value(), result ? "" : result.error().text);
    return *id;
  }

  SandboxEnd run(SandboxId id, std::vector<std::string> argv, std::string input = {}) {
    SandboxCommand command;
    command.argv = std::move(argv);
    command.input = std::move(input);
    command.output_bytes_max = 1u << 20;
    command.timeout_ms = timeout_ms_;
    std::promise<SandboxEnd> told;
    host_->run(id, std::move(command), {}, [&](SandboxEnd end) { told.set_value(std::move(end)); });
    return wait_for(told);
  }

  SandboxEnd shell(SandboxId id, std::string script) { return run(id, {"/bin/sh", "-c", std::move(script)}); }

  TemporaryDirectory directory_;
  LiveNode node_{directory_.path()};
  std::unique_ptr<LocalSandboxHost> host_;
  std::int64_t timeout_ms_ = 30'000;
};

const Case cases[] = {{"crun", 2, {TierOptions::Kind::oci, "crun"}},
                      {"runc", 2, {TierOptions::Kind::oci, "runc"}},
                      {"runsc", 3, {TierOptions::Kind::oci, "runsc"}}};

INSTANTIATE_TEST_SUITE_P(, HostLive, testing::ValuesIn(cases), [](const auto& info) {
  return info.param.name;
});

TEST_P(HostLive, RunsCommandsAsSomebodyWithoutPower) {
  const auto id = leased();
  const auto end = shell(id, "id -u; pwd; grep CapEff /proc/self/status; echo out > /dev/stdout");
  EXPECT_EQ(end.out, "1000\n/workspace\nCapEff:\t0000000000000000\nout\n") << end.err;
  EXPECT_EQ(end.kind, Kind::exited);
}

TEST_P(HostLive, RunsTheFileToolsInTheWorkspace) {
  const auto id = leased();
  const std::string guest(guest_program);
  EXPECT_EQ(run(id, {guest, "write", "a/b.txt"}, "hello").out, "5 bytes written to a/b.txt\n");
  EXPECT_EQ(run(id, {guest, "read", "a/b.txt", "0", "100"}).out, "hello");
  EXPECT_EQ(run(id, {guest, "edit", "a/b.txt", "0", "5"}, "helloworld").code, 0);
  EXPECT_EQ(run(id, {guest, "list", ".", "**"}).out, "a/\na/b.txt 5\n");
}

TEST_P(HostLive, LeavesNothingOfACommandRunning) {
  const auto id = leased();
  EXPECT_EQ(shell(id, "(setsid sleep 1000 &); (setsid sleep 1000 &); exit 3").code, 3);
  EXPECT_EQ(shell(id, "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '^.*sleep 1000' ").out, "1\n");
}

TEST_P(HostLive, BoundsProcessesAndGoesOn) {
  if (node_.machine().cgroups.version == CgroupLayout::Version::none)
    return skip("no control group can be written");
  const auto id = leased();
  const auto end = run(id,
                       {"/usr/bin/python3", "-"},
                       "import os, time\n"
                       "n = 0\n"
                       "try:\n"
                       "  while n < 400:\n"
                       "    if os.fork() == 0: time.sleep(1000)\n"
                       "    n += 1\n"
                       "except OSError as e: print(n < 200, e.errno)\n");
  EXPECT_EQ(end.out, "True 11\n") << end.err << end.why;
  EXPECT_EQ(shell(id, "echo next").out, "next\n");
}

TEST_P(HostLive, EndsACommandAtItsDeadline) {
  const auto id = leased();
  timeout_ms_ = 1'000;
  EXPECT_EQ(shell(id, "trap '' TERM; while :; do :; done").kind, Kind::timed_out);
}

TEST_P(HostLive, TellsADeathByMemory) {
  if (node_.machine().cgroups.version == CgroupLayout::Version::none)
    return skip("no control group can be written");
  const auto id = leased({256, 1'000, 32});
  const auto end = run(id, {"/usr/bin/python3", "-"}, "a = []\nwhile 1: a.append(bytearray(10**7))\n");
  EXPECT_EQ(end.kind, Kind::out_of_memory) << end.why << end.code;
}

TEST_P(HostLive, RefusesConnectionsAndCountsThem) {
  const auto end = run(leased(),
                       {"/usr/bin/python3", "-"},
                       "import socket\n"
                       "c = socket.create_connection(('127.0.0.1', 3128))\n"
                       "try: print(c.recv(1))\n"
                       "except ConnectionResetError: print(b'')\n");
  EXPECT_EQ(end.out, "b''\n") << end.err;
  EXPECT_EQ(end.evidence.refused_connections, 1u);
}

}  // namespace
}  // namespace ratchet::sandbox
