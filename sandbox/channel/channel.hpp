#pragma once
// The host's side of the conversation with one guest, without I/O: bytes of the guest in, events out;
// commands in, bytes for the guest out. The guest is hostile. What it sends is believed only as far as the
// state of the conversation allows it; a frame that is too long, of an unknown type, malformed, or not due is
// a `Broken`, and after that nothing it says is heard any more.
//
//   ready → set_up() → SetUp → start() → Output* → Ended → start() ...
//
// and beside it, once a proxy was granted, connections: Opened → (Data, Credit)* → Closed.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/sandbox/command.hpp"
#include "sandbox/channel/frame.hpp"

namespace ratchet::sandbox {

/// Of a connection to the proxy; chosen by the guest, unique in one sandbox.
using ConnectionId = std::uint32_t;

namespace guest_event {

/// It has started.
struct Ready {};

struct SetUp {};

struct Output {
  bool error;  ///< of standard error
  std::string_view bytes;
};

/// Nothing of the command is running any more, says the guest.
struct Ended {
  EndedHow how;
  int code;
  std::uint64_t cpu_us;  ///< as the guest has it: any number
};

struct Opened {
  ConnectionId connection;
};

/// Within the credit that it had.
struct Data {
  ConnectionId connection;
  std::string_view bytes;
};

/// So much more may be sent.
struct Credit {
  ConnectionId connection;
  std::uint32_t bytes;
};

/// No more data comes. If it is broken, none is taken either, and the connection is over; else it is over
/// when the host has closed it too.
struct Closed {
  ConnectionId connection;
  bool broken;
};

/// The last event.
struct Broken {
  std::string why;
};

}  // namespace guest_event

using GuestEvent = std::variant<guest_event::Ready,
                                guest_event::SetUp,
                                guest_event::Output,
                                guest_event::Ended,
                                guest_event::Opened,
                                guest_event::Data,
                                guest_event::Credit,
                                guest_event::Closed,
                                guest_event::Broken>;

class Channel {
 public:
  struct SetUp {
    std::uint32_t pids = 0;  ///< to be bounded by the guest; 0: not by the guest
    bool proxy = false;
  };

  void feed(std::string_view bytes) { frames_.feed(bytes); }

  /// What views the event has are valid until `feed`.
  std::optional<GuestEvent> next();

  /// Once, after Ready.
  void set_up(const SetUp& what);

  /// It can start a command now.
  bool idle() const { return state_ == State::idle; }

  /// Whether the command fits into a frame.
  static bool fits(const SandboxCommand& command);
  /// While idle. The input is sent as the command takes it.
  void start(SandboxCommand command);
  /// Asks for the end of the command, if there is one under way.
  void kill();

  /// Of connections that the guest has opened; of one that is over nothing happens. At most as many bytes as
  /// there is credit for: limits::egress_window_bytes, and what `Credit` adds.
  void send(ConnectionId connection, std::string_view bytes);
  /// Lets the guest send so much more: what has been taken of its data.
  void grant(ConnectionId connection, std::uint32_t bytes);
  /// Nothing more is sent. Broken: nor taken, and no further event of it comes.
  void close(ConnectionId connection, bool broken);

  std::size_t connections() const { return connections_.size(); }

  /// What is to be written to the guest.
  std::string_view outgoing() const { return std::string_view(outgoing_).substr(sent_); }

  void sent(std::size_t bytes);

 private:
  enum class State { starting, ready, setting_up, idle, running, broken };
  enum class Side { open, finished, broken };

  struct Connection {
    std::uint64_t guest_may_send = limits::egress_window_bytes;
    std::uint64_t host_may_send = limits::egress_window_bytes;
    Side guest = Side::open, host = Side::open;
  };

  using Next = std::optional<GuestEvent>;

  Next handle(const Frame& frame);
  Next handle_ready(const Frame& frame);
  Next handle_output(const Frame& frame);
  Next handle_input_credit(const Frame& frame);
  Next handle_ended(const Frame& frame);
  Next handle_open(const Frame& frame);
  Next handle_data(const Frame& frame);
  Next handle_credit(const Frame& frame);
  Next handle_close(const Frame& frame);
  Next broken(std::string why);
  bool is_of_command(const Frame& frame) const;
  Connection* find(ConnectionId id);
  void send_input();
  void tell_close(ConnectionId id, bool broken);
  void forget_if_over(ConnectionId id);

  FrameReader frames_;
  State state_ = State::starting;
  bool proxy_ = false;
  std::string outgoing_;
  std::size_t sent_ = 0;

  std::uint32_t command_ = 0;
  std::uint64_t output_left_ = 0;
  bool kill_sent_ = false;
  std::string input_;
  std::size_t input_sent_ = 0, input_taken_ = 0;

  ConnectionId last_connection_ = 0;
  std::map<ConnectionId, Connection> connections_;
};

}  // namespace ratchet::sandbox
