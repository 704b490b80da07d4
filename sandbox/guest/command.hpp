#pragma once
// The command under way: its process, its streams, its deadline, its end.

#include <cstdint>
#include <string>
#include <string_view>

#include "sandbox/channel/frame.hpp"
#include "sandbox/guest/control.hpp"
#include "sandbox/guest/processes.hpp"
#include "sandbox/guest/system.hpp"

namespace ratchet::guest {

class Command {
 public:
  Command(Control& control, const Identity& identity) : control_(control), identity_(identity) {}

  bool running() const { return pid_ > 0; }

  /// Of the command under way.
  std::uint32_t id() const { return id_; }

  /// From a `start` frame. One that cannot be started is told as ended at once. It is
  /// told of a proxy on that port, unless that is 0.
  void start(const Frame& frame, std::uint16_t proxy_port);

  /// Of its standard input. The host keeps to the window.
  void input(std::string_view bytes);

  /// Ends it, and everything that it started.
  void end(sandbox::EndedHow how, std::uint32_t code);

  /// Milliseconds until its deadline; -1 where none is running.
  std::int64_t time_left_ms() const;

  void add_to(PollSet& set) const;

  /// Does what can be done; ends it at its deadline, or when it has written too much.
  void advance(const PollSet& set);

  /// A process of that number has ended, with that status.
  void reaped(pid_t pid, int status);

 private:
  bool open_streams(const sandbox::CommandFrame& limits, Spawn& spawn);
  void not_started(int error);
  void feed();
  void pump(int& fd, FrameType type);
  /// Sends what may still be sent. False: there was more.
  bool forward(FrameType type, std::string_view bytes);
  bool drain(int fd, FrameType type);

  Control& control_;
  const Identity& identity_;
  std::uint32_t id_ = 0;
  pid_t pid_ = 0;
  std::int64_t deadline_ms_ = 0;
  std::uint64_t output_left_ = 0;
  std::uint64_t cpu_before_us_ = 0;
  int in_ = -1, out_ = -1, error_ = -1;  // our ends
  std::string input_;                    // not yet taken by the command
  std::size_t input_left_ = 0;           // to come from the host, or to be written
};

}  // namespace ratchet::guest
