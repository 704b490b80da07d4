#pragma once
// Who answers the connections that sandboxes open to their proxy.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sandbox/host.hpp"
#include "sandbox/channel/channel.hpp"

namespace ratchet::sandbox {

/// The way back into one sandbox. Called from any thread; where the sandbox or the connection is over,
/// nothing happens. The contracts of `Channel::send`, `grant` and `close` hold.
class EgressLink {
 public:
  virtual ~EgressLink() = default;
  virtual void send(ConnectionId connection, std::string bytes) = 0;
  virtual void grant(ConnectionId connection, std::uint32_t bytes) = 0;
  virtual void close(ConnectionId connection, bool broken) = 0;
};

/// All is called on the I/O thread of the host and must not block. What the events say is what
/// `sandbox/channel/channel.hpp` says of them: hostile bytes, within their credit.
class Egress {
 public:
  virtual ~Egress() = default;

  /// From now on it may open connections, to these host:port only.
  virtual void grant(SandboxId sandbox,
                     const std::vector<std::string>& allow,
                     std::shared_ptr<EgressLink> link) = 0;
  /// It is over, with all its connections. Evidence that was asked for before is still told.
  virtual void forget(SandboxId sandbox) = 0;

  virtual void opened(SandboxId sandbox, ConnectionId connection) = 0;
  virtual void data(SandboxId sandbox, ConnectionId connection, std::string_view bytes) = 0;
  virtual void credit(SandboxId sandbox, ConnectionId connection, std::uint32_t bytes) = 0;
  virtual void closed(SandboxId sandbox, ConnectionId connection, bool broken) = 0;

  /// Tells, on any thread, the connections that were refused since it was asked last: all that follow from
  /// what was said above before, and did not have to wait for the answer of somebody outside.
  virtual void take_evidence(SandboxId sandbox, std::function<void(SandboxEvidence)> told) = 0;
};

}  // namespace ratchet::sandbox
