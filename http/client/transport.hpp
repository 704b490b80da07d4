#pragma once
// HTTP requests to other systems, many at once on one thread: libcurl's multi interface with pooled
// connections. It knows nothing of models or tools. What it adds to libcurl is what its users must be sure
// of: a cancelled call never calls back, a failed request says whether it may have reached the other side,
// every wait has a deadline, every reply a bound. Redirects, proxies, netrc, cookies and `Expect:` are off.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/descriptors.hpp"
#include "runtime/limits.hpp"
#include "runtime/model/client.hpp"
#include "runtime/net/reach.hpp"
#include "runtime/result.hpp"

struct sockaddr;

namespace ratchet {

struct HttpRequest {
  std::string method = "POST";
  std::string url;  ///< http or https
  std::vector<std::pair<std::string, std::string>> headers;
  Body body;  ///< sent with its length; nothing is copied to keep it

  /// May be sent twice: when a pooled connection turns out dead before the first byte of a reply, the request
  /// goes out again on another one. False: it travels on a connection of its own, where libcurl never
  /// repeats.
  bool repeatable = false;
  /// Which addresses the URL's host may turn out to be; others are not dialled, `refused`. The server's own
  /// never is.
  Reach reach = Reach::anywhere;

  std::int64_t first_byte_timeout_ms = 0;  ///< from the start to the first byte of the reply's body; 0: none
  std::int64_t total_timeout_ms = 0;       ///< from the start to the end; 0: none
  std::uint64_t reply_bytes_max = limits::reply_bytes_max;  ///< a longer body ends the call, `too_large`
};

struct HttpHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in lower case

  /// The first value of that name, or empty.
  std::string_view header(std::string_view name) const;
};

/// How a request ended.
struct HttpEnd {
  /// complete: the whole reply came.             refused: not even tried; the request itself is unusable.
  /// unreachable: no connection.                 distrusted: the other side's certificate does not hold.
  /// timeout: a deadline passed.                 broken: reset, cut, or not HTTP.
  /// too_large: the reply passed its bound.      stopped: the sink wanted no more of it.
  enum class Kind { complete, refused, unreachable, distrusted, timeout, broken, too_large, stopped };
  Kind kind = Kind::complete;
  /// False: certainly nothing of the request reached the other side. True: it may have.
  bool may_have_left = false;
  std::string text = {};  ///< for people; never a header or a body
};

/// Receives one reply, on the transport's thread. Must not block. Destroyed on that thread after `on_end`, or
/// some time after `cancel`.
class HttpSink {
 public:
  /// more: go on. stop: close the connection. settled: what came is all that is wanted; `on_end(complete)`
  /// follows at once, and the rest is read and dropped for a moment so that the connection can be used again.
  enum class Next { more, stop, settled };

  virtual ~HttpSink() = default;

  virtual void on_head(const HttpHead&) {}

  virtual Next on_bytes(std::string_view bytes) = 0;

  /// After one or more `on_bytes`, when all that had arrived has been handed over.
  virtual void on_pause() {}

  virtual void on_end(const HttpEnd& end) = 0;
};

struct TransportOptions {
  /// Borrowed. Calls for which it has none wait, without a deadline, before they begin; null: all begin at
  /// once.
  Descriptors* descriptors = nullptr;
  std::int64_t connect_timeout_ms = limits::connect_timeout_ms;
  std::int64_t idle_timeout_ms = limits::idle_timeout_ms;  ///< between two bytes of a reply's body
  std::int64_t drain_ms = limits::reply_drain_ms;          ///< how long a settled reply may still come in
  /// Calls that share a pool of connections; further calls get another pool.
  std::size_t lane_calls_max = limits::lane_calls_max;
  /// How long an idle connection is used again, and a pool kept that nobody uses.
  std::int64_t idle_connection_ms = 118'000;
  std::string ca_file = {};  ///< PEM; empty: the system's certificates
};

class Transport {
 public:
  using Ticket = std::uint64_t;

  explicit Transport(TransportOptions options = {});
  /// Closes all connections. Calls under way end without a callback.
  ~Transport();

  /// Starts a request and returns at once. `on_end` is called exactly once, unless `cancel` came before.
  /// Called from any thread, callbacks too.
  Ticket start(HttpRequest request, std::unique_ptr<HttpSink> sink);
  /// As `start`, for a request that is refused before it is tried: only `on_end` with this text comes.
  Ticket refuse(std::string text, std::unique_ptr<HttpSink> sink);
  /// Closes the connection. After it returns, no callback of this ticket begins any more. An unknown or
  /// finished ticket is ignored. Called from any thread, callbacks too.
  void cancel(Ticket ticket);
  /// Never dials this address again, by whatever name: the server's own `host:port`, once it is known. Called
  /// from any thread. Errors: invalid_request, if it is no such address.
  Result<void> forbid(const std::string& host_port);
  /// Whether this address may be dialled: not one that is forbidden. Called from any thread.
  bool may_dial(const sockaddr& address) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ratchet
