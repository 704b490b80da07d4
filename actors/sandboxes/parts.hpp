#pragma once
// What the actors around sandboxes share. All of it outlives them.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "actors/timer.hpp"
#include "runtime/log.hpp"
#include "runtime/sandbox/host.hpp"
#include "runtime/sandbox/workspaces.hpp"

namespace ratchet {

/// Counted over the life of the process, but for `alive` and `warm`, which are now.
struct SandboxCounters {
  std::atomic<std::size_t> alive{0}, warm{0};
  std::atomic<std::uint64_t> started{0}, failed{0}, calls{0};
  std::atomic<std::uint64_t> memory_deaths{0}, timeouts{0}, lost{0};
  std::atomic<std::uint64_t> refused_connections{0}, refused_syscalls{0};
};

struct SandboxParts {
  SandboxHost& host;
  Workspaces& workspaces;
  Clock& clock;
  Timer& timer;
  Log log;
  SandboxCounters& counters;
};

/// The tiers that have sandboxes, as indexes.
inline constexpr std::size_t tier_index(std::uint32_t tier) {
  return tier == 3 ? 1 : 0;
}

}  // namespace ratchet
