#pragma once
// Reads a run's event stream as a client would, and checks what the API promises of it.

#include <cstdint>
#include <string>
#include <string_view>

namespace ratchet::bench {

class EventReader {
 public:
  /// Any piece of the stream, cut anywhere.
  void read(std::string_view bytes);

  std::uint64_t events() const { return events_; }

  std::uint64_t deltas() const { return deltas_; }

  /// Times that an id was not the one after the last.
  std::uint64_t gaps() const { return gaps_; }

  bool finished() const { return !stop_reason_.empty(); }

  /// Of `run.finished`; empty before.
  const std::string& stop_reason() const { return stop_reason_; }

  /// Nothing is left of an event that was cut.
  bool at_event_end() const { return line_.empty() && in_event_ == false; }

  std::uint64_t bytes() const { return bytes_; }

 private:
  void take_line(std::string_view line);

  std::string line_;  ///< what has come of the current one
  std::string type_;
  bool in_event_ = false;
  bool has_id_ = false;
  std::uint64_t last_id_ = 0, events_ = 0, deltas_ = 0, gaps_ = 0, bytes_ = 0;
  std::string stop_reason_;
};

}  // namespace ratchet::bench
