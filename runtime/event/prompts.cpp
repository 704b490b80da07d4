#include "runtime/event/prompts.hpp"

namespace ratchet {

std::vector<SentPrompt> prompts_of(std::span<const Event> events) {
  std::vector<SentPrompt> prompts;
  for (const Event& event : events) {
    const auto* requested = std::get_if<ModelRequested>(&event.payload);
    if (!requested || event.replayed) continue;
    const SentPrompt sent{requested->prompt_hash, event.step};
    if (prompts.empty() || !(prompts.back() == sent)) prompts.push_back(sent);
  }
  return prompts;
}

}  // namespace ratchet
