#pragma once
// Where a server listens, and who can reach it there.

#include <cstdint>
#include <string>
#include <string_view>

#include "http/config/server_config.hpp"
#include "runtime/result.hpp"

namespace ratchet {

struct ListenAddress {
  std::string host;  ///< a numeric IPv4 or IPv6 address, without brackets
  std::uint16_t port = 0;
  bool loopback = false;
};

/// Takes `127.0.0.1:8080` and `[::1]:8080`; `localhost` means 127.0.0.1. Errors: invalid_request.
Result<ListenAddress> parse_listen(std::string_view text);

/// `127.0.0.1:8080`, `[::1]:8080`
std::string to_string(const ListenAddress& address);

/// What must hold before a server starts: `dev` listens on loopback only, anything else than loopback needs
/// keys. Errors: invalid_request.
Result<void> check_exposure(const ServerConfig& config, bool dev);

}  // namespace ratchet
