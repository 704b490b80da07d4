#pragma once
// Tier 2 by bubblewrap, where there is no OCI runtime: the same root, the same guest, the same walls but for
// what it has no words for, which `status` tells.

#include <string>
#include <vector>

#include "sandbox/launch/launcher.hpp"
#include "sandbox/launch/local_sandbox.hpp"
#include "sandbox/launch/machine.hpp"

namespace ratchet::sandbox {

/// Its options for a sandbox, before the program that is to be process 1. `info` and `filter` are descriptors
/// of its own. Pure.
std::vector<std::string> bwrap_options(const Places& places, std::string_view name, int info, int filter);

class BwrapLauncher final : public Launcher {
 public:
  /// `version`: "bubblewrap 0.8.0".
  BwrapLauncher(Machine machine, std::string program, std::string version);

  TierStatus status() const override { return status_; }

  Result<Started> start(std::string_view name) override;

  /// Like `start`, with another program of the root file system as process 1.
  Result<Started> start_program(std::string_view name, std::vector<std::string> argv);

 private:
  Result<void> launch(LocalSandbox& sandbox, const std::vector<std::string>& argv, int in, int out) const;

  Machine machine_;
  std::string program_;
  const Result<Fd> filter_;  ///< the same for all
  TierStatus status_;
};

}  // namespace ratchet::sandbox
