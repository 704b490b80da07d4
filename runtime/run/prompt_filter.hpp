#pragma once
// Which prompts a run may have sent: a Bloom filter (B. H. Bloom, 1970) in the run's row, so that a prompt is
// found across runs without an index. An index by hash has random keys: each step would write a page of its
// own, four times what a step writes otherwise (bench/README.md).

#include <array>
#include <cstdint>

#include "runtime/hash.hpp"

namespace ratchet {

/// 512 bits, four for each prompt, taken from its hash. "No" is certain. A wrong "yes" comes of a run of 12
/// prompts in one of 16,000 cases, of 100 prompts in one of 12, and nearly always beyond 500.
class PromptFilter {
 public:
  void add(const Hash& prompt);
  /// A filter that nothing was ever added to may have every prompt: it is that of a run of an older build.
  bool may_have(const Hash& prompt) const;

  bool operator==(const PromptFilter&) const = default;

  std::array<std::uint8_t, 64> bits{};  ///< all zero: nothing was added
};

}  // namespace ratchet
