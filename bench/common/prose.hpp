#pragma once
// Text that looks and compresses about like what models and tools say, always the same for the same run and
// step.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ratchet::bench {

inline constexpr std::size_t said_bytes = 520;      ///< with the call's arguments about 150 tokens
inline constexpr std::size_t result_bytes = 2'800;  ///< about 700 tokens

/// What the assistant says at a step: words without anything that JSON would escape.
std::string_view said(std::uint64_t run, unsigned step);
/// What the tool finds: lines of records, with line ends.
std::string_view found(std::uint64_t run, unsigned step);

/// Words for a prompt or a task, always the same for the same seed.
std::string filler(unsigned seed, std::size_t bytes);

}  // namespace ratchet::bench
