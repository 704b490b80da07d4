#pragma once
// The built-in tool `spawn_agent`: what a model may ask for. Who may start whom, and with how much, is
// decided in runtime/run/decide_children.cpp.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/money.hpp"
#include "runtime/result.hpp"

namespace ratchet {

struct SpawnArgs {
  std::string agent_id;
  std::string input;
  std::optional<std::int64_t> max_steps, max_tokens, max_seconds;
  std::optional<Usd> max_usd;
};

/// Errors: invalid_request, worded for the model.
Result<SpawnArgs> parse_spawn(std::string_view args_json);

}  // namespace ratchet
