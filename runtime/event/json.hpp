#pragma once
// Events as the API shows them: `{seq, type, at, step, …payload}`. Reasoning is left out, text that is kept
// beside the journal stands as `{artifact_id, bytes, head}`.

#include <string>

#include "runtime/event/definitions.hpp"

namespace ratchet {

/// Appends the event as one JSON object. `run_id` is written where it is given (events of descendants).
void write_json(const Event& event, std::string& out, const RunId* run_id = nullptr);
std::string to_json(const Event& event);

}  // namespace ratchet
