#include "actors/sandboxes/workbench.hpp"

#include <algorithm>
#include <deque>
#include <list>

#include <fmt/format.h>

#include "actors/sandboxes/sandbox_actor.hpp"
#include "actors/sandboxes/sandbox_pool.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

struct WorkspaceOpened {
  std::shared_ptr<const Result<void>> result;
};

struct SnapshotTaken {
  std::shared_ptr<const Result<Hash>> result;
};

struct WorkspaceClosed {
  std::shared_ptr<const Result<void>> result;
};

}  // namespace

}  // namespace ratchet

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::WorkspaceOpened)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::SnapshotTaken)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::WorkspaceClosed)

namespace ratchet {

namespace {

class Bench;
using Self = caf::stateful_actor<Bench>;

/// A sandbox that died while it was warm is not the call's fault.
constexpr int lease_attempts_max = 3;

/// waiting: for its turn     opening: for the workspace     taking: for a sandbox from the pool
/// leasing, running: in `sandbox`     clearing: for the end of its sandbox, before a snapshot
/// recording: for the snapshot
enum class Stage { waiting, opening, taking, leasing, running, clearing, recording };

struct Work {
  std::shared_ptr<const SandboxJob> job;
  std::shared_ptr<const SandboxLease> lease;
  Stage stage = Stage::waiting;
  caf::actor sandbox;
  int attempts = 0;
  std::size_t files_put = 0;
  std::optional<CallEnd> end;               ///< how the command ended, while the workspace is recorded
  bool stopped = false;                     ///< nobody waits for it any more
  std::vector<std::function<void()>> gone;  ///< called when nothing of it is left

  bool in_workspace() const { return lease->filesystem == Filesystem::workspace; }

  std::uint32_t tier() const { return job->tool->tier; }
};

struct Held {
  caf::actor sandbox;
  std::shared_ptr<const SandboxLease> lease;
  std::uint32_t tier = 0;
  bool busy = false, ending = false;
};

std::string described(const SandboxEvidence& evidence) {
  const auto names = [](const std::vector<std::string>& all) {
    return all.empty() ? std::string() : fmt::format(" ({})", fmt::join(all, ", "));
  };
  return fmt::format("The sandbox held back {} connections{} and {} system calls{}.",
                     evidence.refused_connections,
                     names(evidence.refused_hosts),
                     evidence.refused_syscalls,
                     names(evidence.syscalls));
}

/// After these the sandbox is as good as before.
bool leaves_intact(SandboxEnd::Kind kind) {
  return kind == SandboxEnd::Kind::exited || kind == SandboxEnd::Kind::signalled ||
         kind == SandboxEnd::Kind::not_started;
}

class Bench {
 public:
  static inline const char* name = "workbench";

  explicit Bench(Self* self) : self_(self) {}

  void begin(SandboxParts* parts,
             const std::array<caf::actor, 2>& pools,
             const RunId& run,
             const caf::actor& desk) {
    parts_ = parts;
    pools_ = pools;
    run_ = run;
    desk_ = desk;
    self_->set_down_handler([this](const caf::down_msg& down) { sandbox_gone(down.source); });
  }

  void do_job(const std::shared_ptr<const SandboxJob>& job) {
    ++seen_;
    Work work;
    work.job = job;
    work.lease = std::make_shared<SandboxLease>(
        SandboxLease{run_, job->tool->limits, job->tool->network_allow, job->tool->filesystem});
    works_.push_back(std::move(work));
    pump();
  }

  void stop_job(const StopJob& stop) {
    ++seen_;
    const auto work =
        std::ranges::find(works_, stop.ticket, [](const Work& each) { return each.job->ticket; });
    if (work == works_.end()) return stop.gone();
    work->gone.push_back(stop.gone);
    abandon(work);
    pump();
  }

  void release() {
    ++seen_;
    releasing_ = true;
    for (auto work = works_.begin(); work != works_.end();)
      abandon(work++);
    pump();
  }

  void give_back_idle(std::uint32_t tier) {
    for (Held& each : held_)
      if (!each.busy && each.tier == tier) end(each);
  }

  void opened(const Result<void>& result) {
    const auto work = in_stage(Stage::opening);
    RATCHET_ENSURE(work != works_.end(), "a workspace is opened for a job");
    busy_opening_ = false;
    if (work->stopped) {
      finish(work, {});
    } else if (result) {
      files_ = Files{work->job->workspace};
      work->stage = Stage::waiting;
    } else {
      finish(work, failure("The files of this run cannot be restored: " + result.error().text));
    }
    pump();
  }

  /// Whoever has waited longest for one of this tier gets it.
  void taken(std::uint32_t tier, const Result<caf::actor>& sandbox) {
    const auto work = std::ranges::find_if(
        works_, [&](const Work& each) { return each.stage == Stage::taking && each.tier() == tier; });
    if (!sandbox) {
      if (work != works_.end()) finish(work, failure(sandbox.error().text));
      return pump();
    }
    self_->monitor(*sandbox);
    if (work == works_.end()) {
      held_.push_back({*sandbox, nullptr, 0, true, false});
      end(held_.back());
      return;
    }
    held_.push_back({*sandbox, work->lease, work->tier(), true, false});
    work->stage = Stage::leasing;
    work->sandbox = *sandbox;
    tell(*sandbox, LeaseSandbox{work->lease});
  }

  void leased(const caf::actor& sandbox, const Result<void>& result) {
    const auto work = of(sandbox);
    if (work == works_.end() || work->stopped) return;
    if (result) return run(*work);
    end(*held(sandbox.address()));
    try_another(work, result.error().text);
    pump();
  }

  void ended(const caf::actor& sandbox, SandboxEnd end_of_command) {
    const auto work = of(sandbox);
    if (work == works_.end() || work->stopped) return;
    if (work->files_put < work->job->files.size()) return file_put(work, end_of_command);
    count(end_of_command);
    work->end = interpret(*work->job->tool, work->job->command, end_of_command);
    work->end->latency_ms = end_of_command.wall_ms;
    work->end->evidence = std::move(end_of_command.evidence);
    // Such an end has no result that the evidence could stand in.
    if (work->end->kind == CallEnd::Kind::unknown && !work->end->evidence.empty())
      work->end->text += fmt::format(" {}", described(work->end->evidence));
    work->end->sandbox = fmt::format("tier {}: {}", work->tier(), parts_->host.tier(work->tier()).runtime);
    Held& its = *held(sandbox.address());
    its.busy = false;
    if (!leaves_intact(end_of_command.kind)) {
      end(its);
      work->stage = Stage::clearing;
    } else {
      command_over(work);
    }
    pump();
  }

  void snapshot_taken(const Result<Hash>& snapshot) {
    const auto work = in_stage(Stage::recording);
    RATCHET_ENSURE(work != works_.end(), "a snapshot is taken for a job");
    if (work->stopped) {
      files_.reset();
    } else if (snapshot) {
      files_ = Files{*snapshot};
      if (work->job->workspace != *snapshot) work->end->workspace = *snapshot;
    } else {
      // The files stay as they were before the call: the next one restores them.
      files_.reset();
      work->end->status = ToolStatus::error;
      work->end->text = fmt::format(
          "The call ran, but its files were not kept: {}. The workspace is as it was before the call.",
          snapshot.error().text);
    }
    const CallEnd end = std::move(*work->end);
    finish(work, end);
    pump();
  }

  void closed(const Result<void>& result) {
    if (!result) parts_->log(LogLevel::error, "a workspace could not be removed: " + result.error().text);
    busy_opening_ = false;
    files_.reset();
    is_open_ = false;
    pump();
  }

  /// A sandbox has ended: because it was told to, or by itself.
  void sandbox_gone(const caf::actor_addr& address) {
    const auto its = held(address);
    if (its == held_.end()) return;
    const caf::actor sandbox = its->sandbox;
    held_.erase(its);
    const auto work = of(sandbox);
    if (work != works_.end()) {
      work->sandbox = nullptr;
      if (work->stopped) {
        if (work->in_workspace()) files_.reset();
        finish(work, {});
      } else if (work->stage == Stage::clearing) {
        command_over(work);
      } else if (work->stage == Stage::leasing) {
        try_another(work, "its keeper failed");
      } else {
        work->end = interpret(*work->job->tool,
                              work->job->command,
                              SandboxEnd{.kind = SandboxEnd::Kind::lost, .why = "its keeper failed"});
        command_over(work);
      }
    }
    pump();
  }

 private:
  using WorkAt = std::list<Work>::iterator;

  /// The workspace as it is while it is open: what a job of this snapshot can start from.
  struct Files {
    std::optional<Hash> snapshot;
  };

  WorkAt in_stage(Stage stage) { return std::ranges::find(works_, stage, &Work::stage); }

  WorkAt of(const caf::actor& sandbox) {
    return std::ranges::find_if(works_, [&](const Work& work) { return work.sandbox == sandbox; });
  }

  std::list<Held>::iterator held(const caf::actor_addr& address) {
    return std::ranges::find_if(held_, [&](const Held& each) { return each.sandbox.address() == address; });
  }

  void end(Held& held) {
    if (!std::exchange(held.ending, true)) tell(held.sandbox, EndSandbox{});
  }

  /// Starts whatever can go on.
  void pump() {
    if (releasing_) return give_back();
    for (auto work = works_.begin(); work != works_.end(); ++work)
      if (work->stage == Stage::waiting) start(*work);
  }

  void start(Work& work) {
    if (work.in_workspace()) {
      const bool first = std::ranges::none_of(
          works_, [](const Work& each) { return each.in_workspace() && each.stage != Stage::waiting; });
      if (!first || !prepare_files(work)) return;
    }
    const auto fitting = std::ranges::find_if(held_, [&](const Held& each) {
      return !each.busy && !each.ending && each.tier == work.tier() && *each.lease == *work.lease;
    });
    if (fitting == held_.end()) return take(work);
    fitting->busy = true;
    work.sandbox = fitting->sandbox;
    run(work);
  }

  /// True if the workspace is as the job wants it; otherwise it is being made so.
  bool prepare_files(Work& work) {
    if (files_ && files_->snapshot == work.job->workspace) return true;
    if (busy_opening_) return false;
    bool holds = false;
    for (Held& each : held_) {
      if (each.lease && each.lease->filesystem != Filesystem::workspace) continue;
      end(each);
      holds = true;
    }
    if (holds) return false;  // it goes on when they are gone
    work.stage = Stage::opening;
    busy_opening_ = is_open_ = true;
    files_.reset();
    parts_->workspaces.open(run_, work.job->workspace, [me = me()](Result<void> result) {
      tell(me, WorkspaceOpened{std::make_shared<Result<void>>(std::move(result))});
    });
    return false;
  }

  void take(Work& work) {
    give_back_idle(work.tier());  // it may be what another run waits for
    work.stage = Stage::taking;
    tell(pools_[tier_index(work.tier())], TakeSandbox{me()});
  }

  /// Its sandbox is of no use, and the command has not begun.
  void try_another(WorkAt work, const std::string& why) {
    work->sandbox = nullptr;
    if (++work->attempts < lease_attempts_max) return take(*work);
    finish(work, failure(why));
  }

  void run(Work& work) {
    work.stage = Stage::running;
    if (work.files_put < work.job->files.size())
      return tell(
          work.sandbox,
          RunInSandbox{std::make_shared<SandboxCommand>(put_command(work.job->files[work.files_put]))});
    ++parts_->counters.calls;
    tell(work.sandbox,
         RunInSandbox{std::shared_ptr<const SandboxCommand>(work.job, &work.job->command),
                      work.job->on_output});
  }

  /// What the run begins with is put into the workspace before its first command.
  void file_put(WorkAt work, const SandboxEnd& end_of_command) {
    if (end_of_command.kind == SandboxEnd::Kind::exited && end_of_command.code == 0) {
      ++work->files_put;
      return run(*work);
    }
    files_.reset();
    const CallEnd failed = failure("The inputs of this run could not be put into its workspace: " +
                                   interpret(*work->job->tool, work->job->command, end_of_command).text);
    end(*held(work->sandbox.address()));
    work->sandbox = nullptr;
    finish(work, failed);
    pump();
  }

  /// Nothing of the command runs any more.
  void command_over(WorkAt work) {
    work->sandbox = nullptr;
    // Nobody would remember the snapshot of a call whose outcome is not known.
    const bool in_doubt = work->end->kind == CallEnd::Kind::unknown;
    if (in_doubt) files_.reset();
    if (in_doubt || !work->in_workspace()) {
      const CallEnd end = std::move(*work->end);
      return finish(work, end);
    }
    work->stage = Stage::recording;
    parts_->workspaces.snapshot(run_, [me = me()](Result<Hash> result) {
      tell(me, SnapshotTaken{std::make_shared<Result<Hash>>(std::move(result))});
    });
  }

  void finish(WorkAt work, CallEnd end) {
    if (!work->stopped) tell(desk_, JobEnded{work->job->ticket, std::make_shared<CallEnd>(std::move(end))});
    for (const auto& gone : work->gone)
      gone();
    works_.erase(work);
  }

  /// Ends a job for which nobody waits. What cannot be taken back ends by itself, and is then let go.
  void abandon(WorkAt work) {
    work->stopped = true;
    switch (work->stage) {
      case Stage::taking:
        tell(pools_[tier_index(work->tier())], ForgetTake{me()});
        return finish(work, {});
      case Stage::waiting:
        return finish(work, {});
      case Stage::opening:
      case Stage::recording:
        return;
      case Stage::leasing:
      case Stage::running:
      case Stage::clearing:
        return end(*held(work->sandbox.address()));
    }
  }

  /// The run rests: once nothing is left, the workspace is closed, and the desk is told.
  void give_back() {
    for (Held& each : held_)
      end(each);
    const bool under_way = std::ranges::any_of(works_, [](const Work& work) { return work.stopped; });
    if (under_way || !held_.empty() || busy_opening_) return;
    if (is_open_) {
      busy_opening_ = true;
      return parts_->workspaces.close(run_, [me = me()](Result<void> result) {
        tell(me, WorkspaceClosed{std::make_shared<Result<void>>(std::move(result))});
      });
    }
    releasing_ = false;
    if (works_.empty()) return tell(desk_, BenchEmpty{run_, seen_});
    pump();
  }

  static CallEnd failure(std::string why) {
    CallEnd end;
    end.status = ToolStatus::error;
    end.text = "This call was not run. " + std::move(why);
    return end;
  }

  void count(const SandboxEnd& end) {
    SandboxCounters& counters = parts_->counters;
    if (end.kind == SandboxEnd::Kind::out_of_memory) ++counters.memory_deaths;
    if (end.kind == SandboxEnd::Kind::timed_out) ++counters.timeouts;
    if (end.kind == SandboxEnd::Kind::lost) ++counters.lost;
    counters.refused_connections += end.evidence.refused_connections;
    counters.refused_syscalls += end.evidence.refused_syscalls;
    if (!end.evidence.empty())
      parts_->log(LogLevel::warning,
                  fmt::format("run {}: a sandbox held back {} connections and {} system calls",
                              to_string(run_),
                              end.evidence.refused_connections,
                              end.evidence.refused_syscalls));
  }

  caf::actor me() const { return caf::actor_cast<caf::actor>(self_); }

  Self* self_;
  SandboxParts* parts_ = nullptr;
  std::array<caf::actor, 2> pools_;
  RunId run_;
  caf::actor desk_;
  std::uint64_t seen_ = 0;
  std::list<Work> works_;  ///< in the order in which they came
  std::list<Held> held_;
  std::optional<Files> files_;  ///< none: the workspace has to be opened before a job can use it
  bool is_open_ = false;        ///< it has to be closed
  bool busy_opening_ = false;   ///< it is being opened or closed
  bool releasing_ = false;
};

caf::behavior bench_behavior(Self* self,
                             SandboxParts* parts,
                             const std::array<caf::actor, 2>& pools,
                             const RunId& run,
                             const caf::actor& desk) {
  harden(self, [parts, run](const std::string& what) {
    parts->log(LogLevel::error, fmt::format("run {}: its workbench failed: {}", to_string(run), what));
  });
  self->state.begin(parts, pools, run, desk);
  return {
      [self](const DoJob& job) { self->state.do_job(job.job); },
      [self](const StopJob& stop) { self->state.stop_job(stop); },
      [self](const ReleaseBench&) { self->state.release(); },
      [self](const CloseBench&) { self->quit(); },
      [self](const GiveBackIdle& give_back) { self->state.give_back_idle(give_back.tier); },
      [self](const SandboxTaken& taken) { self->state.taken(taken.tier, *taken.sandbox); },
      [self](const SandboxLeased& leased) { self->state.leased(leased.sandbox, *leased.result); },
      [self](const CommandEnded& ended) { self->state.ended(ended.sandbox, std::move(*ended.end)); },
      [self](const WorkspaceOpened& opened) { self->state.opened(*opened.result); },
      [self](const SnapshotTaken& taken) { self->state.snapshot_taken(*taken.result); },
      [self](const WorkspaceClosed& closed) { self->state.closed(*closed.result); },
  };
}

}  // namespace

caf::actor spawn_workbench(caf::actor_system& system,
                           SandboxParts& parts,
                           const std::array<caf::actor, 2>& pools,
                           const RunId& run,
                           const caf::actor& desk) {
  return system.spawn(bench_behavior, &parts, pools, run, desk);
}

}  // namespace ratchet
