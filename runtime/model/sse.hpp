#pragma once
// Server-sent events (WHATWG HTML, 9.2.6), read as they arrive. Bytes go in, in any pieces; events come out.
// A line is decoded only when it is whole, each byte is looked at once, and what is kept is bounded.
//
// Two mercies beyond the standard, both seen in the wild: the last event counts without the blank line that
// should end it, and a `data:` line whose value begins with a colon (`data: : keepalive`) is a comment.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/limits.hpp"

namespace ratchet {

class SseReader {
 public:
  /// `type` is empty where the event names none. `data` is never empty; the callee may change it, and it
  /// lives until the call returns.
  using OnEvent = std::function<void(std::string_view type, std::string& data)>;

  explicit SseReader(std::size_t bytes_max = limits::sse_line_bytes_max) : bytes_max_(bytes_max) {}

  /// False, now and from now on, once a line or the data of one event is longer than `bytes_max`.
  [[nodiscard]] bool feed(std::string_view bytes, const OnEvent& on_event);
  /// The stream has ended: gives what an unfinished last event holds.
  [[nodiscard]] bool finish(const OnEvent& on_event);
  /// Ready for another stream; keeps its buffers.
  void reset();

 private:
  void take_line(std::string_view line, const OnEvent& on_event);
  void take_field(std::string_view name, std::string_view value);
  void dispatch(const OnEvent& on_event);

  std::size_t bytes_max_;
  std::string line_;  // the beginning of a line that is not whole yet
  std::string type_, data_;
  bool has_data_ = false;
  bool first_line_ = true;
  bool after_cr_ = false;  // a line feed that comes next belongs to the line before
  bool too_long_ = false;
};

}  // namespace ratchet
