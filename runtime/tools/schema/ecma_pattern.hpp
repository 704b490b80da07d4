#pragma once
// Patterns of JSON Schema are written in the dialect of ECMA-262. RE2 reads a similar one: what the two read
// differently is rewritten, and what RE2 cannot say is refused. For .cpp files only.

#include <memory>
#include <string>
#include <string_view>

#include <re2/re2.h>

#include "runtime/result.hpp"

namespace ratchet::schema {

struct Pattern {
  std::string text;  ///< as it was written
  std::unique_ptr<re2::RE2> program;

  /// Whether a match begins anywhere in `subject`. Linear in it.
  bool matches(std::string_view subject) const;
  /// What a match of `bytes` may cost, in steps of the check.
  std::size_t steps(std::size_t bytes) const;
};

/// At most limits::pattern_bytes_max, compiled at most limits::pattern_memory_max. Case-sensitive, in code
/// points (ECMA-262 with the flag u). Errors: not_supported, with what is not taken: look-around,
/// back-references, escapes that ECMA-262 does not have, anything above the limits.
Result<Pattern> compile_ecma_pattern(std::string_view text);

}  // namespace ratchet::schema
