#include "http/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "http/version.hpp"

namespace ratchet {

namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

const Histogram::BucketBoundaries request_buckets = {.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5};
const Histogram::BucketBoundaries model_buckets = {.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300};
const Histogram::BucketBoundaries hook_buckets = {.001, .0025, .005, .01, .025, .05, .1, .15, .2, .5};
const Histogram::BucketBoundaries run_buckets = {1, 5, 15, 60, 300, 900, 3'600, 14'400, 86'400};

double dollars(Usd amount) {
  return static_cast<double>(amount.nano) / 1e9;
}

double seconds(std::int64_t ms) {
  return static_cast<double>(ms) / 1e3;
}

/// Raises a counter that somebody else counts for us.
void raise_to(Counter& counter, double total) {
  counter.Increment(total - counter.Value());
}

}  // namespace

class Metrics::Impl {
 public:
  Impl() {
    BuildGauge()
        .Name("ratchet_build_info")
        .Help("The version of this build; always 1")
        .Register(registry_)
        .Add({{"version", std::string(version)}})
        .Set(1);
  }

  // --- events

  void on(const RunRow&, Timestamp, const RunStarted&) { runs_started_.Increment(); }

  void on(const RunRow& row, Timestamp at, const RunFinished& finished) {
    runs_.Add({{"outcome", std::string(name(finished.stop_reason))}}).Increment();
    run_seconds_.Observe(seconds(ms_between(row.created_at, at)));
  }

  void on(const RunRow& row, Timestamp, const ModelRequested& requested) {
    const auto add = [&](const char* part, std::int64_t tokens) {
      prompt_tokens_.Add({{"model", row.model}, {"part", part}}).Increment(static_cast<double>(tokens));
    };
    add("prefix", requested.prefix_tokens);
    add("new", requested.estimated_tokens - requested.prefix_tokens);
  }

  void on(const RunRow& row, Timestamp, const ContextCompacted& compacted) {
    compactions_.Add({{"model", row.model}}).Increment();
    compacted_tokens_.Add({{"model", row.model}})
        .Increment(static_cast<double>(compacted.tokens_before - compacted.tokens_after));
  }

  void on(const RunRow& row, Timestamp, const ModelCompleted& reply) {
    if (reply.purpose == CallPurpose::step) steps_.Increment();
    model_requests_.Add({{"model", row.model}, {"outcome", "ok"}}).Increment();
    model_seconds_.Add({{"model", row.model}}, model_buckets).Observe(seconds(reply.latency_ms));
    ttft_seconds_.Add({{"model", row.model}}, model_buckets).Observe(seconds(reply.ttft_ms));
    count(row.model, reply.usage, reply.cost_usd);
  }

  void on(const RunRow& row, Timestamp, const ModelFailed& failed) {
    model_requests_.Add({{"model", row.model}, {"outcome", std::string(name(failed.kind))}}).Increment();
    count(row.model, failed.charged, failed.charged_usd);
  }

  void on(const RunRow&, Timestamp, const ToolResult& result) {
    tool_calls_.Add({{"outcome", std::string(name(result.status))}}).Increment();
    tool_seconds_.Observe(seconds(result.latency_ms));
  }

  void on(const RunRow&, Timestamp, const RunPaused& paused) {
    for (const PauseReason reason : paused.reasons)
      pauses_.Add({{"cause", std::string(name(reason))}}).Increment();
  }

  void on(const RunRow&, Timestamp, const ApprovalRequired&) { approvals_required_.Increment(); }

  void on(const RunRow&, Timestamp, const ApprovalDecided& decided) {
    const bool person = decided.reason == DecidedBy::person;
    approvals_decided_.Add({{"outcome", std::string(person ? name(decided.decision) : name(decided.reason))}})
        .Increment();
  }

  void on(const RunRow& row, Timestamp, const SubagentStarted&) {
    subagents_started_.Add({{"depth", std::to_string(row.depth + 1)}}).Increment();
  }

  void on(const RunRow&, Timestamp, const SubagentFinished& finished) {
    subagents_finished_.Add({{"outcome", std::string(name(finished.stop_reason))}}).Increment();
  }

  void on(const RunRow&, Timestamp, const CallUnknown&) { unknown_calls_.Increment(); }

  void on(const RunRow&, Timestamp, const RunResumed& resumed) {
    resumes_.Add({{"cause", std::string(name(resumed.reason))}}).Increment();
  }

  template <class Other>
  void on(const RunRow&, Timestamp, const Other&) {}

  // --- hooks

  void on_hook(HookPoint at, HookKind kind, HookOutcome outcome, std::int64_t latency_ms) {
    const std::string at_name(name(at)), kind_name(name(kind));
    hook_calls_.Add({{"at", at_name}, {"kind", kind_name}, {"outcome", std::string(name(outcome))}})
        .Increment();
    hook_seconds_.Add({{"at", at_name}, {"kind", kind_name}}, hook_buckets).Observe(seconds(latency_ms));
  }

  void on_delivery(std::string_view type, DeliveryOutcome outcome, std::int64_t latency_ms) {
    deliveries_.Add({{"type", std::string(type)}, {"outcome", std::string(name(outcome))}}).Increment();
    delivery_seconds_.Observe(seconds(latency_ms));
  }

  // --- requests and the scrape

  void on_request(std::string_view method, std::string_view route, int status, double time) {
    requests_
        .Add({{"method", std::string(method)},
              {"route", std::string(route)},
              {"status", std::to_string(status)}})
        .Increment();
    request_seconds_.Observe(time);
  }

  std::string render(const Gauges& now) {
    active_runs_.Set(static_cast<double>(now.node.active_runs));
    model_calls_.Set(static_cast<double>(now.node.model_calls));
    connections_.Set(static_cast<double>(now.server.connections_open));
    streams_.Set(static_cast<double>(now.server.streams_open));
    const SandboxStats& sandboxes = now.node.sandboxes;
    sandboxes_alive_.Set(static_cast<double>(sandboxes.alive));
    sandboxes_warm_.Set(static_cast<double>(sandboxes.warm));
    raise_to(sandboxes_started_, static_cast<double>(sandboxes.started));
    raise_to(sandboxes_failed_, static_cast<double>(sandboxes.failed));
    raise_to(sandbox_calls_, static_cast<double>(sandboxes.calls));
    raise_to(memory_deaths_, static_cast<double>(sandboxes.memory_deaths));
    raise_to(sandbox_timeouts_, static_cast<double>(sandboxes.timeouts));
    raise_to(sandboxes_lost_, static_cast<double>(sandboxes.lost));
    raise_to(refused_connections_, static_cast<double>(sandboxes.refused_connections));
    raise_to(refused_syscalls_, static_cast<double>(sandboxes.refused_syscalls));
    journal_bytes_.Set(static_cast<double>(now.journal.bytes_used));
    journal_free_.Set(static_cast<double>(now.journal.bytes_free));
    journal_writable_.Set(now.journal.writable ? 1 : 0);
    raise_to(overflows_, static_cast<double>(now.stream_overflows));
    raise_to(actor_failures_, static_cast<double>(now.node.actor_failures));
    raise_to(transactions_, static_cast<double>(now.node.journal_transactions));
    raise_to(commits_, static_cast<double>(now.node.journal_commits));
    raise_to(refused_, static_cast<double>(now.node.journal_refused));
    raise_to(commit_seconds_, static_cast<double>(now.node.journal_commit_us_sum) / 1e6);
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

 private:
  void count(const std::string& model, const Usage& usage, Usd cost) {
    const auto add = [&](const char* kind, std::int64_t tokens) {
      model_tokens_.Add({{"model", model}, {"kind", kind}}).Increment(static_cast<double>(tokens));
    };
    add("input", usage.input - usage.cached_input - usage.cache_write);
    add("cache_read", usage.cached_input);
    add("cache_write", usage.cache_write);
    add("output", usage.output);
    cost_.Add({{"model", model}}).Increment(dollars(cost));
  }

  Family<Counter>& counters(const char* name, const char* help) {
    return BuildCounter().Name(name).Help(help).Register(registry_);
  }

  Counter& counter(const char* name, const char* help) { return counters(name, help).Add({}); }

  Gauge& gauge(const char* name, const char* help) {
    return BuildGauge().Name(name).Help(help).Register(registry_).Add({});
  }

  Family<Histogram>& histograms(const char* name, const char* help) {
    return BuildHistogram().Name(name).Help(help).Register(registry_);
  }

  prometheus::Registry registry_;

  Counter& runs_started_ = counter("ratchet_runs_started_total", "Runs that were accepted");
  Family<Counter>& runs_ = counters("ratchet_runs_total", "Runs that finished, by stop reason");
  Histogram& run_seconds_ =
      histograms("ratchet_run_duration_seconds", "From start to end of a run, waiting included")
          .Add({}, run_buckets);
  Counter& steps_ = counter("ratchet_steps_total", "Model replies that runs went on with");
  Family<Counter>& model_requests_ =
      counters("ratchet_model_requests_total", "Attempts of model calls, by what became of them");
  Family<Histogram>& model_seconds_ =
      histograms("ratchet_model_request_duration_seconds", "Until a model's reply was whole");
  Family<Histogram>& ttft_seconds_ =
      histograms("ratchet_model_time_to_first_token_seconds", "Until a model's reply began");
  Family<Counter>& model_tokens_ = counters("ratchet_model_tokens_total", "Tokens, as providers report them");
  Family<Counter>& prompt_tokens_ = counters(
      "ratchet_prompt_tokens_total",
      "Estimated tokens of requests: what the request before began with too, and what is new in this one");
  Family<Counter>& compactions_ = counters("ratchet_compactions_total", "Contexts that were compacted");
  Family<Counter>& compacted_tokens_ =
      counters("ratchet_compacted_tokens_total", "Estimated tokens that compactions took out of contexts");
  Family<Counter>& cost_ = counters("ratchet_cost_usd_total", "Dollars charged for model calls");
  Family<Counter>& tool_calls_ = counters("ratchet_tool_calls_total", "Results of tool calls, by status");
  Histogram& tool_seconds_ =
      histograms("ratchet_tool_duration_seconds", "Of tool calls").Add({}, model_buckets);
  Counter& unknown_calls_ = counter("ratchet_unknown_calls_total", "Calls that may or may not have happened");
  Family<Counter>& pauses_ = counters("ratchet_pauses_total", "Runs that began to wait, by what for");
  Counter& approvals_required_ =
      counter("ratchet_approvals_required_total", "Calls that people were asked about");
  Family<Counter>& approvals_decided_ =
      counters("ratchet_approvals_decided_total", "Approvals, by how they ended");
  Family<Counter>& resumes_ = counters("ratchet_resumes_total", "Runs that went on after a pause");

  Family<Counter>& subagents_started_ =
      counters("ratchet_subagents_started_total", "Runs that runs have started, by how far below the root");
  Family<Counter>& subagents_finished_ = counters(
      "ratchet_subagents_finished_total", "Runs below others whose end their parent knows, by stop reason");

  Family<Counter>& hook_calls_ =
      counters("ratchet_hook_calls_total", "Hooks that were asked, by what they answered");
  Family<Histogram>& hook_seconds_ =
      histograms("ratchet_hook_duration_seconds", "Until a hook had answered, or had not");

  Family<Counter>& deliveries_ =
      counters("ratchet_webhook_attempts_total", "Attempts to post webhooks and on_stop hooks, by outcome");
  Histogram& delivery_seconds_ =
      histograms("ratchet_webhook_attempt_duration_seconds", "Of these attempts").Add({}, request_buckets);

  Gauge& sandboxes_alive_ = gauge("ratchet_sandboxes", "Sandboxes that there are");
  Gauge& sandboxes_warm_ = gauge("ratchet_sandboxes_warm", "Of these, started ahead and in nobody's use");
  Counter& sandboxes_started_ = counter("ratchet_sandboxes_started_total", "Sandboxes that were started");
  Counter& sandboxes_failed_ =
      counter("ratchet_sandboxes_failed_total", "Sandboxes that could not be started");
  Counter& sandbox_calls_ = counter("ratchet_sandbox_calls_total", "Commands that ran in a sandbox");
  Counter& memory_deaths_ =
      counter("ratchet_sandbox_memory_deaths_total", "Commands that the kernel ended for memory");
  Counter& sandbox_timeouts_ = counter("ratchet_sandbox_timeouts_total", "Commands whose time was over");
  Counter& sandboxes_lost_ = counter("ratchet_sandboxes_lost_total", "Sandboxes that ended under a command");
  Counter& refused_connections_ =
      counter("ratchet_sandbox_refused_connections_total", "Connections that sandboxes were refused");
  Counter& refused_syscalls_ =
      counter("ratchet_sandbox_refused_syscalls_total", "System calls that sandboxes were refused");

  Family<Counter>& requests_ = counters("ratchet_http_requests_total", "Requests that were answered");
  Histogram& request_seconds_ =
      histograms("ratchet_http_request_duration_seconds", "Until an answer was ready to be written")
          .Add({}, request_buckets);

  Gauge& active_runs_ = gauge("ratchet_runs_active", "Runs that hold an actor");
  Gauge& model_calls_ = gauge("ratchet_model_calls_active", "Model calls under way");
  Gauge& connections_ = gauge("ratchet_http_connections", "Open connections");
  Gauge& streams_ = gauge("ratchet_streams_open", "Open event streams");
  Counter& overflows_ =
      counter("ratchet_stream_overflows_total", "Streams that ended because their reader was too slow");
  Gauge& journal_bytes_ = gauge("ratchet_journal_bytes", "Bytes that the journal takes");
  Gauge& journal_free_ = gauge("ratchet_journal_free_bytes", "Bytes that the journal may still take");
  Gauge& journal_writable_ = gauge("ratchet_journal_writable", "1 while the journal takes appends");
  Counter& transactions_ = counter("ratchet_journal_transactions_total", "Durable transactions");
  Counter& commits_ = counter("ratchet_journal_commits_total", "Commits that they carried");
  Counter& refused_ = counter("ratchet_journal_refused_total", "Commits that were refused");
  Counter& commit_seconds_ =
      counter("ratchet_journal_commit_seconds_total", "Time spent in durable transactions");
  Counter& actor_failures_ = counter("ratchet_actor_failures_total", "Actors that ended by an error");
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}

Metrics::~Metrics() = default;

void Metrics::on_commit(const RunRow& row, std::span<const Event> events) {
  for (const auto& event : events) {
    if (event.replayed) continue;  // it happened in another run
    std::visit([&](const auto& payload) { impl_->on(row, event.at, payload); }, event.payload);
  }
}

void Metrics::on_hook(HookPoint at, HookKind kind, HookOutcome outcome, std::int64_t latency_ms) {
  impl_->on_hook(at, kind, outcome, latency_ms);
}

void Metrics::on_delivery(std::string_view type, DeliveryOutcome outcome, std::int64_t latency_ms) {
  impl_->on_delivery(type, outcome, latency_ms);
}

void Metrics::on_request(std::string_view method, std::string_view route, int status, double seconds) {
  impl_->on_request(method, route, status, seconds);
}

std::string Metrics::render(const Gauges& gauges) {
  return impl_->render(gauges);
}

}  // namespace ratchet
