#pragma once
// A run step by step, gathered from its events: what was asked of the model, what it answered, and what came
// of the calls it made. What lists, comparisons and inspection show.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/event/definitions.hpp"

namespace ratchet {

struct StepCall {
  ToolRequested requested;
  std::optional<ToolStatus> status;  ///< none: it has no result yet
  ResultSource source = ResultSource::execution;
  std::int64_t latency_ms = 0;
  Hash result;  ///< of what the result says, wherever that is kept
};

struct RunStep {
  std::uint32_t step = 0;
  std::uint32_t attempts = 0;
  std::uint32_t provider = 0;
  bool replayed = false;  ///< taken over from the run that is replayed
  Hash prompt_hash, request_hash;
  std::optional<ModelCompleted> reply;
  Usage usage;   ///< of all attempts; none, if it was taken over
  Usd cost_usd;  ///< likewise
  std::vector<StepCall> calls;
};

/// Gathers events into steps. All events of a run are given, in order.
class RunSteps {
 public:
  void add(const Event& event);

  /// In order; a step whose model call was announced is there.
  const std::vector<RunStep>& all() const { return steps_; }

  const ModelConfig& model() const { return model_; }

 private:
  class Fold;

  ModelConfig model_;
  std::vector<RunStep> steps_;
  std::map<std::string, std::pair<std::size_t, std::size_t>> calls_;  ///< where each call stands
};

/// Tells results apart by what they say: whether a text is kept as an artifact makes no difference.
Hash said_hash(const Content& content);

}  // namespace ratchet
