#pragma once
// The pipe to the host, as the guest sees it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/limits.hpp"
#include "sandbox/channel/frame.hpp"

namespace ratchet::guest {

using sandbox::Frame;
using sandbox::FrameType;

class Control {
 public:
  /// Takes the pipes over from descriptors 0 and 1, out of the reach of commands, and puts /dev/null there
  /// and at 2.
  Control();

  int in() const { return in_; }

  int out() const { return out_; }

  void send(FrameType type, std::uint32_t id, std::string_view payload);

  void send_u32(FrameType type, std::uint32_t id, std::uint32_t value);

  /// There are bytes that the host has not taken.
  bool pending() const { return sent_ < outgoing_.size(); }

  /// So many that streams have to wait. Frames that are not streams are always taken.
  bool congested() const { return outgoing_.size() - sent_ >= limits::sandbox_congested_bytes; }

  /// Writes what the pipe takes. A host that has gone ends the guest: see `on_host_gone`.
  void flush();

  /// Reads what is there; then `next` until it has nothing.
  void receive();
  std::optional<Frame> next();

  /// Called before the guest ends because the host has closed the pipe.
  void (*on_host_gone)() = nullptr;

 private:
  [[noreturn]] void host_gone();

  int in_ = -1, out_ = -1;
  sandbox::FrameReader frames_;
  std::string outgoing_;
  std::size_t sent_ = 0;
};

}  // namespace ratchet::guest
