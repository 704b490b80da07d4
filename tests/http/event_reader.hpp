#pragma once
// Reads a stream of server-sent events for tests.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/http/raw_client.hpp"

namespace ratchet::testing {

/// One frame of a stream.
struct Frame {
  std::string id, event, data;
};

/// Reads server-sent events, as a browser would.
class Reader {
 public:
  Reader(std::uint16_t port,
         std::string_view target,
         std::vector<std::pair<std::string, std::string>> headers = {})
      : client_(port) {
    headers.emplace_back("Accept", "text/event-stream");
    client_.send_request("GET", target, {}, headers);
    head_ = client_.read_head();
  }

  const Answer& head() const { return head_; }

  /// The next event; nothing at the end of the stream.
  std::optional<Frame> next() {
    Frame frame;
    while (auto line = client_.read_line()) {
      if (line->empty()) {
        if (!frame.event.empty()) return frame;
      } else if (line->starts_with("id: ")) {
        frame.id = line->substr(4);
      } else if (line->starts_with("event: ")) {
        frame.event = line->substr(7);
      } else if (line->starts_with("data: ")) {
        frame.data = line->substr(6);
      } else if (line->starts_with("retry: ")) {
        retry_ = line->substr(7);
      } else if (!line->starts_with(":")) {
        ADD_FAILURE() << "no line of an event stream: " << *line;
      }
    }
    return std::nullopt;
  }

  /// "1 2 3": the ids up to the end.
  std::string ids() {
    std::string all;
    while (const auto frame = next())
      all += (all.empty() ? "" : " ") + (frame->id.empty() ? frame->event : frame->id);
    return all;
  }

  bool broken() const { return client_.broken(); }

  const std::string& retry() const { return retry_; }

  void leave() { client_.close(); }

 private:
  RawClient client_;
  Answer head_;
  std::string retry_;
};

}  // namespace ratchet::testing
