#pragma once
// An HTTP/1.1 server (RFC 9112) on one thread: keep-alive, pipelining, chunked streams, limits on everything
// that a client can make large or slow. It hands each request to one handler and writes what comes back.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/server/message.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/limits.hpp"
#include "runtime/result.hpp"

namespace ratchet {

struct ServerOptions {
  std::string address = "127.0.0.1";  ///< numeric, IPv4 or IPv6
  std::uint16_t port = 0;             ///< 0: any free one
  std::size_t request_bytes_max = limits::request_bytes_max;
  std::size_t connections_max = limits::connections_max;
  /// Borrowed. Connections for which it has no place wait in the kernel's queue, too; null: it has always.
  Descriptors* descriptors = nullptr;
  std::int64_t keep_alive_timeout_ms = limits::keep_alive_timeout_ms;
  std::int64_t header_timeout_ms = limits::header_timeout_ms;
  std::int64_t body_timeout_ms = limits::body_timeout_ms;
  std::int64_t write_timeout_ms = limits::write_timeout_ms;
  std::int64_t heartbeat_ms = limits::stream_heartbeat_ms;
  /// What a client gets whose request never reached the handler (malformed, too large, too slow), or whose
  /// handler failed.
  std::function<Response(ErrorCode, std::string)> on_error;
};

/// A snapshot for metrics.
struct ServerCounts {
  std::uint64_t connections_open = 0;
  std::uint64_t connections_total = 0;
  std::uint64_t streams_open = 0;
};

class Server {
 public:
  Server(ServerOptions options, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Listens and returns the port. Errors: invalid_request, if the address cannot be bound.
  Result<std::uint16_t> start();
  /// Streams are told to end, and each connection, new ones too, is closed after its next answer. Returns at
  /// once.
  void drain();
  /// Takes no more connections and requests, drains, waits a moment for what is under way, closes the rest,
  /// and joins the thread. Called twice it does nothing.
  void stop();

  ServerCounts counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ratchet
