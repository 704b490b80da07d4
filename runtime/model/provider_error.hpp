#pragma once
// What a provider says when it will not answer, and what can be done about it. Both error shapes, their
// mixtures and plain text are read by one reader, because compatible servers use each other's.

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/model/reply.hpp"
#include "runtime/model/reply_parser.hpp"

namespace ratchet {

struct ProviderError {
  std::string type, code, message;  ///< empty: not said
  int status = 0;                   ///< a `code` that is a number
};

/// Reads an error from the body of a response or from the data of one event. What is no JSON, or JSON of
/// another shape, becomes the message.
ProviderError read_provider_error(std::string_view body);

/// Classifies by the error first and the HTTP status second: an account without money must not be asked
/// again, whatever status says so. A status below 400 counts as none.
FailureClass classify(const ProviderError& error, const ReplyEnd& end);

/// What `retry-after-ms` or `retry-after` (seconds, or an HTTP date) ask for; -1: nothing that makes sense.
std::int64_t retry_after_ms(const ReplyEnd& end);

/// `text` for people: one line of at most limits::error_text_bytes_max bytes, with `secret` and all that
/// looks like a key taken out.
std::string error_text(std::string_view text, std::string_view secret);

/// The failure that an error response, or an error event in a stream, amounts to.
ModelFailure provider_failure(const ProviderError& error, const ReplyEnd& end);

}  // namespace ratchet
