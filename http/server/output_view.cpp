#include "http/server/output_view.hpp"

namespace ratchet {

std::optional<ToolOutput> OutputView::shown(const ToolOutput& piece,
                                            const std::shared_ptr<const Redactor>& redactor) {
  if (!redactor) return piece;
  auto at = calls_.find(piece.call_id);
  if (at == calls_.end() || at->second.attempt != piece.attempt)
    at =
        calls_.insert_or_assign(piece.call_id, Call{piece.attempt, 0, false, StreamRedactor(redactor)}).first;
  Call& call = at->second;
  call.broken = call.broken || piece.index != call.seen_bytes;
  if (call.broken) return std::nullopt;
  call.seen_bytes += piece.text.size();
  ToolOutput shown{piece.call_id, piece.attempt, call.redactor.shown_bytes(), {}};
  shown.text = call.redactor.feed(piece.text);
  if (shown.text.empty()) return std::nullopt;
  return shown;
}

}  // namespace ratchet
