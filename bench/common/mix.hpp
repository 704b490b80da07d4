#pragma once
// The mixed workload: which runs do what beside the plain one, by their number. Mock and load generator go by
// the same rule, so neither has to be told what the other did.

#include <cstdint>
#include <optional>

namespace ratchet::bench {

enum class Special { sandbox, child, approval };

/// Sub-agents are numbered above this: each like the run that started it.
constexpr std::uint64_t first_child = 1'000'000'000;
constexpr unsigned child_steps = 3;

/// What the reply of this step calls instead of the workload's tool: of ten runs three use a sandbox and one
/// a sub-agent, of twenty one needs a person.
inline std::optional<Special> special_call(std::uint64_t run, unsigned step) {
  if (run >= first_child) return std::nullopt;
  if (step == 2 && run % 10 < 3) return Special::sandbox;
  if (step == 3 && run % 10 == 4) return Special::child;
  if (step == 4 && run % 20 == 7) return Special::approval;
  return std::nullopt;
}

}  // namespace ratchet::bench
