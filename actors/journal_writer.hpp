#pragma once
// Group commit. An fsync costs the same for one append as for five hundred, so one thread takes everything
// that is waiting, writes one transaction, and tells everybody. Batches form by themselves out of what queued
// up during the commit before; an idle node commits a single append at once.
//
// The queue is bounded by its callers: a run has at most one append under way and the number of runs is
// limited, and so is the number of requests that the server takes at once.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/journal.hpp"

namespace ratchet {

/// What the writer has done, for metrics.
struct WriterCounters {
  std::uint64_t transactions = 0, commits = 0, refused = 0;
  std::uint64_t commit_us_sum = 0, commit_us_max = 0;
};

class JournalWriter {
 public:
  using Done = std::function<void(Result<Committed>)>;

  explicit JournalWriter(Journal& journal);
  /// Writes what is still queued, then stops.
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  /// Calls `done` on the writer's thread when the commit is durable or refused; it must not block. From any
  /// thread.
  void write(Commit commit, Done done);

  WriterCounters counters() const;

 private:
  void run();
  void write_batch(std::vector<Commit>& commits, std::vector<Done>& waiting);

  Journal& journal_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Commit> commits_;
  std::vector<Done> waiting_;
  WriterCounters counters_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ratchet
