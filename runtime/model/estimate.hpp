#pragma once
// How many tokens some text may be, before a provider has counted it. No tokenizer of a current model is
// public, so bytes are weighed by class and the result is calibrated by what the provider reports. Integers
// only: the estimate is part of what a run decides, and must come out the same everywhere.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ratchet {

/// Weights measured on o200k_base (bytes a token: English 4.5, JSON 2.6, code 2.9, ids 2.1), rounded to the
/// safe side.
std::int64_t estimate_tokens(std::string_view text);

/// The same for text that is not at hand.
std::int64_t estimate_tokens_of_bytes(std::size_t bytes);

/// Moves the ratio of reported to estimated tokens (a thousand: they agree) a quarter of the way to what was
/// just seen. Stays within 250 to 4,000, so that one odd report does not spoil it.
std::uint32_t calibrate(std::uint32_t ratio_permille,
                        std::int64_t calibrated_estimate,
                        std::int64_t reported);

}  // namespace ratchet
