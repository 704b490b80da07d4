#pragma once
// How one execution of a tool call ended, and what an answer over HTTP means.

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/hash.hpp"
#include "runtime/sandbox/command.hpp"
#include "runtime/tools/connector.hpp"
#include "runtime/tools/manifest.hpp"

namespace ratchet {

/// ended: `status` and `text` are its result.   unknown: it may have had its effect, `text` says why nobody
/// knows. did_not_happen: a status check says that the call never took place. needs_user: nothing was sent,
/// because the user's token has expired.
struct CallEnd {
  enum class Kind { ended, unknown, did_not_happen, needs_user } kind = Kind::ended;
  ToolStatus status = ToolStatus::ok;
  std::string text;  ///< UTF-8
  std::int64_t latency_ms = 0;
  std::string sandbox = {};                      ///< in which it ran; empty: in none
  std::optional<Hash> workspace = std::nullopt;  ///< the snapshot after it, where it may have changed files
  SandboxEvidence evidence = {};
};

/// Reads the outcome of a connector's request by the tool's class. A time-out or a reset after the request
/// may have left is a plain error only where nothing can have happened; so are 502 and 504, by which a
/// gateway says that it does not know (RFC 9110 §15.6.3, §15.6.5).
CallEnd interpret(const ToolManifest& tool, Execution execution, const ConnectorOutcome& outcome);

}  // namespace ratchet
