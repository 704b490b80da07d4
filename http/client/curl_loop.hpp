#pragma once
// libcurl's multi interface driven by epoll. One turn costs what happened in it, not how many calls are under
// way: with a thousand slow streams that is the difference to curl_multi_poll, which looks at all of them
// each time. Internal to the transport; belongs to its thread, `ring` excepted.
//
// To reuse a connection libcurl looks at all it has to that host, one after the other, busy ones too. So
// calls are spread over lanes, a multi handle each with connections of its own: the first takes what comes
// until it is busy, then the second. Few calls share the connections of one lane; thousands do not pay for
// each other.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <curl/curl.h>

namespace ratchet {

class CurlLoop {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `idle_connections_max`: kept for reuse, by all lanes together.
  explicit CurlLoop(std::size_t idle_connections_max);
  ~CurlLoop();

  CurlLoop(const CurlLoop&) = delete;
  CurlLoop& operator=(const CurlLoop&) = delete;

  /// Returns the lane that the call is in, which `remove` wants to know.
  std::size_t add(CURL* easy);
  void remove(CURL* easy, std::size_t lane);
  /// Ends the wait of `turn`, the current one or else the next. Called from any thread.
  void ring();
  /// Waits until something can be done, `ring`, or `until`; then does what can be done, which calls the
  /// callbacks of handles.
  void turn(std::optional<Time> until);

  /// The time at the start of what is being done.
  Time now() const { return now_; }

  /// Closes all connections, on the loop's own thread: under TLS that writes. All handles have been removed,
  /// and nothing is called after it.
  void close();
  /// The next handle that has finished and has not been told yet, with its result; none: null.
  std::pair<CURL*, CURLcode> finished();

 private:
  struct MultiDeleter {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };

  struct Lane {
    int epoll;
    std::uint32_t number;
    std::size_t calls = 0;
    std::optional<Time> timer = {};  ///< when libcurl wants to be called without an event
    std::unique_ptr<CURLM, MultiDeleter> multi = {};

    void act(curl_socket_t socket, int events);
  };

  static int on_socket(CURL*, curl_socket_t socket, int what, void* user, void*);
  static int on_timer(CURLM*, long timeout_ms, void* user);
  Lane& lane_for_next();
  Lane& open_lane();

  int epoll_, bell_;
  const std::size_t idle_connections_max_;
  Time now_ = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<Lane>> lanes_;  ///< libcurl holds their addresses
};

}  // namespace ratchet
