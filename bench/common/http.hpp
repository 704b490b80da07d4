#pragma once
// As much of HTTP/1.1 (RFC 9112) as a bench needs: heads of requests and replies, bodies by length and in
// chunks.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ratchet::bench {

/// The views point into the bytes that were parsed.
struct RequestHead {
  std::string_view method, target;
  std::string_view idempotency_key;
  std::size_t head_bytes = 0, body_bytes = 0;
  bool expects_continue = false;
  bool chunked = false;
  bool keep_alive = true;
};

struct ReplyHead {
  int status = 0;
  std::size_t head_bytes = 0;
  std::optional<std::size_t> body_bytes;  ///< absent: chunked, or until the connection ends
  bool chunked = false;
  bool keep_alive = true;
};

/// nullopt: the head is not complete yet. Throws std::runtime_error where it is no HTTP.
std::optional<RequestHead> parse_request_head(std::string_view bytes);
std::optional<ReplyHead> parse_reply_head(std::string_view bytes);

/// Takes a chunked body apart as it comes in.
class ChunkReader {
 public:
  /// Moves what is whole from `bytes` to `body`, and removes it there. True once the last chunk was seen.
  bool read(std::string& bytes, std::string& body);

 private:
  std::size_t chunk_left_ = 0;
  bool in_chunk_ = false;
};

void append_chunk(std::string_view data, std::string& out);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

/// A whole reply with its length.
void append_reply(int status, std::string_view type, std::string_view body, std::string& out);

}  // namespace ratchet::bench
