#pragma once
// One connection: reads a request, hands it on, writes the answer, and begins again. Lives on the server's
// thread.

#include <atomic>
#include <memory>
#include <string>
#include <unordered_set>

#include "http/server/loop.hpp"
#include "http/server/server.hpp"

namespace ratchet {

class Session {
 public:
  virtual ~Session() = default;
  /// Ends with the answer under way; a stream is told to end. Idle it goes on until the server stops, then it
  /// ends at once.
  virtual void drain() = 0;
  /// Ends now.
  virtual void close() = 0;
};

/// What all sessions of a server share. Only counters are touched by other threads.
struct Sessions {
  const ServerOptions& options;
  const Handler& handler;
  std::shared_ptr<Loop> loop;
  std::atomic<std::size_t>& open_count;
  std::function<void()> on_closed;                         ///< a session has gone
  std::unordered_set<std::shared_ptr<Session>> open = {};  ///< owns them; `close` takes one out
  bool draining = false;                                   ///< each connection has one more answer
  bool stopping = false;                                   ///< and no more requests are read
  std::atomic<std::uint64_t> total_count{0}, stream_count{0};
};

/// Takes over `fd`, a connected non-blocking socket.
void open_session(boost::asio::io_context& context, int fd, std::string remote, Sessions& sessions);

}  // namespace ratchet
