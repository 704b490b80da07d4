#pragma once
// One connection of a sandbox to the proxy: its request, and then the bytes to and from the origin. One
// request a connection; what follows its body is dropped, so that nothing reaches an origin that was not
// looked at.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/egress/dial.hpp"
#include "sandbox/egress/egress.hpp"
#include "sandbox/egress/request.hpp"

namespace ratchet::sandbox {

class Connection {
 public:
  struct Shared {
    Loop& loop;
    Workers& workers;
    std::shared_ptr<const DialRules> rules;
    std::string sandbox;  ///< whose look-ups are done one after the other
  };

  /// `refused` is told the host:port, `over` that nothing more comes: it may destroy this. All on the loop's
  /// thread, as everything here.
  Connection(Shared shared,
             ConnectionId id,
             const std::vector<std::string>& allow,
             std::shared_ptr<EgressLink> link,
             std::function<void(const std::string& endpoint)> refused,
             std::function<void()> over);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void data(std::string_view bytes);
  void credit(std::uint32_t bytes);
  void closed(bool broken);

 private:
  void read_head();
  void request(std::string_view head);
  void dialled(Dial::Outcome outcome);
  /// Answers in the place of the origin, and ends.
  void answer(int status, std::string_view code, std::string_view text);
  void send(std::string_view bytes);
  void to_origin(std::string_view bytes);
  void ready(std::uint32_t events);
  void write();
  void read();
  void watch_again();
  void finish();
  void idle();

  Shared shared_;
  ConnectionId id_;
  const std::vector<std::string>& allow_;
  std::shared_ptr<EgressLink> link_;
  std::function<void(const std::string&)> refused_;
  std::function<void()> over_;

  std::string head_;  // until it is whole
  std::optional<ProxyRequest> request_;
  std::unique_ptr<Dial> dial_;
  Fd origin_;
  Loop::Id watch_ = 0, alarm_ = 0;
  std::int64_t active_at_ms_;

  std::string to_origin_;          // not yet written
  std::uint32_t not_granted_ = 0;  // of it, that is the client's, to be granted when written
  std::uint64_t may_send_;
  bool answered_ = false;         // no more data to the client
  bool client_finished_ = false;  // no more data from it
  bool shut_ = false;             // told the origin so
};

}  // namespace ratchet::sandbox
