#pragma once
// The URLs of connectors (RFC 3986), read strictly: http and https only, no user, no fragment, nothing that
// another reader could take otherwise.

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace ratchet {

struct Url {
  std::string scheme;    ///< "http" or "https"
  std::string host;      ///< in lower case; of IPv6 with its brackets
  std::uint16_t port;    ///< the scheme's where none is written
  std::size_t path_at;   ///< where in the text the path begins, which may be empty
  std::size_t query_at;  ///< where `?` stands, or the end of the text

  std::string endpoint() const;  ///< "host:port"
};

/// At most limits::url_bytes_max. Errors: invalid_definition.
Result<Url> parse_url(std::string_view text);

/// Whether `text` is a `host:port` as `endpoint` writes it.
bool is_endpoint(std::string_view text);

/// Appends `text` with every byte but the unreserved ones percent-encoded.
void append_percent_encoded(std::string& out, std::string_view text);

/// The text with its percent-encoded bytes decoded.
std::string percent_decoded(std::string_view text);

}  // namespace ratchet
