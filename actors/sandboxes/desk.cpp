#include "actors/sandboxes/desk.hpp"

#include <unordered_map>

#include "actors/sandboxes/sandbox_pool.hpp"

namespace ratchet {

namespace {

struct PoolClosed {};

}  // namespace

}  // namespace ratchet

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(ratchet::PoolClosed)

namespace ratchet {

namespace {

class SandboxDesk;
using Self = caf::stateful_actor<SandboxDesk>;

class SandboxDesk {
 public:
  static inline const char* name = "sandboxes";

  explicit SandboxDesk(Self* self) : self_(self) {}

  void begin(SandboxParts* parts,
             std::size_t warm_tier2,
             std::size_t warm_tier3,
             std::function<void(std::uint64_t, CallEnd)> on_end) {
    parts_ = parts;
    on_end_ = std::move(on_end);
    self_->set_down_handler([this](const caf::down_msg& down) { bench_ended(down.source); });
    pools_ = {spawn_sandbox_pool(self_->home_system(), *parts_, 2, warm_tier2),
              spawn_sandbox_pool(self_->home_system(), *parts_, 3, warm_tier3)};
  }

  void do_job(const std::shared_ptr<const SandboxJob>& job) {
    runs_[job->ticket] = job->run;
    Bench& bench = bench_of(job->run);
    ++bench.sent;
    tell(bench.actor, DoJob{job});
  }

  void stop_job(const StopJob& stop) {
    const auto run = runs_.find(stop.ticket);
    if (run == runs_.end()) return stop.gone();
    Bench& bench = benches_.at(run->second);
    runs_.erase(run);
    ++bench.sent;
    tell(bench.actor, stop);
  }

  void job_ended(const JobEnded& ended) {
    if (runs_.erase(ended.ticket) > 0) on_end_(ended.ticket, std::move(*ended.end));
  }

  void release(const RunId& run) {
    const auto bench = benches_.find(run);
    if (bench == benches_.end()) return;
    ++bench->second.sent;
    tell(bench->second.actor, ReleaseBench{});
  }

  /// It is let go, unless it has been sent something that it had not seen when it said so.
  void bench_empty(const BenchEmpty& empty) {
    const auto bench = benches_.find(empty.run);
    if (bench == benches_.end() || bench->second.sent != empty.seen) return;
    tell(bench->second.actor, CloseBench{});
    forget(bench);
  }

  void close(std::function<void()> done) {
    done_ = std::move(done);
    pools_open_ = pools_.size();
    for (auto& [run, bench] : benches_) {
      ++bench.sent;
      tell(bench.actor, ReleaseBench{});
    }
    for (const caf::actor& pool : pools_)
      tell(pool, ClosePool{[me = caf::actor_cast<caf::actor>(self_)] { tell(me, PoolClosed{}); }});
  }

  void pool_closed() {
    if (--pools_open_ == 0 && benches_.empty()) end();
  }

 private:
  struct Bench {
    caf::actor actor;
    std::uint64_t sent = 0;
  };

  using BenchAt = std::unordered_map<RunId, Bench>::iterator;

  Bench& bench_of(const RunId& run) {
    const auto found = benches_.find(run);
    if (found != benches_.end()) return found->second;
    caf::actor actor =
        spawn_workbench(self_->home_system(), *parts_, pools_, run, caf::actor_cast<caf::actor>(self_));
    self_->monitor(actor);
    return benches_.emplace(run, Bench{std::move(actor), 0}).first->second;
  }

  void forget(BenchAt bench) {
    benches_.erase(bench);
    if (done_ && benches_.empty() && pools_open_ == 0) end();
  }

  /// One that is still held here has failed, and its calls with it. What they have done is not known.
  void bench_ended(const caf::actor_addr& address) {
    const auto bench = std::find_if(
        benches_.begin(), benches_.end(), [&](const auto& each) { return each.second.actor == address; });
    if (bench == benches_.end()) return;
    const RunId run = bench->first;
    forget(bench);
    std::erase_if(runs_, [&](const auto& each) {
      if (each.second != run) return false;
      CallEnd lost;
      lost.kind = CallEnd::Kind::unknown;
      lost.status = ToolStatus::error;
      lost.text = "The sandbox of this call was lost.";
      on_end_(each.first, std::move(lost));
      return true;
    });
  }

  void end() {
    std::exchange(done_, nullptr)();
    self_->quit();
  }

  Self* self_;
  SandboxParts* parts_ = nullptr;
  std::function<void(std::uint64_t, CallEnd)> on_end_;
  std::array<caf::actor, 2> pools_;
  std::unordered_map<RunId, Bench> benches_;
  std::unordered_map<std::uint64_t, RunId> runs_;  ///< of the jobs that somebody waits for
  std::function<void()> done_;
  std::size_t pools_open_ = 0;
};

caf::behavior desk_behavior(Self* self,
                            SandboxParts* parts,
                            std::size_t warm_tier2,
                            std::size_t warm_tier3,
                            std::function<void(std::uint64_t, CallEnd)> on_end) {
  harden(self,
         [](const std::string& what) { crash("the desk of sandboxes failed: " + what, __FILE__, __LINE__); });
  self->state.begin(parts, warm_tier2, warm_tier3, std::move(on_end));
  return {
      [self](const DoJob& job) { self->state.do_job(job.job); },
      [self](const StopJob& stop) { self->state.stop_job(stop); },
      [self](const JobEnded& ended) { self->state.job_ended(ended); },
      [self](const BenchRelease& release) { self->state.release(release.run); },
      [self](const BenchEmpty& empty) { self->state.bench_empty(empty); },
      [self](const CloseDesk& close) { self->state.close(close.done); },
      [self](const PoolClosed&) { self->state.pool_closed(); },
  };
}

}  // namespace

caf::actor spawn_sandbox_desk(caf::actor_system& system,
                              SandboxParts& parts,
                              std::size_t warm_tier2,
                              std::size_t warm_tier3,
                              std::function<void(std::uint64_t ticket, CallEnd end)> on_end) {
  return system.spawn(desk_behavior, &parts, warm_tier2, warm_tier3, std::move(on_end));
}

}  // namespace ratchet
