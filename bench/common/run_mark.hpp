#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ratchet::bench {

/// A run is recognised by the mark `#run-` and digits that the load generator puts into the task, and that
/// the mock itself puts into the arguments of its calls.
std::string run_mark(std::uint64_t run);

/// The number of the last mark in `body`.
std::optional<std::uint64_t> find_run(std::string_view body);

/// The number of the first one: whose conversation it is, where its calls name other runs too.
std::optional<std::uint64_t> find_first_run(std::string_view body);

}  // namespace ratchet::bench
