#pragma once
// The door to other systems over HTTP: one request of one tool call. A call reaches only what its tool's
// manifest allows, and its outcome says whether the other side may have acted.

#include "http/client/transport.hpp"
#include "runtime/tools/connector.hpp"

namespace ratchet {

class CurlConnector final : public Connector {
 public:
  /// `transport` is borrowed. What it must never dial is forbidden there (`Transport::forbid`).
  /// `private_hosts`: the names that may lead to private addresses (`reach_of`).
  explicit CurlConnector(Transport& transport, std::vector<std::string> private_hosts = {})
      : transport_(transport), private_hosts_(std::move(private_hosts)) {}

  /// Refused before a byte leaves (`not_sent`): a URL that is not http or https or carries a user, a host and
  /// port that are not in `network_allow`, an address out of their reach (`reach_of`), headers that would
  /// change how the request is framed or to whom. A call that is `repeatable` or has an `Idempotency-Key`, a
  /// GET or a HEAD may be sent twice, where a pooled connection turns out dead; any other is sent once at
  /// most. `reply_bytes_max` 0: limits::artifact_bytes_max.
  Ticket start(ConnectorCall call, OnDone on_done) override;

  void cancel(Ticket ticket) override { transport_.cancel(ticket); }

 private:
  Transport& transport_;
  const std::vector<std::string> private_hosts_;
};

}  // namespace ratchet
