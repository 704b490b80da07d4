#pragma once
// How much of a model's window a context may fill.

#include <algorithm>
#include <cstdint>

#include "runtime/limits.hpp"
#include "runtime/model/config.hpp"

namespace ratchet {

/// The longest reply that an agent wants from its model.
inline std::int64_t wanted_reply_tokens(const ModelConfig& model, const ModelSettings& settings) {
  const std::int64_t asked = settings.max_output_tokens;
  return asked > 0 ? std::min(asked, model.max_output_tokens) : model.max_output_tokens;
}

/// The window less that reply. Bounds of a context are parts of this.
inline std::int64_t usable_window_tokens(const ModelConfig& model, const ModelSettings& settings) {
  return std::max<std::int64_t>(model.context_window_tokens - wanted_reply_tokens(model, settings), 1);
}

/// The longest hand-over note that is asked for.
inline std::int64_t note_tokens(const ModelConfig& model, const ModelSettings& settings) {
  return std::min({limits::summary_tokens_max,
                   wanted_reply_tokens(model, settings),
                   usable_window_tokens(model, settings) / limits::note_share_divisor});
}

}  // namespace ratchet
