#pragma once
// Money is an integer count of nano-dollars, never a float: sums are exact in any order.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace ratchet {

struct Usd {
  std::int64_t nano = 0;

  auto operator<=>(const Usd&) const = default;

  Usd operator+(Usd other) const { return {nano + other.nano}; }

  Usd operator-(Usd other) const { return {nano - other.nano}; }

  Usd& operator+=(Usd other) {
    nano += other.nano;
    return *this;
  }

  Usd& operator-=(Usd other) {
    nano -= other.nano;
    return *this;
  }
};

/// A decimal string with at least six and at most nine digits after the point: "0.023100". Nothing is
/// rounded.
std::string to_string(Usd amount);
/// Takes "12", "0.5", "0.000000001"; not negative, at most nine digits after the point, below 1e9 dollars.
/// Errors: invalid_request.
Result<Usd> parse_usd(std::string_view text);

/// The price of `tokens` at `per_million` dollars a million tokens, rounded up to a nano-dollar.
Usd price(std::int64_t tokens, Usd per_million);

}  // namespace ratchet
