#pragma once
// Turns the body of a provider's response into a reply, or into a failure that says what can be done about
// it. No I/O: the HTTP client feeds the bytes as they come, in any pieces, and says in the end how the
// exchange ended. Streams and plain JSON bodies are both taken, whatever was asked for: the first byte tells
// them apart.
//
// What a reply promises, whichever provider sent it:
//   - blocks in the order in which the model began them; text is valid UTF-8;
//   - every call has `args`, one JSON object in canonical form (RFC 8785), or an `args_error` and then `args`
//   as
//     the model sent it. `provider_id` is empty where the provider sent none, or one that it had used before
//     in this reply: the call then goes by our own id;
//   - a reply that ran into its token limit, was refused, or filled the window holds no calls: none of them
//   can
//     be trusted to be whole;
//   - `stop` is judged by the content too: with calls it is `tool_use` whatever the provider says.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/model/config.hpp"
#include "runtime/model/reply.hpp"
#include "runtime/time.hpp"

namespace ratchet {

/// How the exchange ended, as the HTTP client saw it.
struct ReplyEnd {
  int http_status = 0;          ///< 0: there was no response
  std::string transport_error;  ///< empty: the response arrived whole. For people; without secrets
  std::string retry_after;      ///< the header's value, empty: absent
  std::string retry_after_ms;   ///< the same
  std::string x_should_retry;   ///< the same
  Timestamp now;                ///< for a `retry-after` that is a date
  std::string_view secret;      ///< the key of this request: taken out of error texts, wherever it stands
};

class ReplyParser {
 public:
  enum class Progress {
    more,   ///< read on
    whole,  ///< the reply is complete; what may follow is ignored
    failed  ///< it can no longer succeed: reading on is of no use
  };
  /// `index` is the byte offset of `text` in the reply's text so far.
  using OnDelta = std::function<void(std::uint64_t index, std::string_view text)>;

  virtual ~ReplyParser() = default;
  virtual Progress feed(std::string_view bytes, const OnDelta& on_delta) = 0;
  /// Called once, after the last byte. The parser is then ready for another reply, with its buffers kept.
  virtual std::variant<ModelReply, ModelFailure> finish(const ReplyEnd& end) = 0;
};

/// A parser for one connection at a time; not shared between threads.
std::unique_ptr<ReplyParser> make_reply_parser(Protocol protocol);

}  // namespace ratchet
