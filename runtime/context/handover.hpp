#pragma once
// The words of a compaction: what a model is asked, and what stands in the context afterwards in the place of
// what was said before. They are part of journaled prompts: once released, they stay as they are.

#include <string>
#include <string_view>

namespace ratchet {

/// What a hand-over note is asked for with. `again`: the last reply was none.
std::string note_request(bool again);

/// The message that takes the place of what `note` is about. `record`: what the journal itself says, which
/// does not depend on what a model remembered (`Carried`).
std::string hand_over_message(std::string_view note, std::string_view record);

}  // namespace ratchet
