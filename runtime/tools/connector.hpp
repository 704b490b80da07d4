#pragma once
// The door to other systems: one HTTP request of one tool call.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ratchet {

struct ConnectorCall {
  std::string method, url;
  std::vector<std::pair<std::string, std::string>> headers;  ///< the idempotency key among them
  std::string body;
  std::int64_t timeout_ms = 10'000;
  std::vector<std::string> network_allow;  ///< host:port; anything else is refused before a byte leaves
  /// Its target is one that the operator named, not a team: its name may lead to a private address.
  bool trusted = false;
  std::uint64_t reply_bytes_max = 0;
  bool repeatable = false;  ///< a question that changes nothing: it may be sent twice, whatever its method
};

/// What became of a request.
struct ConnectorOutcome {
  /// answered: `status` and `body` are the other side's. not_sent: it certainly never reached the other side.
  /// unknown: it may have (time-out, reset, or a reply that was cut or too long after the request had left).
  enum class Kind { answered, not_sent, unknown } kind = Kind::not_sent;
  int status = 0;
  std::string body = {};
  std::string text = {};  ///< for people, where there is no answer
  std::int64_t latency_ms = 0;
};

class Connector {
 public:
  virtual ~Connector() = default;
  using Ticket = std::uint64_t;
  using OnDone = std::function<void(ConnectorOutcome)>;
  /// Starts the request and returns at once. `on_done` runs on a thread of the connector, exactly once,
  /// unless `cancel` came before. Redirects, proxies and netrc are off. Called from any thread.
  virtual Ticket start(ConnectorCall call, OnDone on_done) = 0;
  /// Closes the connection; `on_done` is not called any more. Whether the request had left is unknown.
  virtual void cancel(Ticket ticket) = 0;
};

}  // namespace ratchet
