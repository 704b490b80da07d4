#pragma once
// Addresses that are never dialled: the server's own. It is asked with the resolved address, just before the
// connection is made, so that no name and no spelling of an address gets around it.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/net/address.hpp"
#include "runtime/result.hpp"

struct sockaddr;

namespace ratchet {

/// The address in it, IPv4 in IPv6 clothes as plain IPv4; nothing for other families.
std::optional<IpAddress> ip_of(const sockaddr& address);

class DialFilter {
 public:
  /// `host:port`, as the server listens: `127.0.0.1:8080`, `[::1]:8080`, `0.0.0.0:8080` (every address of
  /// this machine), or a name, which is looked up now. Called from any thread. Errors: invalid_request, if it
  /// has no port or the name is not known.
  Result<void> forbid(const std::string& host_port);
  /// Called from any thread.
  bool allows(const sockaddr& address) const;

 private:
  struct Address {
    IpAddress ip;
    std::uint16_t port = 0;

    bool operator==(const Address&) const = default;
  };

  static std::optional<Address> from(const sockaddr& address);
  static bool is_any(const IpAddress& ip);
  static bool is_local(const IpAddress& ip);

  mutable std::mutex mutex_;
  std::vector<Address> forbidden_;
};

}  // namespace ratchet
