#pragma once
// How a run keeps its context within the window. Fixed when the run starts.

#include <cstdint>

#include "runtime/enums.hpp"

namespace ratchet {

/// append_only: nothing is edited until one large compaction. layered: old results shrink first, then go, and
/// what is left is compacted last.
RATCHET_ENUM(ContextStrategy, append_only, layered)

struct ContextSettings {
  ContextStrategy strategy = ContextStrategy::append_only;
  std::uint32_t compact_at_permille = 700;  ///< of the usable window, 100 to 950

  bool operator==(const ContextSettings&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "strategy", self.strategy);
    visit(2, "compact_at_permille", self.compact_at_permille);
  }
};

}  // namespace ratchet
