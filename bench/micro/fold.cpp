// What an event costs to read and to fold, by how long its run is: it should not matter.

#include <benchmark/benchmark.h>

#include "bench/micro/workload.hpp"
#include "runtime/context/context.hpp"
#include "runtime/event/codec.hpp"
#include "runtime/run/state.hpp"

namespace ratchet::bench {

namespace {

/// The records of a run of so many steps, as its appends wrote them.
std::vector<std::string> recorded(std::uint32_t steps) {
  std::vector<std::string> records;
  std::uint64_t seq = 0;
  const auto add = [&](std::vector<Event> events) {
    for (Event& event : events)
      event.seq = ++seq;
    Record record;
    record.events = std::move(events);
    records.push_back(encode(record));
  };
  add({run_started()});
  add({model_requested(1)});
  for (std::uint32_t step = 1; step <= steps; ++step) {
    add(model_replied(step));
    add({tool_replied(step), model_requested(step + 1)});
  }
  return records;
}

void FoldEvent(benchmark::State& state) {
  const auto agent = agent_version();
  const auto model = model_config();
  const auto head = make_head(agent, model, {}, 0);
  const auto records = recorded(static_cast<std::uint32_t>(state.range(0)));
  std::int64_t events = 0;
  for (auto _ : state) {
    RunState folded;
    Context context(head, model.providers[0], 0);
    for (const std::string& bytes : records) {
      const auto record = decode_record(bytes);
      if (!record) return state.SkipWithError("a record does not decode");
      for (const Event& event : record->events) {
        apply(folded, event);
        context.apply(event);
        ++events;
      }
    }
    benchmark::DoNotOptimize(folded);
    benchmark::DoNotOptimize(context);
  }
  state.SetItemsProcessed(events);
}

BENCHMARK(FoldEvent)->Arg(10)->Arg(100)->Arg(1'000)->Unit(benchmark::kMicrosecond);

}  // namespace

}  // namespace ratchet::bench
