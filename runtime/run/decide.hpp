#pragma once
// What happens next: `decide` looks at the state and an input and says which events follow from them. It
// changes nothing, reads no clock and draws no randomness; the same values give the same events.

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/context/context.hpp"
#include "runtime/journal.hpp"
#include "runtime/replay/answers.hpp"
#include "runtime/run/inputs.hpp"
#include "runtime/run/state.hpp"
#include "runtime/tools/book.hpp"

namespace ratchet {

/// What a run goes by besides its events: the version it was started with, and the lease it is held under.
struct Rules {
  const ToolBook& tools;
  std::uint32_t lease = 1;
  bool hold = false;                      ///< the node is being drained: no further model call is announced
  bool decision_point = false;            ///< the server asks one about every call
  const ReplayAnswers* replay = nullptr;  ///< of a run that replays another one
};

/// A run that begins with a decision of its parent, in the same append.
struct ChildStart {
  RunId run_id;
  RunStarted started;
};

struct Decided {
  std::vector<Event> events;         ///< may be none: the input was late, or repeated
  std::vector<Blob> blobs;           ///< of artifacts that the events refer to
  std::vector<ChildStart> children;  ///< that the events start
  RunState after;                    ///< the state with these events folded
  std::uint64_t accepted_seq = 0;    ///< of a command: the event that says so, now or earlier
};

/// Errors, of commands only: run_finished, unknown_call, not_paused, already_resolved, idempotency_conflict,
/// too_many_requests; of decisions unknown_approval, already_decided, expired, args_changed,
/// edited_args_refused, approval_refused.
Result<Decided> decide(
    const Rules& rules, const RunState& state, const Context& context, const Input& input, Stamp stamp);

/// For a run that fails whenever it is taken up: its pause, made from the row alone, because folding may be
/// what fails.
Event poison_pause(const RunRow& row, std::string error, Timestamp at);

}  // namespace ratchet
