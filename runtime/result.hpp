#pragma once
// Expected failures are values. An `Error` carries a stable code that a caller can branch on and a text for
// people that names the values involved. A broken invariant is a bug: `ensure` ends the process, and the
// journal recovers.

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

#include "runtime/error_codes.hpp"

namespace ratchet {

enum class ErrorCode {
#define RATCHET_X(code, status, title) code,
  RATCHET_ERROR_CODES(RATCHET_X)
#undef RATCHET_X
};

/// The code as it stands on the wire and in docs/errors.md.
std::string_view name(ErrorCode code);
/// The HTTP status that the code travels with.
int http_status(ErrorCode code);
/// A sentence for people, the same for every occurrence of the code.
std::string_view title(ErrorCode code);

struct Error {
  ErrorCode code;
  std::string text;          ///< what happened, with the values in it; never a secret
  std::string pointer = {};  ///< JSON pointer to the offending value of a body, where there is one
};

template <class T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string text, std::string pointer = {}) {
  return tl::unexpected<Error>(Error{code, std::move(text), std::move(pointer)});
}

/// Prints and aborts. In release builds too: a run that goes on with a broken invariant may act twice.
[[noreturn]] void crash(std::string_view what, const char* file, int line);

#define RATCHET_ENSURE(condition, what)                             \
  do {                                                              \
    if (!(condition)) ::ratchet::crash((what), __FILE__, __LINE__); \
  } while (false)

}  // namespace ratchet
