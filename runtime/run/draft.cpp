#include "runtime/run/draft.hpp"

#include <algorithm>
#include <limits>

#include "runtime/json/utf8.hpp"
#include "runtime/limits.hpp"

namespace ratchet {

void Draft::emit(Payload payload, std::uint32_t step) {
  RATCHET_ENSURE(!state.finished(), "nothing follows run.finished");
  Event event;
  event.seq = state.last_seq + 1;
  event.at = stamp.at;
  event.step = step ? step : state.step;
  event.lease_version = rules.lease;
  event.payload = std::move(payload);
  apply(state, event);
  decision.events.push_back(std::move(event));
}

Shown shown_of_results(const RunStarted& started) {
  const std::size_t cap = std::size_t{started.result_cap_tokens} * limits::bytes_per_token_shown;
  return {std::min(cap, limits::inline_bytes_max), cap};
}

Shown shown_of_words(const RunStarted& started) {
  Shown shown = shown_of_results(started);
  if (started.rules_version < 2) return shown;
  shown.whole = limits::inline_bytes_max;
  // A run that can start others may leave it to them.
  const bool reads_on = std::ranges::any_of(started.tools, [](const PinnedTool& tool) {
    return tool.name == "artifact_read" || tool.name == "artifact_search" || tool.name == "spawn_agent";
  });
  if (!reads_on) shown.head = std::numeric_limits<std::size_t>::max();
  return shown;
}

std::optional<Blob> spill(Block& block, std::uint32_t n, const Shown& shown, Stamp& stamp) {
  // An image is shown whole or not at all, so it stays in its append.
  if (block.artifact || block.type == BlockType::image) return std::nullopt;
  if (block.text.size() <= shown.whole) return std::nullopt;
  ArtifactRef ref;
  ref.id = ArtifactId::make(stamp);
  ref.n = n;
  ref.bytes = block.text.size();
  ref.sha256 = sha256(block.text);
  ref.head = block.text.substr(0, utf8_cut(block.text, shown.head));
  Blob blob{ref, std::move(block.text)};
  block.text.clear();
  block.artifact = std::move(ref);
  return blob;
}

Content Draft::stored(Content content, const Shown& shown) {
  std::uint32_t n = state.blobs;
  for (Block& block : content) {
    auto blob = spill(block, n + 1, shown, stamp);
    if (!blob) continue;
    ++n;
    decision.blobs.push_back(std::move(*blob));
  }
  return content;
}

}  // namespace ratchet
