#pragma once
// The events of a run: everything there is to know about it. Each type names its fields once, with number and
// name: the number stands in the journal (event/codec.hpp), the name on the wire (event/json.hpp). Numbers
// are never reused; a field that is added later is absent from old records and takes its default.

#include <cstdint>
#include <string_view>
#include <variant>

#include "runtime/event/approval_events.hpp"
#include "runtime/event/model_events.hpp"
#include "runtime/event/run_events.hpp"
#include "runtime/event/tool_events.hpp"
#include "runtime/time.hpp"

namespace ratchet {

/// The position in this list, from 1, is the type's number in the journal. The list only grows at its end.
using Payload = std::variant<RunStarted,          // 1, since format 1
                             MessageReceived,     // 2
                             ModelRequested,      // 3
                             ModelCompleted,      // 4
                             ModelFailed,         // 5
                             ToolRequested,       // 6
                             ToolPlanned,         // 7
                             ToolResult,          // 8
                             BudgetWarning,       // 9
                             CallUnknown,         // 10
                             CallResolved,        // 11
                             RunPaused,           // 12
                             RunResumed,          // 13
                             RunCancelRequested,  // 14
                             RunFinished,         // 15
                             ApprovalRequired,    // 16
                             ApprovalReminded,    // 17
                             ApprovalDecided,     // 18
                             UserTokenReceived,   // 19
                             SubagentStarted,     // 20
                             SubagentFinished,    // 21
                             ContextCompacted>;   // 22

struct Event {
  std::uint64_t seq = 0;  ///< 1, 2, 3 … in its run
  Timestamp at;
  std::uint32_t step = 0;  ///< the first model call is step 1; 0 before it
  std::uint32_t lease_version = 0;
  Payload payload;
  bool replayed =
      false;  ///< taken over from the run that is replayed: it counts as a step, and costs nothing

  bool operator==(const Event&) const = default;
};

std::string_view type_name(const Event& event);

}  // namespace ratchet
