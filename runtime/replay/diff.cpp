#include "runtime/replay/diff.hpp"

#include <algorithm>

namespace ratchet {

namespace {

/// What a reply says and does, without what only its provider can read, and without names that we gave.
bool same_block(const ReplyBlock& a, const ReplyBlock& b) {
  return a.type == b.type && a.text == b.text && a.tool == b.tool && a.args == b.args;
}

std::vector<const ReplyBlock*> spoken(const ModelCompleted& reply) {
  std::vector<const ReplyBlock*> blocks;
  for (const ReplyBlock& block : reply.content)
    if (block.type != ReplyBlockType::reasoning) blocks.push_back(&block);
  return blocks;
}

bool same_reply(const std::optional<ModelCompleted>& run, const std::optional<ModelCompleted>& against) {
  if (!run || !against) return !run && !against;
  const auto ours = spoken(*run), theirs = spoken(*against);
  return run->stop_reason == against->stop_reason &&
         std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(), [](const auto* a, const auto* b) {
           return same_block(*a, *b);
         });
}

const RunStep* find(std::span<const RunStep> steps, std::uint32_t number) {
  const auto at = std::lower_bound(
      steps.begin(), steps.end(), number, [](const RunStep& step, std::uint32_t n) { return step.step < n; });
  return at != steps.end() && at->step == number ? &*at : nullptr;
}

StepPair pair_of(std::uint32_t number, const RunStep* run, const RunStep* against) {
  StepPair pair{number, run, against};
  if (!run || !against) return pair;
  pair.same_request = run->prompt_hash == against->prompt_hash;
  pair.same_reply = same_reply(run->reply, against->reply);
  pair.same_calls = std::equal(
      run->calls.begin(), run->calls.end(), against->calls.begin(), against->calls.end(), same_call);
  return pair;
}

}  // namespace

bool same_call(const StepCall& run, const StepCall& against) {
  return run.requested.tool == against.requested.tool &&
         run.requested.args_hash == against.requested.args_hash && run.status == against.status &&
         run.result == against.result;
}

RunDiff compare(std::span<const RunStep> run, std::span<const RunStep> against) {
  RunDiff diff;
  const std::uint32_t last =
      std::max(run.empty() ? 0 : run.back().step, against.empty() ? 0 : against.back().step);
  for (std::uint32_t number = 1; number <= last; ++number) {
    const StepPair pair = pair_of(number, find(run, number), find(against, number));
    if (!pair.run && !pair.against) continue;
    if (!pair.same() && !diff.first_divergent_step) diff.first_divergent_step = number;
    diff.steps.push_back(pair);
  }
  return diff;
}

}  // namespace ratchet
