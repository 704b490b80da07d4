#pragma once
// CRC-32C (Castagnoli; RFC 3720 appendix B.4): the checksum of every stored value. LMDB has none of its own
// and returns damaged pages as if they were whole.

#include <cstdint>
#include <string_view>

namespace ratchet {

/// Continues `crc`, the checksum of what came before; 0 to begin.
std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes);

/// The same by table, for machines without the instruction. For tests.
std::uint32_t crc32c_by_table(std::uint32_t crc, std::string_view bytes);

}  // namespace ratchet
