#include "runtime/run/prompt_filter.hpp"

namespace ratchet {

namespace {

/// The hash is uniform already: two of its bytes are as good as another hash.
std::array<std::size_t, 4> bits_of(const Hash& prompt) {
  std::array<std::size_t, 4> bits{};
  for (std::size_t i = 0; i < bits.size(); ++i)
    bits[i] = (prompt.bytes[2 * i] * 256u + prompt.bytes[2 * i + 1]) % (sizeof(PromptFilter) * 8);
  return bits;
}

}  // namespace

void PromptFilter::add(const Hash& prompt) {
  for (const std::size_t bit : bits_of(prompt))
    bits[bit / 8] = static_cast<std::uint8_t>(bits[bit / 8] | 1u << bit % 8);
}

bool PromptFilter::may_have(const Hash& prompt) const {
  if (*this == PromptFilter{}) return true;
  for (const std::size_t bit : bits_of(prompt))
    if ((bits[bit / 8] >> bit % 8 & 1u) == 0) return false;
  return true;
}

}  // namespace ratchet
