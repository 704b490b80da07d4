#include "bench/load/fleet.hpp"

#include <charconv>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "bench/common/prose.hpp"
#include "bench/common/run_mark.hpp"
#include "bench/load/json.hpp"

namespace ratchet::bench {

namespace {

constexpr std::size_t bytes_per_token = 4;
constexpr std::int64_t retry_ns = 100'000'000;
constexpr std::int64_t ramp_tick_ns = 5'000'000;
constexpr std::string_view event_stream = "text/event-stream";
constexpr auto final_answer = "final_answer";

}  // namespace

Fleet::Fleet(Testbed& testbed, FleetOptions options)
    : testbed_(testbed),
      options_(options),
      task_(filler(11, testbed.options().task_tokens * bytes_per_token)),
      nonce_(fmt::format("{:x}", now_ns())) {}

void Fleet::start() {
  started_ns_ = now_ns();
  if (options_.watch == Watch::mock) ask_mock();
  fill();
}

bool Fleet::within_ramp() const {
  if (options_.ramp_ms == 0) return true;
  const auto passed_ms = (now_ns() - started_ns_) / 1'000'000;
  return runs_.size() * static_cast<std::uint64_t>(options_.ramp_ms) <=
         options_.concurrency * static_cast<std::uint64_t>(passed_ms);
}

void Fleet::fill() {
  while (launching_ && in_flight_ < options_.concurrency && posting_ < options_.posts_max &&
         (options_.runs_max == 0 || runs_.size() < options_.runs_max)) {
    if (runs_.size() < options_.concurrency && !within_ramp()) return fill_later();
    launch();
  }
}

void Fleet::fill_later() {
  if (std::exchange(fill_is_set_, true)) return;
  testbed_.loop().call_at(now_ns() + ramp_tick_ns, [this] {
    fill_is_set_ = false;
    fill();
  });
}

void Fleet::launch() {
  runs_.push_back({.launched_ns = now_ns()});
  ++in_flight_;
  post(runs_.size() - 1);
}

void Fleet::post(std::uint64_t run) {
  ++posting_;
  testbed_.server().send(
      {.method = "POST",
       .target = "/v1/runs",
       .body = fmt::format(
           R"({{"agent_id":"bench","input":"{} {}","user_token":"dev:bench","idempotency_key":"{}-{}"}})",
           run_mark(run),
           task_,
           nonce_,
           run)},
      [this, run](const HttpReply& reply) {
        --posting_;
        on_accepted(run, reply);
        fill();
      });
}

void Fleet::on_accepted(std::uint64_t run, const HttpReply& reply) {
  if (reply.status == 0 && !testbed_.server_alive()) throw std::runtime_error("the server has ended");
  const auto run_id = text_at(reply.body, "/run_id");
  if ((reply.status != 202 && reply.status != 200) || !run_id) {
    const auto code = text_at(reply.body, "/code").value_or("no answer");
    ++troubles_[fmt::format("POST /v1/runs: {} {}", reply.status, code)];
    testbed_.loop().call_at(now_ns() + retry_ns, [this, run] { post(run); });
    return;
  }
  ++accepted_;
  runs_[run].accepted = true;
  accept_times_.record(now_ns() - runs_[run].launched_ns);
  if (options_.watch == Watch::stream) follow_end(run, *run_id);
  if (options_.watch == Watch::all) follow_all(run, *run_id);
  if (options_.watch == Watch::mock && runs_[run].answered) on_end(run, final_answer);
}

void Fleet::follow_end(std::uint64_t run, const std::string& run_id) {
  testbed_.server().send(
      {.target = fmt::format("/v1/runs/{}/events?types=run.finished", run_id), .accept = event_stream},
      [this, run, run_id](const HttpReply& reply) {
        EventReader reader;
        reader.read(reply.body);
        if (reader.finished()) return on_end(run, reader.stop_reason());
        ++troubles_[fmt::format("stream ended early: {} {}", reply.status, reply.whole ? "whole" : "cut")];
        testbed_.loop().call_at(now_ns() + retry_ns, [this, run, run_id] { follow_end(run, run_id); });
      });
}

void Fleet::follow_all(std::uint64_t run, const std::string& run_id) {
  readers_.push_back(std::make_unique<EventReader>());
  auto* reader = readers_.back().get();
  const bool stalled = run * options_.stalled_percent % 100 + options_.stalled_percent > 99;
  testbed_.server().follow(
      {.target = fmt::format("/v1/runs/{}/events", run_id), .accept = event_stream},
      stalled,
      [reader](std::string_view bytes) { reader->read(bytes); },
      [this, run, reader, stalled](const HttpReply&) {
        if (reader->finished()) return on_end(run, reader->stop_reason());
        if (!stalled) return on_end(run, "stream ended early");
        ++stalled_closed_;
        on_end(run, final_answer);
      });
}

void Fleet::ask_mock() {
  testbed_.mock().send({.target = fmt::format("/finished?after={}", answers_seen_)},
                       [this](const HttpReply& reply) {
                         if (reply.status != 200) throw std::runtime_error("the mock has ended");
                         const char* at = reply.body.data();
                         const char* end = at + reply.body.size();
                         for (std::uint64_t run = 0; at < end; ++at) {
                           at = std::from_chars(at, end, run).ptr;
                           ++answers_seen_;
                           if (run >= runs_.size()) continue;
                           runs_[run].answered = true;
                           if (runs_[run].accepted) on_end(run, final_answer);
                         }
                         ask_mock();
                       });
}

void Fleet::on_end(std::uint64_t run, const std::string& stop_reason) {
  if (std::exchange(runs_[run].ended, true)) return;  // the mock may see a final answer twice
  --in_flight_;
  ++ended_;
  run_times_.record(now_ns() - runs_[run].launched_ns);
  if (stop_reason != final_answer) ++troubles_[stop_reason];
  fill();
}

}  // namespace ratchet::bench
