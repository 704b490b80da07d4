#include "http/client/dial_filter.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace ratchet {

namespace {

constexpr std::array<std::uint8_t, 16> v4_loopback{127, 0, 0, 1};
constexpr std::array<std::uint8_t, 16> v6_loopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

}  // namespace

std::optional<IpAddress> ip_of(const sockaddr& address) {
  IpAddress ip;
  if (address.sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &address, sizeof v4);
    std::memcpy(ip.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
    return ip;
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &address, sizeof v6);
    std::memcpy(ip.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    ip.v6 = true;
    return unmapped(ip);
  }
  return std::nullopt;
}

std::optional<DialFilter::Address> DialFilter::from(const sockaddr& address) {
  const auto ip = ip_of(address);
  if (!ip) return std::nullopt;
  // The port stands at the same place for both families.
  sockaddr_in either;
  std::memcpy(&either, &address, sizeof either);
  return Address{*ip, ntohs(either.sin_port)};
}

bool DialFilter::is_any(const IpAddress& ip) {
  return std::ranges::all_of(ip.bytes, [](std::uint8_t byte) { return byte == 0; });
}

/// Whether the address is one of this machine. Asked at the moment of dialling: addresses come and go.
bool DialFilter::is_local(const IpAddress& ip) {
  if (is_any(ip) || kind_of(ip) == AddressKind::loopback) return true;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return true;  // cannot tell: then it is not dialled
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next)
    if (entry->ifa_addr != nullptr && ip_of(*entry->ifa_addr) == ip) return true;
  return false;
}

Result<void> DialFilter::forbid(const std::string& host_port) {
  const auto colon = host_port.rfind(':');
  if (colon == std::string::npos)
    return fail(ErrorCode::invalid_request, "expected host:port, found '" + host_port + "'");
  std::string host = host_port.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo* found = nullptr;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = getaddrinfo(host.c_str(), host_port.c_str() + colon + 1, &hints, &found); error != 0)
    return fail(ErrorCode::invalid_request, "look up '" + host_port + "': " + gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  const std::lock_guard lock(mutex_);
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next)
    if (const auto address = from(*entry->ai_addr)) forbidden_.push_back(*address);
  return {};
}

bool DialFilter::allows(const sockaddr& address) const {
  auto dialled = from(address);
  if (!dialled) return true;
  // To connect to the any-address reaches the loopback (Linux, ip(7)).
  if (is_any(dialled->ip)) dialled->ip.bytes = dialled->ip.v6 ? v6_loopback : v4_loopback;
  const std::lock_guard lock(mutex_);
  return std::ranges::none_of(forbidden_, [&](const Address& forbidden) {
    if (forbidden.port != dialled->port) return false;
    return forbidden == *dialled || (is_any(forbidden.ip) && is_local(dialled->ip));
  });
}

}  // namespace ratchet
