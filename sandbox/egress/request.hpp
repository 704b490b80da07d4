#pragma once
// What a client says to an HTTP proxy, understood strictly (RFC 9110 §7.2 and §9.3.6, RFC 9112 §3.2 and §6):
// where it wants to go, and what the origin is sent in its place. Whatever two readers could understand in
// two ways is refused.

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace ratchet::sandbox {

/// Where the body of a request ends. Bytes after it are no part of the request: they are never forwarded.
class RequestBody {
 public:
  static RequestBody none() { return RequestBody(Kind::length, 0); }

  static RequestBody of_length(std::uint64_t bytes) { return RequestBody(Kind::length, bytes); }

  static RequestBody chunked() { return RequestBody(Kind::chunked, 0); }

  /// A tunnel: everything belongs to it.
  static RequestBody endless() { return RequestBody(Kind::endless, 0); }

  /// How many of these bytes, which follow those given before, belong to the body. `broken` afterwards: they
  /// are not chunked as they should be.
  std::size_t take(std::string_view bytes);

  bool broken() const { return broken_; }

 private:
  enum class Kind { length, chunked, endless };
  /// size: the line before a chunk   data: the chunk   after: its CRLF   trailer: lines to an empty one
  enum class At { size, data, after, trailer, end };

  RequestBody(Kind kind, std::uint64_t bytes) : kind_(kind), left_(bytes) {}

  void take_line(std::string_view line);

  Kind kind_;
  std::uint64_t left_;  // of the body, or of the chunk
  At at_ = At::size;
  std::string line_ = {};
  bool broken_ = false;
};

struct ProxyRequest {
  std::string endpoint;  ///< host:port as it is compared: lower case, no dot at the end, IPv6 in brackets
  bool tunnel = false;   ///< CONNECT
  std::string head;      ///< what the origin is sent; empty for a tunnel
  RequestBody body = RequestBody::none();
};

/// A request that is not carried out, as it is answered.
struct ProxyRefusal {
  int status = 400;
  std::string why;
};

/// `head`: from the method to the empty line, both included.
tl::expected<ProxyRequest, ProxyRefusal> parse_proxy_request(std::string_view head);

/// An answer of the proxy itself: JSON, after which the connection ends.
std::string proxy_answer(int status, std::string_view code, std::string_view text);

}  // namespace ratchet::sandbox
