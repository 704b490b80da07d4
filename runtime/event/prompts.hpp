#pragma once
// Which prompts events announce: what a search for a prompt finds.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/event/definitions.hpp"

namespace ratchet {

/// A prompt that was sent at a step.
struct SentPrompt {
  Hash prompt_hash;
  std::uint32_t step = 0;

  bool operator==(const SentPrompt&) const = default;
};

/// Of these events, in order, a prompt of a step once however often it was tried. What a replay has taken
/// over it did not send.
std::vector<SentPrompt> prompts_of(std::span<const Event> events);

}  // namespace ratchet
