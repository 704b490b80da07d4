#include "runtime/net/address.hpp"

#include <algorithm>
#include <arpa/inet.h>

#include "runtime/result.hpp"

namespace ratchet {

namespace {

using Kind = AddressKind;

struct Block {
  std::string_view first;
  int bits;
  Kind kind;
};

// The first that matches decides: exceptions stand before what they are exceptions from.
constexpr Block v4_blocks[] = {
    {"0.0.0.0", 8, Kind::unspecified},        // RFC 791: this network; Linux takes 0.0.0.0 for the loopback
    {"10.0.0.0", 8, Kind::private_use},       // RFC 1918
    {"100.64.0.0", 10, Kind::shared},         // RFC 6598
    {"127.0.0.0", 8, Kind::loopback},         // RFC 1122
    {"168.63.129.16", 32, Kind::link_local},  // in no registry: the host below each machine of a large cloud
    {"169.254.0.0", 16, Kind::link_local},    // RFC 3927
    {"172.16.0.0", 12, Kind::private_use},    // RFC 1918
    {"192.0.0.0", 24, Kind::reserved},        // RFC 6890
    {"192.0.2.0", 24, Kind::documentation},   // RFC 5737
    {"192.88.99.0", 24, Kind::reserved},      // RFC 7526
    {"192.168.0.0", 16, Kind::private_use},   // RFC 1918
    {"198.18.0.0", 15, Kind::benchmarking},   // RFC 2544
    {"198.51.100.0", 24, Kind::documentation},  // RFC 5737
    {"203.0.113.0", 24, Kind::documentation},   // RFC 5737
    {"224.0.0.0", 4, Kind::multicast},          // RFC 5771
    {"240.0.0.0", 4, Kind::reserved},           // RFC 1112, and the limited broadcast
    {"0.0.0.0", 0, Kind::global},
};

constexpr Block v6_blocks[] = {
    {"::", 128, Kind::unspecified},           // RFC 4291
    {"::1", 128, Kind::loopback},             // RFC 4291
    {"::", 96, Kind::embedded},               // RFC 4291: IPv4-compatible
    {"64:ff9b:1::", 48, Kind::embedded},      // RFC 8215: NAT64, local use
    {"2001::", 32, Kind::embedded},           // RFC 4380: Teredo
    {"2001:2::", 48, Kind::benchmarking},     // RFC 5180
    {"2001:db8::", 32, Kind::documentation},  // RFC 3849
    {"2001::", 23, Kind::reserved},           // RFC 2928
    {"2002::", 16, Kind::embedded},           // RFC 3056: 6to4
    {"3fff::", 20, Kind::documentation},      // RFC 9637
    {"2000::", 3, Kind::global},              // RFC 4291
    {"fc00::", 7, Kind::unique_local},        // RFC 4193
    {"fe80::", 10, Kind::link_local},         // RFC 4291
    {"fec0::", 10, Kind::private_use},        // RFC 3879: site-local, once
    {"ff00::", 8, Kind::multicast},           // RFC 4291
    {"::", 0, Kind::reserved},
};

IpAddress known(std::string_view text) {
  const auto address = parse_ip(text);
  RATCHET_ENSURE(address.has_value(), "a block of addresses has no address");
  return *address;
}

bool starts_with(const IpAddress& address, const IpAddress& prefix, int bits) {
  for (std::size_t at = 0; bits > 0; ++at, bits -= 8) {
    const auto mask = static_cast<std::uint8_t>(bits >= 8 ? 0xFF : 0xFF << (8 - bits));
    if (((address.bytes[at] ^ prefix.bytes[at]) & mask) != 0) return false;
  }
  return true;
}

IpAddress last_four(const IpAddress& address) {
  IpAddress v4;
  std::copy(address.bytes.begin() + 12, address.bytes.end(), v4.bytes.begin());
  return v4;
}

template <std::size_t N>
Kind kind_among(const Block (&blocks)[N], const IpAddress& address) {
  static const auto prefixes = [&] {
    std::array<IpAddress, N> out;
    std::transform(blocks, blocks + N, out.begin(), [](const Block& block) { return known(block.first); });
    return out;
  }();
  std::size_t at = 0;
  while (!starts_with(address, prefixes[at], blocks[at].bits))
    ++at;
  return blocks[at].kind;
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  const bool bracketed = text.starts_with('[') && text.ends_with(']');
  if (bracketed) text = text.substr(1, text.size() - 2);
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  const std::string copy(text);
  IpAddress address;
  if (!bracketed && inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) return address;
  address.bytes = {};
  address.v6 = true;
  if (inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) == 1) return address;
  return std::nullopt;
}

std::string to_string(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN];
  inet_ntop(address.v6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  return text;
}

IpAddress unmapped(const IpAddress& address) {
  static const IpAddress mapped = known("::ffff:0:0");
  return address.v6 && starts_with(address, mapped, 96) ? last_four(address) : address;
}

AddressKind kind_of(const IpAddress& address) {
  static const IpAddress nat64 = known("64:ff9b::");
  const IpAddress plain = unmapped(address);
  if (!plain.v6) return kind_among(v4_blocks, plain);
  if (starts_with(plain, nat64, 96)) return kind_among(v4_blocks, last_four(plain));
  return kind_among(v6_blocks, plain);
}

}  // namespace ratchet
