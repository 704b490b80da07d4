#include "runtime/model/estimate.hpp"

#include <algorithm>
#include <array>

namespace ratchet {

namespace {

/// Thousandths of a token for each byte.
constexpr std::array<std::uint16_t, 256> weights = [] {
  std::array<std::uint16_t, 256> table{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == ' ';
    table[byte] = letter ? 260 : byte >= 0x80 ? 350 : 500;
  }
  return table;
}();

}  // namespace

std::int64_t estimate_tokens(std::string_view text) {
  std::uint64_t thousandths = 0;
  for (const char c : text)
    thousandths += weights[static_cast<std::uint8_t>(c)];
  return static_cast<std::int64_t>((thousandths + 999) / 1'000);
}

std::int64_t estimate_tokens_of_bytes(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + 2) / 3);
}

std::uint32_t calibrate(std::uint32_t ratio_permille,
                        std::int64_t calibrated_estimate,
                        std::int64_t reported) {
  if (calibrated_estimate <= 0 || reported <= 0) return ratio_permille;
  // Both sides are of the same request, so the estimate without calibration drops out.
  const std::int64_t seen =
      std::clamp<std::int64_t>(ratio_permille * reported / calibrated_estimate, 250, 4'000);
  return static_cast<std::uint32_t>(ratio_permille + (seen - ratio_permille) / 4);
}

}  // namespace ratchet
