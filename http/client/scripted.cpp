#include "http/client/scripted.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "http/client/callback_gate.hpp"
#include "http/client/deadlines.hpp"
#include "http/client/scenario.hpp"
#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

namespace {

using Time = Deadlines::Time;

/// A reply while it is being said.
struct Performance {
  ScenarioReply reply;
  ModelClient::OnDelta on_delta;
  ModelClient::OnDone on_done;
  Time start;
  std::size_t shown = 0;          // chunks
  std::uint64_t shown_bytes = 0;  // of text
  std::int64_t ttft_ms = -1;
  Deadlines::Slot due;
  CallbackGate gate;

  /// When the next chunk is due: they are spread evenly, and the last is the end.
  Time next_at() const {
    const auto parts = static_cast<std::int64_t>(std::max<std::size_t>(reply.chunks.size(), 1));
    const auto part = std::min(static_cast<std::int64_t>(shown) + 1, parts);
    return start + std::chrono::microseconds(reply.latency_ms * 1'000 * part / parts);
  }

  bool over() const { return shown >= reply.chunks.size(); }
};

std::int64_t ms_since(Time start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start)
      .count();
}

ScenarioReply unusable(const Error& error) {
  ModelFailure failure;
  failure.kind = FailureClass::permanent;
  failure.text = error.text.substr(0, utf8_cut(error.text, limits::error_text_bytes_max));
  ScenarioReply reply;
  reply.value = std::move(failure);
  return reply;
}

}  // namespace

/// One thread says everything. The mutex guards all members; callbacks run without it.
struct ScriptedClient::Impl {
  using File = std::shared_ptr<const Result<ScenarioFile>>;
  using Shared = std::shared_ptr<Performance>;

  Impl() : thread([this] { run(); }) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    bell.notify_one();
    thread.join();
  }

  File file(const std::string& path) {
    const std::lock_guard lock(files_mutex);
    auto& stored = files[path];
    if (!stored) stored = std::make_shared<const Result<ScenarioFile>>(load_scenarios(path));
    return stored;
  }

  Ticket add(Shared performance) {
    const std::lock_guard lock(mutex);
    const Ticket ticket = ++last_ticket;
    schedule.set(ticket, performance->due, performance->next_at());
    performances.emplace(ticket, std::move(performance));
    bell.notify_one();
    return ticket;
  }

  void cancel(Ticket ticket) {
    const std::lock_guard lock(mutex);
    const auto found = performances.find(ticket);
    if (found == performances.end()) return;
    found->second->gate.shut();
    schedule.remove(ticket, found->second->due);
    performances.erase(found);
  }

  void run() {
    std::unique_lock lock(mutex);
    while (!stopping) {
      const auto next = schedule.next();
      const Time now = std::chrono::steady_clock::now();
      if (!next) {
        bell.wait(lock);
      } else if (*next > now) {
        bell.wait_until(lock, *next);
      } else {
        auto due = take_due(now);
        lock.unlock();
        for (const auto& [ticket, performance] : due)
          say(*performance);
        lock.lock();
        for (const auto& [ticket, performance] : due)
          go_on(ticket, *performance);
      }
    }
  }

  std::vector<std::pair<Ticket, Shared>> take_due(Time now) {
    std::vector<std::pair<Ticket, Shared>> due;
    schedule.expire(
        now,
        [this](Ticket ticket) -> Deadlines::Slot& { return performances.at(ticket)->due; },
        [&](Ticket ticket) { due.emplace_back(ticket, performances.at(ticket)); });
    return due;
  }

  static void say(Performance& performance) {
    const bool last = performance.shown + 1 >= performance.reply.chunks.size();
    if (!performance.over()) show(performance);
    if (last) end(performance);
  }

  static void show(Performance& performance) {
    if (performance.ttft_ms < 0) performance.ttft_ms = ms_since(performance.start);
    const std::string& chunk = performance.reply.chunks[performance.shown++];
    performance.gate.pass([&] {
      if (performance.on_delta) performance.on_delta(performance.shown_bytes, chunk);
    });
    performance.shown_bytes += chunk.size();
  }

  static void end(Performance& performance) {
    ModelOutcome outcome;
    outcome.latency_ms = ms_since(performance.start);
    outcome.ttft_ms = performance.ttft_ms < 0 ? outcome.latency_ms : performance.ttft_ms;
    outcome.value = std::move(performance.reply.value);
    performance.gate.pass([&] { performance.on_done(std::move(outcome)); });
    performance.gate.shut();
  }

  /// After a chunk: the next one, or nothing more. A call that was cancelled meanwhile is gone.
  void go_on(Ticket ticket, Performance& performance) {
    const auto found = performances.find(ticket);
    if (found == performances.end()) return;
    if (performance.over())
      performances.erase(found);
    else
      schedule.set(ticket, performance.due, performance.next_at());
  }

  std::mutex files_mutex;
  std::map<std::string, File> files;

  std::mutex mutex;
  std::condition_variable bell;
  Deadlines schedule;
  std::unordered_map<Ticket, Shared> performances;
  Ticket last_ticket = 0;
  bool stopping = false;

  std::thread thread;
};

ScriptedClient::ScriptedClient() : impl_(std::make_unique<Impl>()) {}

ScriptedClient::~ScriptedClient() = default;

Result<void> ScriptedClient::load(const std::string& path) {
  const auto file = impl_->file(path);
  if (!*file) return tl::unexpected(file->error());
  return {};
}

ModelClient::Ticket ScriptedClient::start(ModelCall call, OnDelta on_delta, OnDone on_done) {
  const auto file = impl_->file(call.endpoint.scenario_file);
  auto performance = std::make_shared<Performance>();
  performance->reply = *file ? play(**file, call) : unusable(file->error());
  performance->on_delta = std::move(on_delta);
  performance->on_done = std::move(on_done);
  performance->start = std::chrono::steady_clock::now();
  return impl_->add(std::move(performance));
}

void ScriptedClient::cancel(Ticket ticket) {
  impl_->cancel(ticket);
}

}  // namespace ratchet
