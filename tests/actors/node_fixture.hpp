#pragma once
// A node over a journal in memory, with doubles for everything outside of it. `restart` is what a crash
// leaves: the journal.

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/node.hpp"
#include "runtime/tools/builtin.hpp"
#include "store/memory_journal.hpp"
#include "store/pack.hpp"
#include "tests/fakes/connector.hpp"
#include "tests/fakes/model_client.hpp"

namespace ratchet {

/// The machine's clock, moved on by the test.
class ShiftedClock final : public Clock {
 public:
  Timestamp now() override { return {system_.now().us + shift_us_}; }

  void advance_ms(std::int64_t ms) { shift_us_ += ms * 1'000; }

 private:
  SystemClock system_;
  std::atomic<std::int64_t> shift_us_{0};
};

/// One agent, for every team.
class OneAgent final : public AgentCatalog {
 public:
  explicit OneAgent(std::shared_ptr<const AgentVersion> version) : version_(std::move(version)) {}

  Result<std::shared_ptr<const AgentVersion>> find(std::string_view,
                                                   std::string_view agent_id,
                                                   std::uint32_t) override {
    if (throws) throw std::runtime_error("the catalog is broken");
    if (agent_id != version_->definition.agent_id)
      return fail(ErrorCode::unknown_agent, "there is no such agent");
    return version_;
  }

  std::atomic<bool> throws{false};

 private:
  std::shared_ptr<const AgentVersion> version_;
};

inline std::shared_ptr<const AgentVersion> agent_with(std::vector<ToolManifest> tools) {
  auto agent = std::make_shared<AgentVersion>();
  agent->definition.agent_id = "tester";
  agent->definition.model = "m";
  agent->definition.system_prompt = "You test.";
  agent->definition.policy = {{"*", Decision::allow}};
  for (const ToolManifest& tool : tools)
    agent->definition.tools.push_back(tool.name);
  agent->version = 1;
  agent->tools = std::move(tools);
  return agent;
}

/// Waits for the events of one run.
class Listener final : public EventSink {
 public:
  void on_events(const RunId&, Batch batch) override {
    const std::lock_guard lock(mutex_);
    for (const Rendered& event : *batch)
      types_.emplace_back(event.type);
    changed_.notify_all();
  }

  void on_delta(
      const RunId&, std::uint32_t, std::uint32_t, std::uint64_t index, std::string_view text) override {
    const std::lock_guard lock(mutex_);
    text_.resize(std::min<std::size_t>(text_.size(), index));
    text_ += text;
    changed_.notify_all();
  }

  void on_output(const RunId&, const ToolOutput& output) override {
    const std::lock_guard lock(mutex_);
    text_.resize(std::min<std::size_t>(text_.size(), output.index));
    text_ += output.text;
    changed_.notify_all();
  }

  void wait_for(std::string_view type) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return std::find(types_.begin(), types_.end(), type) != types_.end(); });
  }

  void wait_for_text(std::string_view text) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return text_ == text; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> types_;
  std::string text_;
};

class TestNode {
 public:
  explicit TestNode(
      FakeModelClient& models,
      std::shared_ptr<const AgentVersion> agent = agent_with({}),
      FakeConnector::Rule connector = [](const ConnectorCall&) { return std::nullopt; })
      : models_(models), catalog(std::move(agent)), connector(std::move(connector)) {
    restart();
  }

  void restart() {
    node.reset();
    NodeOptions options;
    options.journal = &journal;
    options.catalog = &catalog;
    options.models = &models_;
    options.connector = &connector;
    options.clock = &clock;
    options.pack = pack_record;
    ServedModel served;
    served.config.name = "m";
    served.config.providers = {ProviderConfig{}};
    served.config.providers.front().protocol = Protocol::scripted;
    served.max_concurrent = 10'000;
    options.served["m"] = served;
    options.concurrent_runs = concurrent_runs;
    if (judge) options.judge = judge;
    options.decision_point = decision_point;
    options.exchange = exchange;
    options.reviewer = reviewer;
    options.webhook_secrets = webhook_secrets;
    options.sandboxes = sandboxes;
    options.replay_environment = replay_environment;
    options.http_get_endpoints = http_get_endpoints;
    options.log = [this](LogLevel, const std::string& line) {
      const std::lock_guard lock(log_mutex_);
      log += line + '\n';
    };
    node = std::make_unique<CafNode>(std::move(options));
    node->recover();
  }

  Result<RunAccepted> start(std::string key = {}, Hash fingerprint = {}, std::string input = "go") {
    StartRun command;
    command.team = "t";
    command.agent_id = "tester";
    command.input = text_content(std::move(input));
    command.user_id = "u";
    command.idempotency_key = std::move(key);
    command.fingerprint = fingerprint;
    return ask<RunAccepted>([&](Reply<RunAccepted> reply) { node->start_run(command, std::move(reply)); });
  }

  /// Of all calls of a run, in order.
  std::vector<ToolResult> results(const RunId& run) {
    std::vector<ToolResult> found;
    const auto records = journal.records(run, 1, SIZE_MAX);
    for (const Record& record : *records)
      for (const Event& event : record.events)
        if (const auto* result = std::get_if<ToolResult>(&event.payload)) found.push_back(*result);
    return found;
  }

  Result<RunAccepted> replay(const RunId& run,
                             std::uint32_t from_step,
                             ReplayTools tools = ReplayTools::recorded,
                             std::string patch = "{}",
                             std::string key = {}) {
    ReplayRun command;
    command.team = "t";
    command.run_id = run;
    command.from_step = from_step;
    command.tools = tools;
    command.patch.text = std::move(patch);
    command.idempotency_key = std::move(key);
    return ask<RunAccepted>([&](Reply<RunAccepted> reply) { node->replay_run(command, std::move(reply)); });
  }

  template <class T, class Send>
  Result<T> ask(Send send) {
    std::promise<Result<T>> answer;
    send([&](Result<T> result) { answer.set_value(std::move(result)); });
    return answer.get_future().get();
  }

  Result<Accepted> cancel(const RunId& run, std::string team = "t") {
    return ask<Accepted>(
        [&](Reply<Accepted> reply) { node->cancel_run({team, run, "tester", ""}, std::move(reply)); });
  }

  Result<Accepted> message(const RunId& run, std::string text, std::string key = {}) {
    return ask<Accepted>([&](Reply<Accepted> reply) {
      node->send_message({"t", run, text_content(text), "u", key}, std::move(reply));
    });
  }

  Result<Accepted> resume(const RunId& run) {
    return ask<Accepted>([&](Reply<Accepted> reply) { node->resume_run({"t", run, "u"}, std::move(reply)); });
  }

  std::shared_ptr<Listener> listen(const RunId& run) {
    auto listener = std::make_shared<Listener>();
    node->feed().subscribe(run, listener);
    return listener;
  }

  /// Waits until the run's row says so, reading the journal again whenever a commit was made.
  template <class Predicate>
  RunRow wait_for_row(const RunId& run, Predicate predicate) {
    while (true) {
      const auto row = journal.row(run);
      if (row && predicate(*row)) return *row;
      std::this_thread::yield();
    }
  }

  RunRow wait_for_end(const RunId& run) {
    return wait_for_row(run, [](const RunRow& row) { return row.status == RunStatus::finished; });
  }

  std::vector<std::string> types(const RunId& run) {
    std::vector<std::string> types;
    const auto records = journal.records(run, 1, SIZE_MAX);
    for (const Record& record : *records)
      for (const Event& event : record.events)
        types.emplace_back(type_name(event));
    return types;
  }

 private:
  FakeModelClient& models_;
  std::mutex log_mutex_;

 public:
  MemoryJournal journal;
  ShiftedClock clock;
  OneAgent catalog;
  FakeConnector connector;
  std::size_t concurrent_runs = 100;
  Judge* judge = nullptr;       ///< asks hooks, a decision point, or both; borrowed
  bool decision_point = false;  ///< `judge` asks one about every call
  std::optional<ExchangeEndpoint> exchange;
  Reviewer* reviewer = nullptr;  ///< lets them see results; borrowed
  std::vector<WebhookSecret> webhook_secrets;
  SandboxOptions sandboxes;
  std::vector<std::string> http_get_endpoints;
  bool replay_environment = false;
  std::string log;
  std::unique_ptr<CafNode> node;
};

}  // namespace ratchet
