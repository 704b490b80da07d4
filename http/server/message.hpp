#pragma once
// A request and its answer as plain values. The server makes the one and takes the other, and knows nothing
// of what they are about; handlers know nothing of sockets.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ratchet {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;
  std::string target;  ///< path and query as they came
  Headers headers;
  std::string body;
  std::string remote;  ///< the client's address, for the log

  /// The first header of this name, upper or lower case; nothing if there is none.
  std::optional<std::string_view> header(std::string_view name) const;
  /// How many headers of this name there are.
  std::size_t count(std::string_view name) const;
};

/// Bytes to be written in order, some of them shared with others.
class Pieces {
 public:
  void add(std::string bytes);
  /// `bytes` live as long as `owner`.
  void add_shared(std::string_view bytes, std::shared_ptr<const void> owner);

  std::size_t size() const { return size_; }

  const std::vector<std::string_view>& views() const { return views_; }

 private:
  std::vector<std::string_view> views_;
  std::vector<std::shared_ptr<const void>> owners_;
  std::size_t size_ = 0;
};

/// A body that becomes ready over time. Everything is called on the server's thread. When the last owner
/// lets go of it, or after `stop`, nothing of it is written any more.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  /// Called once, before anything else. `wake` says that there is something to take; it may be called from
  /// any thread and at any time, but not under a lock that `take` needs.
  virtual void start(std::function<void()> wake) = 0;
  /// Appends what is ready, whole units of at most about `bytes_max`. False: the body ends after these.
  virtual bool take(std::size_t bytes_max, Pieces& out) = 0;

  /// What is written when nothing else was for a while; empty: nothing.
  virtual std::string_view heartbeat() const { return {}; }

  /// The server shuts down: the stream ends itself soon. A stream of known length goes on to its end.
  virtual void drain() {}

  /// The client is gone, or the end was written.
  virtual void stop() = 0;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;
  std::shared_ptr<BodyStream> stream = nullptr;    ///< instead of `body`; the connection ends with it
  std::optional<std::uint64_t> stream_bytes = {};  ///< of all of `stream`, where it is known
};

/// Answers one request: called exactly once, from any thread. Where it is dropped without a call the client
/// gets a 500.
using Respond = std::function<void(Response)>;
/// Called on the server's thread; must not block.
using Handler = std::function<void(Request, Respond)>;

}  // namespace ratchet
