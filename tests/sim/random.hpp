#pragma once
// Everything that is left to chance in a simulation comes from one generator, so that a seed says it all.
// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).

#include <array>
#include <cstdint>
#include <span>

namespace ratchet::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// 0 to `bound` - 1.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

  /// Both ends are possible.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }

  bool chance(std::uint64_t permille) { return below(1'000) < permille; }

  template <class T, std::size_t size>
  const T& pick(const T (&choices)[size]) {
    return choices[below(size)];
  }

  template <class Container>
  auto& pick(Container& choices) {
    return choices[below(choices.size())];
  }

  std::array<std::uint8_t, 16> bytes() {
    std::array<std::uint8_t, 16> drawn;
    for (std::uint8_t& byte : drawn)
      byte = static_cast<std::uint8_t>(next());
    return drawn;
  }

 private:
  std::uint64_t state_;
};

}  // namespace ratchet::sim
