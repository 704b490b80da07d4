// What hiding secrets costs for the JSON of an event: with nothing to hide, which is the rule, and with one.

#include <string>

#include <benchmark/benchmark.h>

#include "bench/micro/workload.hpp"
#include "runtime/event/json.hpp"
#include "runtime/redact/redactor.hpp"
#include "runtime/redact/stream_redactor.hpp"

namespace ratchet::bench {

namespace {

std::string step_json() {
  std::string json = "[";
  for (const Event& event : model_replied(3)) {
    if (json.size() > 1) json += ',';
    write_json(event, json);
  }
  json += ',';
  write_json(tool_replied(3), json);
  return json + ']';
}

void measure(benchmark::State& state, const std::string& json) {
  const auto redactor = Redactor::standard();
  for (auto _ : state) {
    auto shown = redactor->json(json);
    benchmark::DoNotOptimize(shown);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(json.size()) * state.iterations());
  state.counters["bytes"] = static_cast<double>(json.size());
}

void RedactNothing(benchmark::State& state) {
  measure(state, step_json());
}

void RedactOne(benchmark::State& state) {
  auto json = step_json();
  json.back() = ',';
  measure(state, json + R"({"text":"the password: hunter2hunter2"}])");
}

/// A reply of 4 KiB in pieces of 16 bytes.
void RedactPreview(benchmark::State& state) {
  std::string text;
  while (text.size() < 4'096)
    text += "It is what it is, and a little more. ";
  for (auto _ : state) {
    StreamRedactor stream(Redactor::standard());
    for (std::size_t at = 0; at < text.size(); at += 16) {
      auto shown = stream.feed(std::string_view(text).substr(at, 16));
      benchmark::DoNotOptimize(shown);
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}

BENCHMARK(RedactNothing);
BENCHMARK(RedactOne);
BENCHMARK(RedactPreview);

}  // namespace

}  // namespace ratchet::bench
