#pragma once
// Where a listed endpoint leads, and a connection to there. A name is resolved once, for the connection that
// asks; each of its addresses is held against the rule, and only what passed is dialled.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "runtime/net/reach.hpp"
#include "sandbox/fd.hpp"
#include "sandbox/loop.hpp"
#include "sandbox/workers.hpp"

namespace ratchet::sandbox {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  const sockaddr& get() const { return reinterpret_cast<const sockaddr&>(storage); }
};

/// The addresses of `host` (a name, an IPv4 address, an IPv6 address without brackets) with this port; none
/// if there is none. May block.
using Resolver = std::function<std::vector<SocketAddress>(const std::string& host, std::uint16_t port)>;
std::vector<SocketAddress> resolve(const std::string& host, std::uint16_t port);

struct DialRules {
  std::vector<std::string> private_hosts;  ///< that may lead inside (`reach_of`)
  /// Never the server's own address, for example. From any thread.
  std::function<bool(const sockaddr&)> may_dial = [](const sockaddr&) { return true; };
  Resolver resolver = resolve;
};

/// One connection in the making. Begins at once; told on the loop's thread, once, unless it is destroyed
/// before.
class Dial {
 public:
  struct Outcome {
    Fd socket;             ///< connected, non-blocking; none: it could not be
    bool refused = false;  ///< by the rules: no address of the name may be dialled
  };

  /// Names are looked up one after the other for each `key`, so that who opens many connections, or asks for
  /// names that nobody answers, holds up nobody else.
  Dial(Loop& loop,
       Workers& workers,
       const std::string& key,
       std::shared_ptr<const DialRules> rules,
       const std::string& endpoint,
       std::function<void(Outcome)> done);
  ~Dial();
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;

 private:
  void resolved(std::vector<SocketAddress> addresses);
  void try_next();
  void stop_trying();
  void end(Outcome outcome);

  Loop& loop_;
  std::shared_ptr<const DialRules> rules_;
  Reach reach_;
  std::function<void(Outcome)> done_;
  std::vector<SocketAddress> left_;  // the next one is the last
  Fd socket_;
  Loop::Id watch_ = 0, alarm_ = 0;
  std::shared_ptr<Dial*> self_;  // empty once it is destroyed
};

}  // namespace ratchet::sandbox
