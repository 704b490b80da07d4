#pragma once
// Two runs side by side, step by step: where they part, and what differs from there on. Steps are aligned by
// their number. A request is the same where its prompt is (late text, such as the time, is not compared), a
// reply where it says the same and makes the same calls, a call where its arguments, its status and what it
// returned are the same.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/replay/steps.hpp"

namespace ratchet {

/// One step of both runs. A run that has no such step has none.
struct StepPair {
  std::uint32_t step = 0;
  const RunStep* run = nullptr;
  const RunStep* against = nullptr;
  bool same_request = false, same_reply = false, same_calls = false;

  bool same() const { return same_request && same_reply && same_calls; }
};

struct RunDiff {
  std::vector<StepPair> steps;
  std::optional<std::uint32_t> first_divergent_step;  ///< none: there is no difference
};

/// The result refers to the steps that were given.
RunDiff compare(std::span<const RunStep> run, std::span<const RunStep> against);

bool same_call(const StepCall& run, const StepCall& against);

}  // namespace ratchet
