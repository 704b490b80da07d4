#pragma once
// libcurl's multi interface driven by epoll. One turn costs what happened in it, not how many calls are under
// way: with a thousand slow streams that is the difference to curl_multi_poll, which looks at all of them
// each time. Internal to the transport; belongs to its thread, `ring` excepted.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <curl/curl.h>

namespace ratchet {

class CurlLoop {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `idle_connections_max`: kept for reuse.
  explicit CurlLoop(long idle_connections_max);
  ~CurlLoop();

  CurlLoop(const CurlLoop&) = delete;
  CurlLoop& operator=(const CurlLoop&) = delete;

  void add(CURL* easy);
  void remove(CURL* easy);
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
  static int on_socket(CURL*, curl_socket_t socket, int what, void* user, void*);
  static int on_timer(CURLM*, long timeout_ms, void* user);
  void act(curl_socket_t socket, int events);

  struct MultiDeleter {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };

  int epoll_, bell_;
  Time now_ = std::chrono::steady_clock::now();
  std::optional<Time> timer_;  ///< when libcurl wants to be called without an event
  std::unique_ptr<CURLM, MultiDeleter> multi_;
};

}  // namespace ratchet
