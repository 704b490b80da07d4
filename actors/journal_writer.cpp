#include "actors/journal_writer.hpp"

#include <algorithm>
#include <chrono>
#include <pthread.h>

#include "runtime/limits.hpp"

namespace ratchet {

JournalWriter::JournalWriter(Journal& journal) : journal_(journal), thread_([this] { run(); }) {}

JournalWriter::~JournalWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

void JournalWriter::write(Commit commit, Done done) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = commits_.empty();
    commits_.push_back(std::move(commit));
    waiting_.push_back(std::move(done));
  }
  if (first) arrived_.notify_one();
}

WriterCounters JournalWriter::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void JournalWriter::run() {
  pthread_setname_np(pthread_self(), "journal");
  std::vector<Commit> commits;
  std::vector<Done> waiting;
  std::unique_lock lock(mutex_);
  while (true) {
    arrived_.wait(lock, [this] { return stopping_ || !commits_.empty(); });
    if (commits_.empty()) return;
    const std::size_t taken = std::min(commits_.size(), limits::commit_batch_max);
    const auto last = static_cast<std::ptrdiff_t>(taken);
    commits.assign(std::make_move_iterator(commits_.begin()),
                   std::make_move_iterator(commits_.begin() + last));
    waiting.assign(std::make_move_iterator(waiting_.begin()),
                   std::make_move_iterator(waiting_.begin() + last));
    commits_.erase(commits_.begin(), commits_.begin() + last);
    waiting_.erase(waiting_.begin(), waiting_.begin() + last);
    lock.unlock();
    write_batch(commits, waiting);
    lock.lock();
  }
}

void JournalWriter::write_batch(std::vector<Commit>& commits, std::vector<Done>& waiting) {
  const auto begin = std::chrono::steady_clock::now();
  const auto outcomes = journal_.commit(commits);
  const auto us =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin).count();
  {
    const std::lock_guard lock(mutex_);
    ++counters_.transactions;
    counters_.commits += commits.size();
    if (!outcomes) counters_.refused += commits.size();
    counters_.commit_us_sum += static_cast<std::uint64_t>(us);
    counters_.commit_us_max = std::max(counters_.commit_us_max, static_cast<std::uint64_t>(us));
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    waiting[i](outcomes ? (*outcomes)[i] : Result<Committed>(tl::unexpected(outcomes.error())));
  }
}

}  // namespace ratchet
