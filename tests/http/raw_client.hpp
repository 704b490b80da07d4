#pragma once
// A blocking HTTP/1.1 client for tests, independent of the server's libraries. It can send anything.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ratchet::testing {

struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
  bool whole = false;  ///< false: the connection ended before the body did

  std::string header(const std::string& name) const;
};

/// One connection. A read that waits longer than 30 s fails the test instead of hanging it.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// Sends bytes as they stand.
  void send(std::string_view bytes);
  void send_request(std::string_view method,
                    std::string_view target,
                    std::string_view body = {},
                    const std::vector<std::pair<std::string, std::string>>& headers = {});
  /// Reads one answer to its end.
  Answer read_answer(bool head_only = false);
  /// Reads status and headers only, for streams.
  Answer read_head();
  /// The next line of a chunked body without its end; nothing when the body has ended properly. Call
  /// `broken()` to tell that from a connection that was cut.
  std::optional<std::string> read_line();

  bool broken() const { return broken_; }

  /// Reads until the other side closes; what came.
  std::string read_all();
  void close();

  /// Shrinks what the kernel takes for us, so that a stalled reader shows soon.
  static void set_receive_buffer(int bytes) { receive_buffer_ = bytes; }

 private:
  bool fill();
  bool fill_chunk();
  std::string take(std::size_t n);
  std::string take_line();

  int fd_ = -1;
  std::string buffer_;      ///< as it came
  std::string chunk_text_;  ///< decoded
  bool body_ended_ = false, broken_ = false;
  static int receive_buffer_;
};

/// One request on a connection of its own.
Answer fetch(std::uint16_t port,
             std::string_view method,
             std::string_view target,
             std::string_view body = {},
             const std::vector<std::pair<std::string, std::string>>& headers = {});

}  // namespace ratchet::testing
