#pragma once
// The way from a tool call into a sandbox: a call in, its end out. CAF does not show here.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/log.hpp"
#include "runtime/node.hpp"
#include "runtime/sandbox/host.hpp"
#include "runtime/sandbox/workspaces.hpp"
#include "runtime/tools/sandbox_tools.hpp"

namespace caf {
class actor_system;
}

namespace ratchet {

class Timer;

/// What a server has of sandboxes. Without a host every call is refused, with a text that says so.
struct SandboxOptions {
  SandboxHost* host = nullptr;       ///< borrowed
  Workspaces* workspaces = nullptr;  ///< borrowed
  std::size_t warm_tier2 = 0, warm_tier3 = 0;
};

class Sandboxes {
 public:
  using Ticket = std::uint64_t;
  using OnDone = std::function<void(CallEnd)>;
  using OnOutput = SandboxHost::OnOutput;

  Sandboxes(SandboxOptions options, Clock& clock, Timer& timer, Log log);
  ~Sandboxes();
  Sandboxes(const Sandboxes&) = delete;
  Sandboxes& operator=(const Sandboxes&) = delete;

  /// Starts the actors. Once, before any call; the system is borrowed, and ends before this does.
  void begin(caf::actor_system& system);

  // From any thread.
  /// `on_done` is called once, on another thread, unless `stop` came before. `workspace`: the snapshot that
  /// the call starts from, where its tool uses the run's workspace. `files` are put into a workspace that has
  /// none yet. `on_output` gets what the command writes, as it comes, on another thread; nothing: nobody
  /// looks.
  Ticket start(const RunId& run,
               std::shared_ptr<const ToolManifest> tool,
               SandboxCommand command,
               std::optional<Hash> workspace,
               std::vector<WorkspaceFile> files,
               OnOutput on_output,
               OnDone on_done);
  /// After it returns, `on_done` does not begin any more. `gone` is called once nothing of the call is left
  /// running.
  void stop(Ticket ticket, std::function<void()> gone);
  /// The run rests: its sandboxes and its open workspace are given back.
  void release(const RunId& run);
  /// Ends every sandbox; returns when none is left. No call may be under way.
  void close();

  SandboxStats stats() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ratchet
