// What a step costs to assemble, by how far the run has grown: it should not matter.

#include "runtime/context/context.hpp"

#include <benchmark/benchmark.h>

#include "bench/micro/workload.hpp"

namespace ratchet::bench {

namespace {

constexpr std::int64_t max_tokens = 512;

/// A context that has gone through `steps` whole steps.
Context grown_context(const std::shared_ptr<const Head>& head,
                      const ProviderConfig& provider,
                      std::uint32_t steps) {
  Context context(head, provider, 0);
  context.apply(run_started());
  for (std::uint32_t step = 1; step <= steps; ++step) {
    context.apply(model_requested(step));
    for (const auto& event : model_replied(step))
      context.apply(event);
    context.apply(tool_replied(step));
  }
  return context;
}

/// Everything that a step does: what would be added, its hashes, folding it in, the request.
void AssembleStep(benchmark::State& state) {
  const auto agent = agent_version();
  const auto model = model_config();
  const auto head = make_head(agent, model, {}, 0);
  const auto steps = static_cast<std::uint32_t>(state.range(0));
  const auto before = grown_context(head, model.providers[0], steps);
  std::vector<Event> reply = model_replied(steps + 1);
  const std::vector<Event> result{tool_replied(steps + 1)};
  for (auto _ : state) {
    state.PauseTiming();
    auto context = before;
    state.ResumeTiming();
    for (const auto& event : reply)
      context.apply(event);
    const auto growth = context.grow(result, "");
    auto proof = context.prove(growth, max_tokens, "");
    for (const auto& event : result)
      context.apply(event);
    context.apply(model_requested(steps + 2));
    auto body = context.render(max_tokens, "");
    benchmark::DoNotOptimize(proof);
    benchmark::DoNotOptimize(body);
  }
  state.counters["context_bytes"] = static_cast<double>(before.bytes());
}

BENCHMARK(AssembleStep)->Arg(1)->Arg(12)->Arg(100);

}  // namespace

}  // namespace ratchet::bench
