#pragma once
// Addresses of IPv4 and IPv6, and what each is for: whether all the world means the same machine by it, or it
// leads into this machine, this network, or nowhere.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/enums.hpp"

namespace ratchet {

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  ///< in network order; of IPv4 the first four
  bool v6 = false;

  bool operator==(const IpAddress&) const = default;
};

/// An address as RFC 4291 and dotted decimal write it, IPv6 with or without brackets. Nothing else that some
/// reader takes for one: no zone, no port, no octal, no shortened IPv4.
std::optional<IpAddress> parse_ip(std::string_view text);
/// As `parse_ip` reads it, without brackets.
std::string to_string(const IpAddress& address);
/// The IPv4 address that is dialled where this one is IPv4-mapped (`::ffff:0:0/96`); any other as it is.
IpAddress unmapped(const IpAddress& address);

/// embedded: IPv6 that wraps an IPv4 address for a tunnel or a translator of whoever runs one (6to4, Teredo,
/// local-use NAT64, IPv4-compatible). reserved: not in use, or for protocols that are not HTTP.
RATCHET_ENUM(AddressKind,
             global,
             unspecified,
             loopback,
             private_use,
             shared,
             link_local,
             unique_local,
             multicast,
             documentation,
             benchmarking,
             embedded,
             reserved)

/// By the IANA registries of IPv4 and IPv6 special-purpose addresses (RFC 6890 and what followed). An
/// IPv4-mapped address, and one below the well-known prefix of NAT64 (RFC 6052), is of the kind of the IPv4
/// address within. Stricter than the registries: small blocks that are globally reachable within reserved
/// ones (192.0.0.9, 2001:1::1 …) are reserved with their surroundings, as is IPv6 outside 2000::/3.
AddressKind kind_of(const IpAddress& address);

}  // namespace ratchet
