#pragma once
// What a replay may execute: the one rule, asked where calls are decided and again where they are executed.

#include <string_view>

#include "runtime/replay/origin.hpp"
#include "runtime/tools/manifest.hpp"

namespace ratchet {

struct ReplayRule {
  ReplayTools tools = ReplayTools::recorded;
  bool environment = false;  ///< the server is there for replays only (`replay_environment`)
};

/// Tools that read or change nothing but the run itself and its record: they are part of every replay, as the
/// context is.
bool is_own_tool(std::string_view tool);

/// recorded: nothing but the run's own tools. live: what has no side effects, and `internal` where the server
/// is there for it. `external` never.
bool may_execute(const ReplayRule& rule, const ToolManifest& tool);

}  // namespace ratchet
