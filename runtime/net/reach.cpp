#include "runtime/net/reach.hpp"

#include <algorithm>

namespace ratchet {

Reach reach_of(std::string_view endpoint, const std::vector<std::string>& private_hosts) {
  const auto host = endpoint.substr(0, endpoint.rfind(':'));
  if (parse_ip(host)) return Reach::anywhere;
  if (host == "localhost") return Reach::loopback;
  return std::ranges::find(private_hosts, endpoint) != private_hosts.end() ? Reach::inside : Reach::global;
}

bool reaches(Reach reach, const IpAddress& address) {
  const AddressKind kind = kind_of(address);
  switch (reach) {
    case Reach::global:
      return kind == AddressKind::global;
    case Reach::loopback:
      return kind == AddressKind::loopback;
    case Reach::inside:
      return kind == AddressKind::global || kind == AddressKind::loopback ||
             kind == AddressKind::private_use || kind == AddressKind::shared ||
             kind == AddressKind::unique_local;
    case Reach::anywhere:
      return true;
  }
  return false;
}

}  // namespace ratchet
