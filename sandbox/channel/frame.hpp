#pragma once
// The frames between the host and the guest, process 1 of a sandbox: one definition for both sides.
//
//   u32 length of the payload | u8 type | u32 id | payload        integers little-endian, text as u32 + bytes
//
// The ids of commands are chosen by the host, those of connections by the guest; both rise and are never used
// again. What a side may send when is in `Channel`, which holds the guest to it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/limits.hpp"

namespace ratchet::sandbox {

inline constexpr std::uint32_t protocol_version = 1;
inline constexpr std::size_t frame_head_bytes = 9;
inline constexpr std::size_t frame_payload_bytes_max = limits::sandbox_frame_bytes_max;
/// Of a command's input, sent ahead of what the command has taken.
inline constexpr std::size_t input_window_bytes = 256u << 10;
/// Of one frame that carries a stream: small, so that no stream holds up the others for long.
inline constexpr std::size_t stream_frame_bytes_max = 64u << 10;

enum class FrameType : std::uint8_t {
  // From the host.
  set_up = 1,  ///< id 0. u32 processes at most (0: not bounded by the guest), u8 whether there is a proxy
  start = 2,   ///< id of a command. See `CommandFrame`
  input = 3,   ///< of the command under way; bytes
  kill = 4,    ///< the command under way; of one that has ended it is ignored, like `input`

  // From the guest.
  ready = 16,         ///< id 0. u32 protocol version; once, first
  set_up_done = 17,   ///< id 0
  output = 18,        ///< of the command under way: bytes of its standard output
  error_output = 19,  ///< likewise, of its standard error
  input_credit = 20,  ///< u32 bytes that the command has taken
  ended = 21,         ///< see `EndedFrame`; nothing of the command is left running
  open = 22,          ///< id of a connection to the proxy

  // Both ways, id of a connection.
  data = 32,    ///< bytes, at most as many as the other side has granted; at first egress_window_bytes
  credit = 33,  ///< u32 bytes that may be sent beyond those
  close = 34    ///< u8: 0, no more data comes from this side; 1, nor does it take any. One from each side
};

struct CommandFrame {
  std::uint64_t timeout_ms = 0;
  std::uint64_t output_bytes_max = 0;
  std::uint32_t input_bytes = 0;  ///< all of it; 0: the command's standard input is empty
  std::uint8_t one_stream = 0;
  // Then the directory, u32 how many words, and the words.
};

enum class EndedHow : std::uint8_t { exited, signalled, timed_out, too_much_output, killed, not_started };

struct EndedFrame {
  EndedHow how = EndedHow::exited;
  std::uint32_t code = 0;  ///< exit status, signal or errno
  std::uint64_t cpu_us = 0;
};

struct Frame {
  FrameType type;
  std::uint32_t id;
  std::string_view payload;
};

/// Writes integers and text at the end of a string.
class PayloadWriter {
 public:
  explicit PayloadWriter(std::string& to) : to_(to) {}

  PayloadWriter& u8(std::uint8_t value) { return integer(value, 1); }

  PayloadWriter& u32(std::uint32_t value) { return integer(value, 4); }

  PayloadWriter& u64(std::uint64_t value) { return integer(value, 8); }

  PayloadWriter& text(std::string_view bytes) {
    u32(static_cast<std::uint32_t>(bytes.size()));
    to_.append(bytes);
    return *this;
  }

 private:
  PayloadWriter& integer(std::uint64_t value, int bytes) {
    for (int at = 0; at < bytes; ++at)
      to_.push_back(static_cast<char>(value >> (8 * at)));
    return *this;
  }

  std::string& to_;
};

/// Reads them. What is missing reads as zero or empty, and `complete` tells.
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view from) : from_(from) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(integer(1)); }

  std::uint32_t u32() { return static_cast<std::uint32_t>(integer(4)); }

  std::uint64_t u64() { return integer(8); }

  std::string_view text() { return take(u32()); }

  /// Everything was there, and nothing is left over.
  bool complete() const { return enough_ && from_.empty(); }

 private:
  std::string_view take(std::size_t bytes) {
    if (from_.size() < bytes) {
      enough_ = false;
      from_ = {};
      return {};
    }
    const auto out = from_.substr(0, bytes);
    from_.remove_prefix(bytes);
    return out;
  }

  std::uint64_t integer(std::size_t bytes) {
    std::uint64_t value = 0;
    const auto from = take(bytes);
    for (std::size_t at = 0; at < from.size(); ++at)
      value |= std::uint64_t{static_cast<std::uint8_t>(from[at])} << (8 * at);
    return value;
  }

  std::string_view from_;
  bool enough_ = true;
};

inline void append_frame(std::string& to, FrameType type, std::uint32_t id, std::string_view payload) {
  PayloadWriter(to)
      .u32(static_cast<std::uint32_t>(payload.size()))
      .u8(static_cast<std::uint8_t>(type))
      .u32(id);
  to.append(payload);
}

/// Cuts a stream of bytes into frames, however it arrives.
class FrameReader {
 public:
  void feed(std::string_view bytes) {
    buffer_.erase(0, taken_);
    taken_ = 0;
    buffer_.append(bytes);
  }

  /// The next whole frame; its payload is valid until `feed`. Nothing: more bytes are needed, or the next
  /// frame is `too_long` and no further one comes. The type can be any byte.
  std::optional<Frame> next() {
    const auto rest = std::string_view(buffer_).substr(taken_);
    if (rest.size() < frame_head_bytes) return std::nullopt;
    PayloadReader head(rest.substr(0, frame_head_bytes));
    const std::size_t length = head.u32();
    too_long_ = length > frame_payload_bytes_max;
    if (too_long_ || rest.size() - frame_head_bytes < length) return std::nullopt;
    taken_ += frame_head_bytes + length;
    const auto type = FrameType{head.u8()};
    return Frame{type, head.u32(), rest.substr(frame_head_bytes, length)};
  }

  bool too_long() const { return too_long_; }

 private:
  std::string buffer_;
  std::size_t taken_ = 0;  // of the buffer, by frames already told
  bool too_long_ = false;
};

}  // namespace ratchet::sandbox
