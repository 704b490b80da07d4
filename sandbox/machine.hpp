#pragma once
// All that a server needs of the machine for its sandboxes, put together: the directory, the tiers, the way
// out, the files of runs. A machine that can do none of it is no failure of the server: its tiers say why.

#include <memory>
#include <optional>
#include <string>

#include "runtime/log.hpp"
#include "runtime/sandbox/host.hpp"
#include "runtime/sandbox/workspaces.hpp"
#include "sandbox/egress/dial.hpp"
#include "sandbox/launch/namespaces.hpp"
#include "sandbox/launch/probe.hpp"
#include "sandbox/launch/survivor.hpp"

namespace ratchet {

struct SandboxMachineOptions {
  std::string data_dir;                              ///< exists; only this process uses it
  sandbox::Namespaces namespaces;                    ///< as they were entered, first of all
  std::optional<sandbox::TierOptions> tier2, tier3;  ///< none: the tier is off
  /// Of workspaces; none: `default_protected_paths` (sandbox/workspace/protection.hpp).
  std::optional<std::vector<std::string>> protected_paths;
  sandbox::DialRules dial;  ///< of the way out
  /// Clears away when this process is killed; none: that is the next start's business.
  std::shared_ptr<sandbox::Survivor> survivor;
  Log log;
};

class SandboxMachine {
 public:
  /// Removes what a dead node left behind, and returns. The tiers are tried meanwhile, on threads of their
  /// own: a tier is not available before that is over, and a sandbox that is asked for waits.
  explicit SandboxMachine(SandboxMachineOptions options);
  /// Nothing may be under way. Nothing is left afterwards.
  ~SandboxMachine();
  SandboxMachine(const SandboxMachine&) = delete;
  SandboxMachine& operator=(const SandboxMachine&) = delete;

  void wait_until_tried() const;

  SandboxHost& host();
  Workspaces& workspaces();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ratchet
