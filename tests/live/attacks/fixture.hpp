#pragma once
// A machine with sandboxes as the server has it, somebody hostile inside of one, and what can be seen of it
// from outside.

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/machine.hpp"
#include "tests/fakes/directory.hpp"

namespace ratchet::attacks {

/// How each attack of a program ended, by its name; alternatives are divided by `|`.
using Outcomes = std::map<std::string, std::string>;

/// A case for each tier, with the runtime that is used where nobody configures another one.
class Attack : public testing::TestWithParam<std::uint32_t> {
 protected:
  using Kind = SandboxEnd::Kind;

  Attack();

  /// Where the tier cannot be had here the test says so, and is skipped.
  void SetUp() override;
  /// Nothing of what was made may be left.
  void TearDown() override;

  bool own_kernel() const { return GetParam() == 3; }

  SandboxHost& host() { return machine_->host(); }

  struct Wanted {
    SandboxLimits limits = {512, 1'000, 64};
    Filesystem filesystem = Filesystem::ephemeral;
    std::vector<std::string> network_allow = {};
    std::uint8_t run = 1;
  };

  Result<SandboxId> create();
  /// Made and leased. A workspace is opened before, as `snapshot` has it.
  SandboxId leased(const Wanted& wanted, std::optional<Hash> snapshot = std::nullopt);

  SandboxId leased() { return leased(Wanted{}); }

  /// One command. `output_bytes_max_` and `timeout_ms_` are those of all of them.
  SandboxEnd run(SandboxId id, std::vector<std::string> argv, std::string input = {});
  SandboxEnd shell(SandboxId id, std::string script);
  /// A shell that has begun; its end is promised.
  std::shared_ptr<std::promise<SandboxEnd>> begun(SandboxId id, const std::string& script);
  SandboxEnd python(SandboxId id, std::string program);
  /// With `attack(name, function)`, which prints the name, and DONE or the errno that was raised;
  /// `alone(name, function)`, the same in a process of its own, with the signal that ended it;
  /// `call(number, ...)`, a system call; and the usual modules.
  SandboxEnd attacks(SandboxId id, const std::string& program);
  /// What `attacks` has printed: every attack that is named here, and no other.
  static void expect_outcomes(const SandboxEnd& end, const Outcomes& expected);
  /// It takes commands as if nothing had happened.
  void expect_usable(SandboxId id);

  Result<void> destroy(SandboxId id);

  static RunId run_id(std::uint8_t number);
  Result<Hash> snapshot(std::uint8_t run);
  Result<void> close(std::uint8_t run);

  /// The processes of all sandboxes of this machine, as the host counts them.
  std::vector<int> processes() const;
  std::vector<int> processes(SandboxId id) const;
  /// Mounts, groups and directories of sandboxes.
  std::vector<std::string> remains() const;

  std::string data_dir() const { return directory_.path(); }

  TemporaryDirectory directory_;
  SandboxMachineOptions options_;  ///< of the next `SetUp`
  std::int64_t timeout_ms_ = 60'000;
  std::size_t output_bytes_max_ = 4u << 20;
  std::unique_ptr<SandboxMachine> machine_;

 private:
  std::string label() const;
};

/// Names cases by their runtimes.
std::string case_name(const testing::TestParamInfo<std::uint32_t>& info);

#define RATCHET_ATTACKS(suite) INSTANTIATE_TEST_SUITE_P(, suite, testing::Values(2u, 3u), case_name)

}  // namespace ratchet::attacks
