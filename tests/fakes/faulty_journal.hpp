#pragma once
// A journal with the faults of a disk as options: the nth commit is refused, is held until the test lets it
// go, or is the last thing its process does. Reads pass through.

#include <condition_variable>
#include <map>
#include <mutex>

#include "runtime/journal.hpp"

namespace ratchet {

enum class Fault {
  refuse,        ///< nothing is written: store_unavailable
  hold,          ///< waits for `release`, and is written then
  crash_before,  ///< nothing is written, and the process dies
  crash_after,   ///< it is durable, and the process dies before anyone is told
};

/// The process died: thrown out of `commit` by the crash faults, for a test or a simulator to catch where it
/// runs the node, and to start another node on the same journal.
struct SimulatedCrash {
  std::uint64_t commit = 0;
};

class FaultyJournal final : public Journal {
 public:
  /// `inner` outlives this.
  explicit FaultyJournal(Journal& inner) : inner_(inner) {}

  /// Plans a fault for the `nth` call of `commit` from now on; 1 is the next one. Called from any thread.
  void plan(std::uint64_t nth, Fault fault) {
    const std::lock_guard lock(mutex_);
    faults_[commits_ + nth] = fault;
  }

  /// Refuses every commit without `reserve` from now on, like a disk without room; or no longer.
  void refuse_all(bool refuse) {
    const std::lock_guard lock(mutex_);
    refuse_all_ = refuse;
  }

  /// Returns once a commit is held.
  void wait_until_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_; });
  }

  /// Lets the held commit go on.
  void release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }

  std::uint64_t commits() {
    const std::lock_guard lock(mutex_);
    return commits_;
  }

  Result<std::vector<Result<Committed>>> commit(std::span<const Commit> batch) override {
    std::unique_lock lock(mutex_);
    const std::uint64_t number = ++commits_;
    const auto planned = faults_.find(number);
    if (refuse_all_) return without_reserve_refused(batch, lock);
    if (planned == faults_.end()) return unlocked(lock, batch);
    switch (planned->second) {
      case Fault::refuse:
        return no_room();
      case Fault::crash_before:
        throw SimulatedCrash{number};
      case Fault::crash_after:
        (void)unlocked(lock, batch);
        throw SimulatedCrash{number};
      case Fault::hold:
        break;
    }
    held_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    return unlocked(lock, batch);
  }

  JournalHealth health() override {
    JournalHealth health = inner_.health();
    const std::lock_guard lock(mutex_);
    health.writable = health.writable && !refuse_all_;
    return health;
  }

  Result<RunRow> row(const RunId& run) override { return inner_.row(run); }

  Result<std::vector<Record>> records(const RunId& run,
                                      std::uint64_t from_seq,
                                      std::size_t bytes_max) override {
    return inner_.records(run, from_seq, bytes_max);
  }

  Result<std::vector<RunRow>> list(const RunQuery& query) override { return inner_.list(query); }

  Result<std::vector<RunId>> active() override { return inner_.active(); }

  Result<std::vector<RunId>> due(Timestamp now, std::size_t limit) override { return inner_.due(now, limit); }

  Result<std::optional<Timestamp>> next_due() override { return inner_.next_due(); }

  Result<std::optional<IdempotencyEntry>> idempotency(std::string_view scope, std::string_view key) override {
    return inner_.idempotency(scope, key);
  }

  Result<std::string> blob(const ArtifactId& id, std::uint64_t offset, std::uint64_t limit) override {
    return inner_.blob(id, offset, limit);
  }

  Result<ArtifactInfo> artifact(const ArtifactId& id) override { return inner_.artifact(id); }

  Result<std::vector<std::pair<std::string, std::string>>> definitions(std::string_view table,
                                                                       std::string_view prefix) override {
    return inner_.definitions(table, prefix);
  }

  Result<ApprovalRow> approval(const RunId& run, const ApprovalId& id) override {
    return inner_.approval(run, id);
  }

  Result<std::vector<ApprovalRow>> approvals(const ApprovalQuery& query) override {
    return inner_.approvals(query);
  }

  Result<std::vector<OutboxEntry>> outbox(std::size_t limit) override { return inner_.outbox(limit); }

  Result<std::vector<Hash>> snapshots() override { return inner_.snapshots(); }

  Result<std::string> user_token(const RunId& run) override { return inner_.user_token(run); }

 private:
  using Outcomes = Result<std::vector<Result<Committed>>>;

  static tl::unexpected<Error> no_room() {
    return fail(ErrorCode::store_unavailable, "the journal has no room (a planned fault)");
  }

  Outcomes unlocked(std::unique_lock<std::mutex>& lock, std::span<const Commit> batch) {
    lock.unlock();
    return inner_.commit(batch);
  }

  Outcomes without_reserve_refused(std::span<const Commit> batch, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    std::vector<Result<Committed>> outcomes;
    bool any = false;
    for (const Commit& commit : batch) {
      any = any || commit.reserve;
      if (!commit.reserve) {
        outcomes.emplace_back(no_room());
        continue;
      }
      auto written = inner_.commit({&commit, 1});
      if (!written) return written;
      outcomes.push_back(std::move(written->at(0)));
    }
    if (!any) return no_room();
    return outcomes;
  }

  Journal& inner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Fault> faults_;
  std::uint64_t commits_ = 0;
  bool held_ = false, refuse_all_ = false;
};

}  // namespace ratchet
