#include "runtime/run/prompt_filter.hpp"

#include <array>

namespace ratchet {

namespace {

constexpr std::size_t filter_bytes = 64;

/// The hash is uniform already: two of its bytes are as good as another hash.
std::array<std::size_t, 4> bits_of(const Hash& prompt) {
  std::array<std::size_t, 4> bits{};
  for (std::size_t i = 0; i < bits.size(); ++i)
    bits[i] = (prompt.bytes[2 * i] * 256u + prompt.bytes[2 * i + 1]) % (filter_bytes * 8);
  return bits;
}

}  // namespace

void PromptFilter::add(const Hash& prompt) {
  bits.resize(filter_bytes);
  for (const std::size_t bit : bits_of(prompt))
    bits[bit / 8] = static_cast<char>(bits[bit / 8] | 1 << bit % 8);
}

bool PromptFilter::may_have(const Hash& prompt) const {
  if (bits.size() != filter_bytes) return true;
  for (const std::size_t bit : bits_of(prompt))
    if ((bits[bit / 8] >> bit % 8 & 1) == 0) return false;
  return true;
}

}  // namespace ratchet
