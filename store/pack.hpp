#pragma once
// Records on their way to the disk: one byte that tells the form (0 as it is, 1 a zstd frame), then the
// bytes. Packing happens in the actors, so that the one writer thread only copies.

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace ratchet {

/// Compresses where it saves a sixteenth or more. A `RecordPacker`. Called from any thread; each keeps a
/// context of its own, a few hundred kilobytes.
std::string pack_record(std::string_view record);

/// How long the record is once unpacked, from its head alone. Errors: corrupt, also if it is above
/// limits::record_bytes_max.
Result<std::size_t> unpacked_size(std::string_view packed);

/// Errors: corrupt. Never allocates more than limits::record_bytes_max.
Result<std::string> unpack_record(std::string_view packed);

}  // namespace ratchet
