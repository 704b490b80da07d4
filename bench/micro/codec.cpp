// What a step costs to encode, to chain and to decode.

#include "runtime/event/codec.hpp"

#include <benchmark/benchmark.h>

#include "bench/micro/workload.hpp"
#include "runtime/event/json.hpp"

namespace ratchet::bench {

namespace {

/// Both appends of a step in one record.
Record step_record() {
  Record record;
  record.events = model_replied(3);
  record.events.push_back(tool_replied(3));
  record.events.push_back(model_requested(4));
  return record;
}

void EncodeStep(benchmark::State& state) {
  const auto record = step_record();
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto encoded = encode(record);
    bytes = encoded.size();
    benchmark::DoNotOptimize(encoded.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
  state.counters["bytes"] = static_cast<double>(bytes);
}

void DecodeStep(benchmark::State& state) {
  const auto bytes = encode(step_record());
  for (auto _ : state) {
    auto record = decode_record(bytes);
    if (!record) state.SkipWithError("the record does not decode");
    benchmark::DoNotOptimize(record);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes.size()) * state.iterations());
}

void ChainStep(benchmark::State& state) {
  const auto record = step_record();
  for (auto _ : state) {
    auto head = chain_head(record);
    benchmark::DoNotOptimize(head);
  }
}

void ShowStepAsJson(benchmark::State& state) {
  const auto record = step_record();
  std::string out;
  for (auto _ : state) {
    out.clear();
    for (const auto& event : record.events)
      write_json(event, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(out.size()) * state.iterations());
}

BENCHMARK(EncodeStep);
BENCHMARK(DecodeStep);
BENCHMARK(ChainStep);
BENCHMARK(ShowStepAsJson);

}  // namespace

}  // namespace ratchet::bench
