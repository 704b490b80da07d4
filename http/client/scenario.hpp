#pragma once
// Scenario files: what a scripted model says, step by step. docs/scenarios.md is the reference. A file is
// read once and never changes; what is said follows from the request alone, so that a run goes on with it
// after a crash as if nothing had happened.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/client.hpp"
#include "runtime/result.hpp"

namespace ratchet {

struct ScenarioCall {
  std::string tool;
  std::string args;  ///< canonical JSON; its strings may hold placeholders
};

struct ScenarioFault {
  std::uint32_t times = 0;  ///< how many attempts of the step fail; 0: none
  ModelFailure failure;
  std::uint32_t after_chunks = 0;  ///< of the reply, sent before it fails
};

struct ScenarioStep {
  std::string say;
  std::vector<ScenarioCall> calls;
  std::optional<Usage> usage;
  std::int64_t latency_ms = 0;
  std::uint32_t chunks = 1;
  ScenarioFault fault;
};

struct Scenario {
  std::string name;
  std::string input_contains;  ///< empty: matches every input
  std::string note;            ///< what a compaction is answered with; empty: a short one is made up
  std::vector<ScenarioStep> steps;
};

/// In the order of the file: the first that matches is played.
struct ScenarioFile {
  std::vector<Scenario> scenarios;
};

/// Errors: invalid_yaml, unknown_field, invalid_definition, each with line and column in front of the text.
Result<ScenarioFile> parse_scenarios(std::string_view yaml);
/// Errors: the same, with the path in front; not_found; too_large.
Result<ScenarioFile> load_scenarios(const std::string& path);

/// What is said to one request.
struct ScenarioReply {
  std::vector<std::string> chunks;  ///< of the reply's text, to be shown evenly over the latency
  std::int64_t latency_ms = 0;
  std::variant<ModelReply, ModelFailure> value;
};

/// Follows from the file, the step, the attempt and the body of the call only. A placeholder that the request
/// does not fill is a failure of class `rejected`.
ScenarioReply play(const ScenarioFile& file, const ModelCall& call);

}  // namespace ratchet
