#include "sandbox/egress/dial.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>

#include "runtime/limits.hpp"

namespace ratchet::sandbox {

namespace {

IpAddress ip_of(const sockaddr& address) {
  IpAddress ip;
  if (address.sa_family == AF_INET) {
    std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  } else {
    ip.v6 = true;
    std::memcpy(ip.bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  }
  return unmapped(ip);
}

}  // namespace

std::vector<SocketAddress> resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  std::vector<SocketAddress> addresses;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return addresses;
  for (const addrinfo* each = found; each; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    SocketAddress address;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.bytes = each->ai_addrlen;
    addresses.push_back(address);
  }
  ::freeaddrinfo(found);
  return addresses;
}

Dial::Dial(Loop& loop,
           Workers& workers,
           const std::string& key,
           std::shared_ptr<const DialRules> rules,
           const std::string& endpoint,
           std::function<void(Outcome)> done)
    : loop_(loop),
      rules_(std::move(rules)),
      reach_(reach_of(endpoint, rules_->private_hosts)),
      done_(std::move(done)),
      self_(std::make_shared<Dial*>(this)) {
  const auto colon = endpoint.rfind(':');
  std::string host = endpoint.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  std::uint16_t port = 0;
  std::from_chars(endpoint.data() + colon + 1, endpoint.data() + endpoint.size(), port);
  workers.submit(key, [&loop, self = std::weak_ptr(self_), resolver = rules_->resolver, host, port] {
    if (self.expired()) return;  // the connection has gone: nobody's look-up holds up the others
    loop.post([self, addresses = resolver(host, port)]() mutable {
      if (const auto alive = self.lock()) (*alive)->resolved(std::move(addresses));
    });
  });
}

Dial::~Dial() {
  stop_trying();
}

void Dial::resolved(std::vector<SocketAddress> addresses) {
  const bool found = !addresses.empty();
  std::erase_if(addresses, [&](const SocketAddress& address) {
    return !reaches(reach_, ip_of(address.get())) || !rules_->may_dial(address.get());
  });
  if (found && addresses.empty()) return end({{}, true});
  std::ranges::reverse(addresses);
  left_ = std::move(addresses);
  try_next();
}

void Dial::try_next() {
  stop_trying();
  if (left_.empty()) return end({});
  const SocketAddress address = left_.back();
  left_.pop_back();
  socket_ = Fd(::socket(address.get().sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_) return try_next();
  if (::connect(socket_.get(), &address.get(), address.bytes) != 0 && errno != EINPROGRESS) return try_next();
  watch_ = loop_.watch(socket_.get(), EPOLLOUT, [this](std::uint32_t) {
    int error = 0;
    socklen_t bytes = sizeof error;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) return try_next();
    Fd connected = std::move(socket_);
    loop_.unwatch(std::exchange(watch_, 0));
    stop_trying();
    end({std::move(connected), false});
  });
  alarm_ = loop_.alarm(Loop::now_ms() + limits::connect_timeout_ms, [this] {
    alarm_ = 0;
    try_next();
  });
}

void Dial::stop_trying() {
  if (watch_) loop_.unwatch(std::exchange(watch_, 0));
  if (alarm_) loop_.cancel(std::exchange(alarm_, 0));
  socket_.reset();
}

/// Whoever is told may destroy this.
void Dial::end(Outcome outcome) {
  const auto done = std::exchange(done_, nullptr);
  done(std::move(outcome));
}

}  // namespace ratchet::sandbox
