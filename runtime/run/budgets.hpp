#pragma once
// The four bounds of a run. All are integers, all are hard: used + reserved never passes a limit (invariant
// 5).

#include <cstdint>

#include "runtime/money.hpp"

namespace ratchet {

struct Budgets {
  std::int64_t max_steps = 30;
  std::int64_t max_tokens = 200'000;
  std::int64_t max_seconds = 600;
  Usd max_usd{1'000'000'000};

  bool operator==(const Budgets&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "max_steps", self.max_steps);
    visit(2, "max_tokens", self.max_tokens);
    visit(3, "max_seconds", self.max_seconds);
    visit(4, "max_usd", self.max_usd);
  }
};

/// Tokens and money, held or spent.
struct Amount {
  std::int64_t tokens = 0;
  Usd usd;

  bool operator==(const Amount&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "tokens", self.tokens);
    visit(2, "usd", self.usd);
  }
};

/// A part of what a run may use, given to a sub-agent or used by one.
struct Share {
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  Usd usd;

  bool operator==(const Share&) const = default;

  Share& operator+=(const Share& more) {
    steps += more.steps;
    tokens += more.tokens;
    usd += more.usd;
    return *this;
  }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "steps", self.steps);
    visit(2, "tokens", self.tokens);
    visit(3, "usd", self.usd);
  }
};

}  // namespace ratchet
