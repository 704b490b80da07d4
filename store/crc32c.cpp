#include "store/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace ratchet {

namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // reflected

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? polynomial : 0);
    table[i] = value;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> table = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::uint32_t crc,
                                                                      std::string_view bytes) {
  std::uint64_t state = ~crc;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    state = _mm_crc32_u64(state, word);
  }
  auto narrow = static_cast<std::uint32_t>(state);
  for (; left > 0; ++at, --left)
    narrow = _mm_crc32_u8(narrow, static_cast<std::uint8_t>(*at));
  return ~narrow;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::uint32_t crc, std::string_view bytes) {
  std::uint32_t state = ~crc;
  for (const char byte : bytes)
    state = state >> 8 ^ table[(state ^ static_cast<std::uint8_t>(byte)) & 0xff];
  return ~state;
}

std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_by_instruction(crc, bytes);
#endif
  return crc32c_by_table(crc, bytes);
}

}  // namespace ratchet
