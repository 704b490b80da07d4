#pragma once
// The way out: a listener on 127.0.0.1:3128, whose connections are carried over the control pipe to the proxy
// of the host. Each has credit of its own in both directions, so that one that stalls holds up no other, and
// no command.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/guest/control.hpp"
#include "sandbox/guest/system.hpp"

namespace ratchet::guest {

class Proxy {
 public:
  explicit Proxy(Control& control) : control_(control) {}

  /// Begins to listen; on port 0, on any. Ends the guest where it cannot: whoever granted a proxy counts on
  /// it.
  void listen(std::uint16_t port);

  bool listening() const { return listener_ >= 0; }

  /// 0 while it does not listen.
  std::uint16_t port() const;

  void add_to(PollSet& set) const;
  void advance(const PollSet& set);

  void on_data(std::uint32_t id, std::string_view bytes);
  void on_credit(std::uint32_t id, std::uint32_t bytes);
  void on_close(std::uint32_t id, bool broken);

  /// No command is running, so that nobody is left at the other end.
  void close_all();

 private:
  enum class Told { nothing, finished, broken };  // of the `close` to the host

  struct Connection {
    std::uint32_t id = 0;
    int fd = -1;                 // -1: the command's side is gone
    std::uint64_t may_send = 0;  // to the host
    std::string to_client = {};  // not yet taken by the command
    Told told = Told::nothing;
    bool host_finished = false;  // no more data from the host
  };

  Connection* find(std::uint32_t id);
  void accept_one();
  void read_from(Connection& connection);
  void write_to(Connection& connection);
  void grant(const Connection& connection, std::size_t bytes);
  void tell_close(Connection& connection, bool broken);
  /// The command's side is gone.
  void lose(Connection& connection);
  void forget_closed();
  bool wants_read(const Connection& connection) const;

  Control& control_;
  int listener_ = -1;
  std::uint32_t last_id_ = 0;
  std::vector<Connection> connections_;
};

/// Brings the loopback interface up, where it is not and this may do it.
void raise_loopback();

}  // namespace ratchet::guest
