#pragma once
// Sandboxes by an OCI runtime: crun or runc for tier 2, runsc (gVisor) for tier 3. Its commands are the
// interface: create, start, delete; nothing of it stays running. Source: OCI runtime-spec 1.0, runtime.md.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sandbox/launch/launcher.hpp"
#include "sandbox/launch/local_sandbox.hpp"
#include "sandbox/launch/machine.hpp"
#include "sandbox/launch/refusals.hpp"
#include "sandbox/launch/user_namespaces.hpp"

namespace ratchet::sandbox {

enum class OciKind { crun, runc, runsc };

struct OciRuntime {
  OciKind kind = OciKind::crun;
  std::string program;               ///< absolute
  std::string version;               ///< "crun 1.8.1"
  std::string platform = "systrap";  ///< of runsc: systrap or ptrace
};

class OciLauncher final : public Launcher {
 public:
  /// `listener` counts refused calls, and outlives this; null where there is none. Without `users` what the
  /// kernel counts by user is shared, and the status says why; gVisor needs none.
  OciLauncher(Machine machine,
              OciRuntime runtime,
              RefusalListener* listener,
              std::shared_ptr<UserNamespaces> users,
              std::string_view why_none = {});

  TierStatus status() const override { return status_; }

  Result<Started> start(std::string_view name) override;

  /// Like `start`, with another program of the root file system as process 1.
  Result<Started> start_program(std::string_view name, std::vector<std::string> argv);

 private:
  using Lent = std::shared_ptr<UserNamespaces::Lent>;

  Result<std::unique_ptr<LocalSandbox>> make(const std::string& name, const Lent& lent);
  Result<void> create_and_start(
      LocalSandbox& sandbox, const std::vector<std::string>& argv, const Lent& lent, int in, int out);
  /// One command of the runtime. Errors: sandbox_unavailable, with what it wrote.
  Result<void> command(std::vector<std::string> words,
                       const LocalSandbox* enter,
                       std::map<int, int> descriptors,
                       std::int64_t timeout_ms) const;
  std::vector<std::string> global_options(std::string_view name) const;

  Machine machine_;
  OciRuntime runtime_;
  RefusalListener* listener_;
  std::shared_ptr<UserNamespaces> users_;
  const std::string seccomp_;  ///< the same for all
  TierStatus status_;
};

}  // namespace ratchet::sandbox
