#pragma once
// A model client without a network. Calls wait until the test answers them, or are answered at once by a
// rule.

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/model/client.hpp"

namespace ratchet {

inline ModelOutcome says(std::string text) {
  ModelReply reply;
  reply.content.push_back({ReplyBlockType::text, std::move(text), {}, {}, {}, {}, {}});
  reply.usage = {100, 0, 0, 10};
  reply.usage_reported = true;
  return {reply, 5, 1};
}

inline ModelOutcome calls(std::string tool, std::string args) {
  ModelReply reply;
  reply.stop = ModelStop::tool_use;
  reply.content.push_back({ReplyBlockType::call, {}, {}, "p1", std::move(tool), std::move(args), {}});
  reply.usage = {100, 0, 0, 10};
  reply.usage_reported = true;
  return {reply, 5, 1};
}

inline ModelOutcome fails(FailureClass kind, std::string text) {
  ModelFailure failure;
  failure.kind = kind;
  failure.text = std::move(text);
  return {failure, 5, 0};
}

class FakeModelClient final : public ModelClient {
 public:
  /// Answers at once, on the caller's thread; nothing: the call waits for `answer`.
  using Rule = std::function<std::optional<ModelOutcome>(const ModelCall&)>;

  explicit FakeModelClient(Rule rule = [](const ModelCall&) { return std::nullopt; })
      : rule_(std::move(rule)) {}

  Ticket start(ModelCall call, OnDelta on_delta, OnDone on_done) override {
    if (auto outcome = rule_(call)) {
      count();
      on_done(std::move(*outcome));
      return 0;
    }
    const std::lock_guard lock(mutex_);
    ++started_;
    changed_.notify_all();
    waiting_[++last_] = Waiting{std::move(call), std::move(on_delta), std::move(on_done)};
    return last_;
  }

  void cancel(Ticket ticket) override {
    const std::lock_guard lock(mutex_);
    if (waiting_.erase(ticket) > 0) ++cancelled_;
    changed_.notify_all();
  }

  /// Waits for a call that is under way and answers it.
  ModelCall answer(ModelOutcome outcome) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !waiting_.empty(); });
    Waiting taken = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    lock.unlock();
    taken.on_done(std::move(outcome));
    return std::move(taken.call);
  }

  /// Waits for a call that is under way and says a piece of its reply.
  void say(std::uint64_t index, std::string_view text) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !waiting_.empty(); });
    const OnDelta on_delta = waiting_.begin()->second.on_delta;
    lock.unlock();
    on_delta(index, text);
  }

  void wait_for_cancel() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return cancelled_ > 0; });
  }

  void wait_for_calls(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() >= count; });
  }

  std::size_t started() const {
    const std::lock_guard lock(mutex_);
    return started_;
  }

  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 private:
  struct Waiting {
    ModelCall call;
    OnDelta on_delta;
    OnDone on_done;
  };

  void count() {
    const std::lock_guard lock(mutex_);
    ++started_;
  }

  Rule rule_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Ticket, Waiting> waiting_;
  Ticket last_ = 0;
  std::size_t started_ = 0, cancelled_ = 0;
};

}  // namespace ratchet
