#pragma once
// The journal's format of values and events: tagged fields, so that a record of any past version decodes for
// ever.
//
//   value    fields in ascending order of number: varint(number << 2 | kind), then
//            kind 0: varint (integers zigzag, bool, enum, time, money)   kind 1: varint length, bytes
//            (strings, hashes, ids as raw bytes; nested values; lists repeat the field, so an empty list is
//            absent)
//   fields that hold their default are not written; unknown numbers are skipped; an unknown enum is `corrupt`
//   event    varint type number (plus 64: replayed), varint seq, zigzag at, varint step, varint lease, varint
//   length, payload value record   one append: u8 format (1), 32 bytes head before, 16 bytes salt, varint
//   count, events
//
// The audit chain (event/chain.hpp) is over these bytes.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/event/definitions.hpp"

namespace ratchet {

/// What one append holds.
struct Record {
  Hash head_before;  ///< the chain's head before the first event
  std::array<std::uint8_t, 16> salt{};
  std::vector<Event> events;

  bool operator==(const Record&) const = default;
};

std::string encode(const Record& record);
/// Errors: corrupt, with what was met at which byte.
Result<Record> decode_record(std::string_view bytes);

/// The payload alone, as it stands in a record.
std::string encode_payload(const Payload& payload);

/// The head after an encoded record: h(n) = SHA-256(h(n-1) ‖ envelope ‖ SHA-256(salt ‖ payload)), the
/// envelope being type, seq, at, step and lease as encoded. It commits to hashes of content, so that content
/// and salt can be dropped and the chain still verifies. Works on the bytes, so that fields which this
/// version does not know are covered too. Errors: corrupt.
Result<Hash> chain_head(std::string_view record);
Hash chain_head(const Record& record);

}  // namespace ratchet
