#pragma once
// Sandboxes without a machine: what a command does is a rule of the test, and every operation can be held
// back or made to fail.

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/sandbox/host.hpp"
#include "runtime/sandbox/workspaces.hpp"

namespace ratchet {

class FakeSandboxHost final : public SandboxHost {
 public:
  /// Nothing: the command goes on until it is ended.
  using Rule = std::function<std::optional<SandboxEnd>(const SandboxLease&, const SandboxCommand&)>;

  explicit FakeSandboxHost(Rule rule) : rule_(std::move(rule)) {}

  TierStatus tier(std::uint32_t tier) const override {
    if (missing.contains(tier)) return {false, {}, "there is no runtime", {}};
    return {true, "fake", {}, {}};
  }

  void create(std::uint32_t tier, OnCreated done) override {
    if (missing.contains(tier)) return done(fail(ErrorCode::sandbox_unavailable, "there is no runtime"));
    std::unique_lock lock(mutex_);
    if (creations_to_fail > 0) {
      --creations_to_fail;
      lock.unlock();
      return done(fail(ErrorCode::sandbox_unavailable, "the runtime said no"));
    }
    const SandboxId id = ++last_id_;
    alive_[id];
    changed_.notify_all();
    lock.unlock();
    done(id);
  }

  void lease(SandboxId id, SandboxLease lease, OnDone done) override {
    std::unique_lock lock(mutex_);
    RATCHET_ENSURE(!alive_.at(id).leased, "a sandbox is leased once");
    alive_.at(id).leased = true;
    alive_.at(id).lease = std::move(lease);
    const bool refused = leases_to_fail > 0;
    if (refused) --leases_to_fail;
    lock.unlock();
    done(refused ? fail(ErrorCode::sandbox_unavailable, "it has died") : Result<void>());
  }

  void run(SandboxId id, SandboxCommand command, OnOutput on_output, OnEnd on_end) override {
    std::unique_lock lock(mutex_);
    One& one = alive_.at(id);
    RATCHET_ENSURE(one.leased && !one.on_end, "one command at a time, in a sandbox that is leased");
    ran.push_back({id, one.lease, command});
    const auto end = rule_(one.lease, command);
    if (!end) {
      one.on_end = std::move(on_end);
      one.on_output = on_output;
    }
    changed_.notify_all();
    lock.unlock();
    if (!end) return;
    if (on_output && !end->out.empty()) on_output(end->out);
    on_end(*end);
  }

  /// All that run write this.
  void write(std::string_view text) {
    std::vector<OnOutput> outputs;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [id, one] : alive_)
        if (one.on_output) outputs.push_back(one.on_output);
    }
    for (const auto& output : outputs)
      output(text);
  }

  void kill(SandboxId id) override { end_command(id, SandboxEnd::Kind::killed); }

  void destroy(SandboxId id, OnDone done) override {
    end_command(id, SandboxEnd::Kind::lost);
    {
      const std::lock_guard lock(mutex_);
      RATCHET_ENSURE(alive_.erase(id) == 1, "a sandbox is destroyed once");
      ++destroyed;
      changed_.notify_all();
    }
    done({});
  }

  std::size_t alive() const {
    const std::lock_guard lock(mutex_);
    return alive_.size();
  }

  template <class Predicate>
  void wait(Predicate predicate) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, predicate);
  }

  void wait_for_runs(std::size_t n) {
    wait([&] { return ran.size() >= n; });
  }

  void wait_for_alive(std::size_t n) {
    wait([&] { return alive_.size() == n; });
  }

  struct Run {
    SandboxId id;
    SandboxLease lease;
    SandboxCommand command;
  };

  // Set before the node starts, or read when nothing runs.
  std::set<std::uint32_t> missing;
  int creations_to_fail = 0, leases_to_fail = 0;
  std::vector<Run> ran;
  int destroyed = 0;

 private:
  struct One {
    bool leased = false;
    SandboxLease lease;
    OnEnd on_end;
    OnOutput on_output;
  };

  void end_command(SandboxId id, SandboxEnd::Kind kind) {
    OnEnd on_end;
    {
      const std::lock_guard lock(mutex_);
      const auto one = alive_.find(id);
      if (one != alive_.end()) on_end = std::exchange(one->second.on_end, nullptr);
    }
    if (!on_end) return;
    SandboxEnd end;
    end.kind = kind;
    on_end(end);
  }

  Rule rule_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  SandboxId last_id_ = 0;
  std::map<SandboxId, One> alive_;
};

/// Counts instead of files: each snapshot is another one, named by how many there were before.
class FakeWorkspaces final : public Workspaces {
 public:
  void open(const RunId& run, std::optional<Hash> snapshot, OnDone done) override {
    {
      const std::lock_guard lock(mutex_);
      opened.push_back(snapshot);
      open_.insert(run);
    }
    done({});
  }

  void snapshot(const RunId& run, OnSnapshot done) override {
    std::unique_lock lock(mutex_);
    RATCHET_ENSURE(open_.contains(run), "a snapshot is taken of what is open");
    const bool refused = refusals > 0;
    if (refused) --refusals;
    const Hash hash = nth(refused ? 0 : ++taken);
    lock.unlock();
    done(refused ? fail(ErrorCode::workspace_refused, "big.bin is too large") : Result<Hash>(hash));
  }

  void close(const RunId& run, OnDone done) override {
    {
      const std::lock_guard lock(mutex_);
      open_.erase(run);
      ++closed;
    }
    done({});
  }

  void sweep(std::vector<Hash>, OnDone done) override { done({}); }

  static Hash nth(int n) { return sha256("snapshot " + std::to_string(n)); }

  std::size_t open_now() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }

  std::vector<std::optional<Hash>> opened;
  int taken = 0, refusals = 0, closed = 0;

 private:
  mutable std::mutex mutex_;
  std::set<RunId> open_;
};

}  // namespace ratchet
