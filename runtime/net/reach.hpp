#pragma once
// Which addresses a call may end at, by how its target was named. Whoever controls a name controls where it
// leads, and can change that between two look-ups: so the rule is about the address that is dialled, and is
// asked at that moment.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/net/address.hpp"

namespace ratchet {

/// global: only what all the world reaches.   loopback: this machine only.   inside: that, this machine and
/// the networks that addresses of private use name; no link, no multicast.   anywhere: no rule.
enum class Reach { global, loopback, inside, anywhere };

/// Where `endpoint`, a `host:port` that a team has listed, may lead. An address that is written out is
/// listed itself: anywhere, the call going there and nowhere else. `localhost`: loopback. A name: inside
/// where it is one of `private_hosts` (`host:port` each, in lower case), which the operator names; global
/// otherwise.
Reach reach_of(std::string_view endpoint, const std::vector<std::string>& private_hosts);

bool reaches(Reach reach, const IpAddress& address);

}  // namespace ratchet
