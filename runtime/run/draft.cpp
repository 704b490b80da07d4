#include "runtime/run/draft.hpp"

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

std::optional<Blob> spill(Block& block, std::uint32_t n, std::size_t shown_bytes, Stamp& stamp) {
  // An image is shown whole or not at all, so it stays in its append.
  if (block.artifact || block.type == BlockType::image) return std::nullopt;
  if (block.text.size() <= std::min(shown_bytes, limits::inline_bytes_max)) return std::nullopt;
  ArtifactRef ref;
  ref.id = ArtifactId::make(stamp);
  ref.n = n;
  ref.bytes = block.text.size();
  ref.sha256 = sha256(block.text);
  ref.head = block.text.substr(0, utf8_cut(block.text, shown_bytes));
  Blob blob{ref, std::move(block.text)};
  block.text.clear();
  block.artifact = std::move(ref);
  return blob;
}

Content Draft::stored(Content content, std::size_t shown_bytes) {
  std::uint32_t n = state.blobs;
  for (Block& block : content) {
    auto blob = spill(block, n + 1, shown_bytes, stamp);
    if (!blob) continue;
    ++n;
    decision.blobs.push_back(std::move(*blob));
  }
  return content;
}

}  // namespace ratchet
