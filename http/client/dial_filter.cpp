#include "http/client/dial_filter.hpp"

#include <algorithm>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace ratchet {

namespace {

const std::string v4_loopback{'\x7f', 0, 0, 1};
const std::string v6_loopback = std::string(15, '\0') + '\x01';
const std::string v4_mapped_prefix = std::string(10, '\0') + "\xff\xff";

}  // namespace

/// IPv4 addresses in IPv6 clothes become plain ones. Other families have no address and match nothing.
DialFilter::Address DialFilter::from(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &address, sizeof v4);
    return {std::string(reinterpret_cast<const char*>(&v4.sin_addr), 4), ntohs(v4.sin_port)};
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &address, sizeof v6);
    std::string bytes(reinterpret_cast<const char*>(&v6.sin6_addr), 16);
    if (bytes.starts_with(v4_mapped_prefix)) bytes.erase(0, v4_mapped_prefix.size());
    return {std::move(bytes), ntohs(v6.sin6_port)};
  }
  return {};
}

bool DialFilter::is_any(const Address& address) {
  return std::ranges::all_of(address.bytes, [](char byte) { return byte == 0; });
}

/// Whether the address is one of this machine. Asked at the moment of dialling: addresses come and go.
bool DialFilter::is_local(const Address& address) {
  if (is_any(address) || address.bytes == v6_loopback) return true;
  if (address.bytes.size() == 4 && address.bytes[0] == '\x7f') return true;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return true;  // cannot tell: then it is not dialled
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next)
    if (entry->ifa_addr != nullptr && from(*entry->ifa_addr).bytes == address.bytes) return true;
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
    forbidden_.push_back(from(*entry->ai_addr));
  return {};
}

bool DialFilter::allows(const sockaddr& address) const {
  Address dialled = from(address);
  // To connect to the any-address reaches the loopback (Linux, ip(7)).
  if (is_any(dialled) && dialled.port != 0)
    dialled.bytes = dialled.bytes.size() == 4 ? v4_loopback : v6_loopback;
  const std::lock_guard lock(mutex_);
  return std::ranges::none_of(forbidden_, [&](const Address& forbidden) {
    if (forbidden.port != dialled.port) return false;
    return forbidden == dialled || (is_any(forbidden) && is_local(dialled));
  });
}

}  // namespace ratchet
