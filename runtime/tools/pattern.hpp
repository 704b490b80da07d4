#pragma once
// Regular expressions of strangers: RE2, linear in the text, with bounded memory. For .cpp files only.

#include <memory>
#include <string>
#include <string_view>

#include <re2/re2.h>

#include "runtime/result.hpp"

namespace ratchet {

/// At most limits::pattern_bytes_max, compiled at most limits::pattern_memory_max. Used from any thread.
/// Errors: invalid_request, with what RE2 does not take.
Result<std::unique_ptr<re2::RE2>> compile_pattern(std::string_view pattern);

/// The same for a text that we wrote out of a bounded one: only what it compiles to is bounded.
Result<std::unique_ptr<re2::RE2>> compile_re2(std::string_view pattern);

}  // namespace ratchet
