#pragma once
// One server, one request at a time, blocking. Knows the API's way to say no, and nothing of runs.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/cli/outcome.hpp"

namespace ratchet::cli {

class ApiClient {
 public:
  /// `url` without a path; `key` may be empty (a `--dev` server needs none).
  ApiClient(std::string url, std::string key);
  ~ApiClient();

  /// The body of the reply. A reply that says no is a failure with the problem's text and its status:
  /// 401 and 403 denied, 404 not_found, 400, 413, 415 and 422 usage, 503 unreachable, others ended_otherwise.
  Outcome<std::string> get(std::string_view path);
  Outcome<std::string> post(std::string_view path, const std::string& json);
  /// Sends bytes instead of JSON.
  Outcome<std::string> post_bytes(std::string_view path, const std::string& bytes);

  /// How a stream ended, where it could be opened.
  enum class StreamEnd {
    closed,   ///< by the server, or the connection broke
    empty,    ///< 204: the run is over and all of it was seen
    stopped,  ///< by `on_event`
  };

  /// `type` and `data` of one event. False: enough, close the stream.
  using OnEvent = std::function<bool(std::string_view type, const std::string& data)>;

  /// Reads server-sent events after number `after` until the stream ends. A stream that is silent for longer
  /// than three of the server's signs of life counts as broken.
  Outcome<StreamEnd> stream(std::string_view path, std::uint64_t after, const OnEvent& on_event);

  const std::string& url() const { return url_; }

 private:
  struct Transfer;

  Outcome<std::string> request(const char* method,
                               std::string_view path,
                               const std::string* body,
                               const std::vector<std::string>& headers);
  void prepare(Transfer& transfer, std::string_view path, const std::vector<std::string>& headers);
  Failure unreachable(const Transfer& transfer, int code) const;

  std::string url_, key_;
  void* curl_;  // CURL*, kept for its connection
};

/// A part of a path or of a query, percent-encoded (RFC 3986, 2.3: all but unreserved characters).
std::string encoded(std::string_view part);

}  // namespace ratchet::cli
