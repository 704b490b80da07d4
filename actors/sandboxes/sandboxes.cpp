#include "actors/sandboxes/sandboxes.hpp"

#include <future>
#include <mutex>
#include <unordered_map>

#include "actors/sandboxes/desk.hpp"

namespace ratchet {

namespace {

/// Called once: by whoever has ended the call, or when that one has failed and its mail is gone with it.
class Once {
 public:
  explicit Once(std::function<void()> what) : what_(std::move(what)) {}

  ~Once() { call(); }

  Once(const Once&) = delete;
  Once& operator=(const Once&) = delete;

  void call() {
    if (const auto what = std::exchange(what_, nullptr)) what();
  }

 private:
  std::function<void()> what_;
};

}  // namespace

struct Sandboxes::Parts {
  SandboxOptions options;
  SandboxCounters counters;
  std::optional<SandboxParts> shared;  ///< none: there is no host
  caf::actor desk = {};
  std::mutex mutex;
  Ticket last_ticket = 0;
  std::unordered_map<Ticket, OnDone> waiting;

  OnDone extract(Ticket ticket) {
    const std::lock_guard lock(mutex);
    const auto entry = waiting.extract(ticket);
    return entry.empty() ? nullptr : std::move(entry.mapped());
  }
};

Sandboxes::Sandboxes(SandboxOptions options, Clock& clock, Timer& timer, Log log)
    : parts_(std::make_unique<Parts>()) {
  parts_->options = options;
  if (options.host && options.workspaces)
    parts_->shared.emplace(
        SandboxParts{*options.host, *options.workspaces, clock, timer, std::move(log), parts_->counters});
}

Sandboxes::~Sandboxes() = default;

void Sandboxes::begin(caf::actor_system& system) {
  if (!parts_->shared) return;
  parts_->desk = spawn_sandbox_desk(system,
                                    *parts_->shared,
                                    parts_->options.warm_tier2,
                                    parts_->options.warm_tier3,
                                    [parts = parts_.get()](Ticket ticket, CallEnd end) {
                                      if (const OnDone done = parts->extract(ticket)) done(std::move(end));
                                    });
}

Sandboxes::Ticket Sandboxes::start(const RunId& run,
                                   std::shared_ptr<const ToolManifest> tool,
                                   SandboxCommand command,
                                   std::optional<Hash> workspace,
                                   std::vector<WorkspaceFile> files,
                                   OnOutput on_output,
                                   OnDone on_done) {
  if (!parts_->desk) {
    CallEnd refused;
    refused.status = ToolStatus::error;
    refused.text = "This call was not run: this server has no sandboxes.";
    on_done(std::move(refused));
    return 0;
  }
  auto job = std::make_shared<SandboxJob>();
  {
    const std::lock_guard lock(parts_->mutex);
    job->ticket = ++parts_->last_ticket;
    parts_->waiting[job->ticket] = std::move(on_done);
  }
  const Ticket ticket = job->ticket;
  job->run = run;
  job->tool = std::move(tool);
  job->command = std::move(command);
  job->workspace = workspace;
  job->files = std::move(files);
  job->on_output = std::move(on_output);
  tell(parts_->desk, DoJob{std::move(job)});
  return ticket;
}

void Sandboxes::stop(Ticket ticket, std::function<void()> gone) {
  if (!parts_->desk) return gone();
  parts_->extract(ticket);
  const auto once = std::make_shared<Once>(std::move(gone));
  tell(parts_->desk, StopJob{ticket, [once] { once->call(); }});
}

void Sandboxes::release(const RunId& run) {
  if (parts_->desk) tell(parts_->desk, BenchRelease{run});
}

void Sandboxes::close() {
  if (!parts_->desk) return;
  const auto closed = std::make_shared<std::promise<void>>();
  tell(parts_->desk, CloseDesk{[closed] { closed->set_value(); }});
  closed->get_future().wait();
  parts_->desk = nullptr;
}

SandboxStats Sandboxes::stats() const {
  const SandboxCounters& now = parts_->counters;
  SandboxStats stats;
  stats.alive = now.alive;
  stats.warm = now.warm;
  stats.started = now.started;
  stats.failed = now.failed;
  stats.calls = now.calls;
  stats.memory_deaths = now.memory_deaths;
  stats.timeouts = now.timeouts;
  stats.lost = now.lost;
  stats.refused_connections = now.refused_connections;
  stats.refused_syscalls = now.refused_syscalls;
  return stats;
}

}  // namespace ratchet
