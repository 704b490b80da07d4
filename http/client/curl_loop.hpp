#pragma once
// libcurl's multi interface driven by epoll. One turn costs what happened in it, not how many calls are under
// way: with a thousand slow streams that is the difference to curl_multi_poll, which looks at all of them
// each time. Internal to the transport; belongs to its thread, `ring` excepted.
//
// To reuse a connection libcurl looks at all it has to that host, one after the other, busy ones too; and
// what it keeps at most counts the busy ones, so with too many of those each call would close the connection
// of another. So calls are spread over lanes, a multi handle each with connections of its own: the first
// takes what comes until it is full, then the second. Few calls share the connections of one lane; ten
// thousand do not pay for each other. A lane that has rested for long closes its connections.

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

  /// `lane_calls_max`: of one lane, which keeps a quarter as many idle connections beside them; `lane_rest`:
  /// so long after its last call.
  CurlLoop(std::size_t lane_calls_max, std::chrono::milliseconds lane_rest);
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
    bool acted = false;                               ///< so it may have finished calls to tell
    Time last_used = {};                              ///< when its last call left
    std::optional<Time> timer = {};                   ///< when libcurl wants to be called without an event
    std::unique_ptr<CURLM, MultiDeleter> multi = {};  ///< null: no connection either

    void act(curl_socket_t socket, int events);
    void close();
  };

  static int on_socket(CURL*, curl_socket_t socket, int what, void* user, void*);
  static int on_timer(CURLM*, long timeout_ms, void* user);
  Lane& lane_for_next();
  void open(Lane& lane) const;
  /// When its connections are to be closed, if no call comes.
  std::optional<Time> close_due(const Lane& lane) const;

  int epoll_, bell_;
  const std::size_t lane_calls_max_;
  const std::chrono::milliseconds lane_rest_;
  Time now_ = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<Lane>> lanes_;  ///< libcurl holds their addresses
};

}  // namespace ratchet
